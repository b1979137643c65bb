// SPDX-License-Identifier: MIT
#include "pando/data/tfrecord/record_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iomanip>
#include <utility>

#include "pando/base/little_endian.h"
#include "pando/base/new_file.h"
#include "pando/data/tfrecord/crc32c.h"

namespace pando {

namespace data {

namespace {

constexpr uint64_t kMostLength = uint64_t{1} << 60;  // sums of offsets and lengths stay exact

std::string hex(uint64_t value) {
  std::ostringstream out;
  out << "0x" << std::hex << std::setw(8) << std::setfill('0') << value;
  return out.str();
}

}  // namespace

RecordHeader parse_record_header(std::span<const uint8_t, kRecordHeaderBytes> bytes,
                                 uint64_t most_record_bytes) {
  const uint64_t found = load_little(bytes.last<4>());
  const uint64_t wanted = masked_crc32c(bytes.first<8>());
  RecordHeader header{.length = load_little(bytes.first<8>())};
  if (found != wanted) {
    header.error = concat("the crc of its length ", header.length, " is ", hex(found),
                          ", expected ", hex(wanted));
  } else if (header.length > std::min(most_record_bytes, kMostLength)) {
    header.error = concat("its length is ", header.length, " bytes, expected at most ",
                          std::min(most_record_bytes, kMostLength), " (most_record_bytes)");
  }
  return header;
}

std::string payload_error(std::span<const uint8_t> payload,
                          std::span<const uint8_t, kRecordFooterBytes> footer) {
  const uint64_t found = load_little(footer);
  const uint64_t wanted = masked_crc32c(payload);
  if (found == wanted) return {};
  return concat("the crc of its ", payload.size(), " bytes is ", hex(found), ", expected ",
                hex(wanted));
}

std::string to_string(const Truncation& cut) {
  const uint64_t at = cut.record_offset + cut.found + (cut.in_header ? 0 : kRecordHeaderBytes);
  return concat(cut.records, cut.records == 1 ? " complete record" : " complete records",
                ", truncated at ", cut.compressed ? "uncompressed byte " : "byte ", at, ": record ",
                cut.records, " begins at byte ", cut.record_offset, ", expected ", cut.wanted,
                " bytes of ", cut.in_header ? "header" : "payload and crc", ", got ", cut.found);
}

std::vector<uint8_t> record_header(std::span<const uint8_t> payload) {
  std::vector<uint8_t> bytes;
  append_little(bytes, payload.size(), 8);
  append_little(bytes, masked_crc32c(bytes), 4);
  return bytes;
}

std::vector<uint8_t> record_footer(std::span<const uint8_t> payload) {
  std::vector<uint8_t> bytes;
  append_little(bytes, masked_crc32c(payload), 4);
  return bytes;
}

}  // namespace data

namespace {

constexpr size_t kChunk = size_t{1} << 18;  // stays in the second-level cache between read and crc

}  // namespace

RecordReader::RecordReader(const std::string& path, const RecordReaderOptions& options)
    : place_(path), options_(options) {
  choose_input(data::open_input(path));
}

RecordReader::RecordReader(std::span<const uint8_t> content, std::string place,
                           const RecordReaderOptions& options)
    : place_(std::move(place)), options_(options) {
  choose_input(data::memory_input(content));
}

void RecordReader::choose_input(data::ByteInputPtr raw) {
  std::array<uint8_t, data::kRecordHeaderBytes> front{};
  const size_t count = raw->read(front);
  compression_ = options_.compression;
  if (compression_ == Compression::automatic) {
    // A plain file can begin like a compressed one, but only a record header has a fitting crc.
    const bool plain = count == front.size() &&
                       data::parse_record_header(front, options_.most_record_bytes).error.empty();
    compression_ =
        plain ? Compression::none : data::sniff_compression(std::span(front).first(count));
  }
  input_ = data::pushed_back(std::span(front).first(count), std::move(raw));
  if (compression_ != Compression::none) {
    input_ = data::inflated(std::move(input_), compression_, place_);
  }
}

// Makes the next `count` bytes contiguous in the buffer, fewer at the end; returns how many bytes
// there are. If the size of the input is unknown, the buffer doubles as bytes arrive.
size_t RecordReader::gather(size_t count) {
  while (end_ - begin_ < count) {
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    if (end_ == buffer_.size()) {
      const size_t room = input_->exact() ? std::max(count, kChunk) : std::max(2 * end_, kChunk);
      const uint64_t most = end_ + std::min<uint64_t>(input_->most_left(), room);
      buffer_.resize(std::min<uint64_t>(room, most));
    }
    const size_t wanted = buffer_.size() - end_;
    const size_t found = input_->read(std::span(buffer_).subspan(end_));
    end_ += found;
    if (found < wanted || wanted == 0) break;
  }
  return end_ - begin_;
}

uint64_t RecordReader::checked_length() {
  const auto bytes = std::span<const uint8_t>(buffer_).subspan(begin_);
  const data::RecordHeader header = data::parse_record_header(
      bytes.first<data::kRecordHeaderBytes>(), options_.most_record_bytes);
  if (!header.error.empty()) fail(header.error);
  const uint64_t wanted = header.length + data::kRecordFooterBytes;
  // If the rest is known to be missing, no memory is allocated for it.
  const uint64_t held = end_ - begin_ - data::kRecordHeaderBytes;
  if (input_->exact() && wanted > held && wanted - held > input_->most_left()) {
    fail_truncated(false, wanted, held + input_->most_left());
  }
  return header.length;
}

std::optional<std::span<const uint8_t>> RecordReader::next() {
  record_offset_ = next_offset_;
  const size_t found = gather(data::kRecordHeaderBytes);
  if (found == 0 && input_->cut_short().empty()) return std::nullopt;
  if (found < data::kRecordHeaderBytes) fail_truncated(true, data::kRecordHeaderBytes, found);
  const uint64_t length = checked_length();
  begin_ += data::kRecordHeaderBytes;
  const auto wanted = static_cast<size_t>(length) + data::kRecordFooterBytes;
  const size_t there = gather(wanted);
  if (there < wanted) fail_truncated(false, wanted, there);
  const auto rest = std::span<const uint8_t>(buffer_).subspan(begin_, wanted);
  const auto payload = rest.first(static_cast<size_t>(length));
  begin_ += wanted;
  next_offset_ = record_offset_ + data::kRecordHeaderBytes + wanted;
  const std::string error = data::payload_error(payload, rest.last<data::kRecordFooterBytes>());
  if (!error.empty()) fail(error);
  ++records_;
  return payload;
}

void RecordReader::fail(const std::string& why) const {
  const char* where = plain() ? " at byte " : " at uncompressed byte ";
  throw BadRecordError(
      {place_, record_offset_, concat("record ", records_, where, record_offset_, ": ", why)});
}

void RecordReader::fail_truncated(bool in_header, uint64_t wanted, uint64_t found) const {
  const std::string text = to_string(data::Truncation{.records = records_,
                                                      .record_offset = record_offset_,
                                                      .in_header = in_header,
                                                      .wanted = wanted,
                                                      .found = found,
                                                      .compressed = !plain()});
  const std::string cut = input_->cut_short();
  throw BadRecordError({place_, record_offset_, concat(text, cut.empty() ? "" : "; ", cut)});
}

struct RecordWriter::Output {
  Output(const std::string& path, const RecordWriterOptions& options) : file(path) {
    if (options.compression == Compression::none) return;
    deflater.emplace(options.compression, options.level,
                     [this](std::span<const uint8_t> bytes) { file.write(bytes); });
  }
  void write(std::span<const uint8_t> bytes) {
    if (deflater) {
      deflater->write(bytes);
    } else {
      pending.insert(pending.end(), bytes.begin(), bytes.end());
      if (pending.size() >= kChunk) flush();
    }
  }
  void flush() {
    file.write(pending);
    pending.clear();
  }

  NewFile file;
  std::optional<data::Deflater> deflater;
  std::vector<uint8_t> pending;  // small records reach the file together
};

RecordWriter::RecordWriter(const std::string& path, const RecordWriterOptions& options) {
  if (options.compression == Compression::automatic) {
    throw InvalidArgument("cannot write '", path,
                          "': compression is automatic, expected none, gzip or zlib");
  }
  output_ = std::make_unique<Output>(path, options);
}

RecordWriter::~RecordWriter() = default;

void RecordWriter::write(std::span<const uint8_t> payload) {
  PANDO_CHECK(output_ != nullptr, "write() after finish()");
  output_->write(data::record_header(payload));
  output_->write(payload);
  output_->write(data::record_footer(payload));
  ++records_;
}

void RecordWriter::finish() {
  PANDO_CHECK(output_ != nullptr, "finish() after finish()");
  if (output_->deflater) output_->deflater->finish();
  output_->flush();
  output_->file.commit();
  output_.reset();
}

}  // namespace pando
