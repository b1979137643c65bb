// SPDX-License-Identifier: MIT
#include "pando/data/sources/tfrecord_source.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "pando/data/tfrecord/byte_input.h"

namespace pando {

namespace {

using data::kRecordFooterBytes;
using data::kRecordHeaderBytes;
using data::RandomAccessFile;

// Where one record is.
struct Entry {
  uint32_t file = 0;
  uint64_t offset = 0;
  uint64_t length = 0;  // of the payload
};

// The records of one file up to its end or to the first header that is bad.
struct Scan {
  std::vector<Entry> entries;
  std::optional<BadRecord> bad;
};

void refuse_compressed(const std::string& path, std::span<const uint8_t> front) {
  const Compression found = data::sniff_compression(front);
  if (found == Compression::none) return;
  throw IoError(path, ": the file is a ", to_string(found),
                " stream, wanted plain records, which can be read in any order; decompress it or "
                "read it from the front with RecordReader");
}

Scan scan_headers(const std::string& path, uint32_t number, uint64_t most_record_bytes) {
  const RandomAccessFile file(path);
  Scan scan;
  const auto stop = [&](uint64_t offset, const std::string& why) {
    scan.bad = BadRecord{path, offset, why};
  };
  std::array<uint8_t, kRecordHeaderBytes> bytes{};
  for (uint64_t offset = 0; offset < file.size() && !scan.bad;) {
    data::Truncation cut{.records = static_cast<int64_t>(scan.entries.size()),
                         .record_offset = offset};
    const size_t found = file.read(offset, bytes);
    const bool whole = found == bytes.size();
    const auto header = whole ? data::parse_record_header(bytes, most_record_bytes)
                              : data::RecordHeader{.length = 0, .error = "cut"};
    if (offset == 0 && !header.error.empty()) {
      refuse_compressed(path, std::span(bytes).first(found));
    }
    if (!whole) {
      cut.in_header = true;
      cut.wanted = bytes.size();
      cut.found = found;
      stop(offset, to_string(cut));
    } else if (!header.error.empty()) {
      stop(offset, concat("record ", cut.records, " at byte ", offset, ": ", header.error));
    } else {
      cut.wanted = header.length + kRecordFooterBytes;
      cut.found = file.size() - std::min(file.size(), offset + kRecordHeaderBytes);
      if (cut.wanted > cut.found) stop(offset, to_string(cut));
    }
    if (scan.bad) break;
    scan.entries.push_back({number, offset, header.length});
    offset += kRecordHeaderBytes + cut.wanted;
  }
  return scan;
}

// Reads records of changing files; keeps the file of the last one open.
class EntryReader {
 public:
  explicit EntryReader(const std::vector<std::string>& paths) : paths_(paths) {}

  // The payload, valid until the next call. Throws BadRecordError.
  std::span<const uint8_t> read(const Entry& entry) {
    if (!file_ || number_ != entry.file) {
      file_.emplace(paths_[entry.file]);
      number_ = entry.file;
    }
    buffer_.resize(static_cast<size_t>(entry.length) + kRecordFooterBytes);
    const size_t found = file_->read(entry.offset + kRecordHeaderBytes, buffer_);
    const std::span<const uint8_t> bytes(buffer_);
    if (found < bytes.size()) {
      fail(entry, concat("found ", found, " of ", bytes.size(),
                         " bytes: the file has become shorter since it was opened"));
    }
    const auto payload = bytes.first(static_cast<size_t>(entry.length));
    const std::string error = data::payload_error(payload, bytes.last<kRecordFooterBytes>());
    if (!error.empty()) fail(entry, error);
    return payload;
  }

  [[noreturn]] void fail(const Entry& entry, const std::string& why) const {
    throw BadRecordError(
        {paths_[entry.file], entry.offset, concat("record at byte ", entry.offset, ": ", why)});
  }

 private:
  const std::vector<std::string>& paths_;
  std::optional<RandomAccessFile> file_;
  uint32_t number_ = 0;
  std::vector<uint8_t> buffer_;
};

class TfrecordSource : public DataSource {
 public:
  TfrecordSource(std::vector<std::string> paths, std::vector<Entry> entries,
                 const TfrecordOptions& options)
      : DataSource(options.fields, static_cast<int64_t>(entries.size())),
        paths_(std::move(paths)),
        entries_(std::move(entries)),
        decode_(options.decode) {}

  void gather(int64_t epoch, std::span<int64_t> indices, const Rows& rows) const override {
    EntryReader reader(paths_);
    for (size_t i = 0; i < indices.size(); ++i) {
      const SampleView sample(fields(), rows, static_cast<int64_t>(i), {epoch, indices[i]});
      decode(reader, entries_[static_cast<size_t>(indices[i])], sample);
    }
  }

  // Decodes every record once; returns the good ones and lists the others.
  std::vector<Entry> good_entries(std::vector<BadRecord>& bad) const {
    std::vector<Tensor> memory;
    std::vector<std::byte*> first_bytes;
    for (const Field& field : fields()) memory.emplace_back(field.dtype, field.shape);
    for (Tensor& tensor : memory) first_bytes.push_back(tensor.data());
    EntryReader reader(paths_);
    std::vector<Entry> good;
    for (const Entry& entry : entries_) {
      const SampleView sample(fields(), Rows(first_bytes), 0, {0, std::ssize(good)});
      try {
        decode(reader, entry, sample);
        good.push_back(entry);
      } catch (const BadRecordError& error) {
        bad.push_back(error.record());
      }
    }
    return good;
  }

 private:
  // Zero first: what the function leaves out must not show what the memory held before.
  void decode(EntryReader& reader, const Entry& entry, const SampleView& sample) const {
    for (size_t f = 0; f < fields().size(); ++f) {
      std::memset(sample.data(f), 0, bytes_per_sample(fields()[f]));
    }
    const std::span<const uint8_t> payload = reader.read(entry);
    try {
      decode_(Example(payload, "tf.train.Example"), sample);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::internal) throw;
      reader.fail(entry, error.what());
    }
  }

  std::vector<std::string> paths_;
  std::vector<Entry> entries_;
  std::function<void(const Example&, const SampleView&)> decode_;
};

// Sorted by file and offset, as a user looks for them.
void sort_by_place(std::vector<BadRecord>& bad) {
  std::ranges::stable_sort(bad, {}, [](const BadRecord& record) {
    return std::pair<const std::string&, uint64_t>(record.file, record.offset);
  });
}

}  // namespace

RecordDataset open_tfrecords(const std::vector<std::string>& paths,
                             const TfrecordOptions& options) {
  if (paths.empty()) throw InvalidArgument("record files: the list is empty, wanted at least one");
  if (!options.decode) throw InvalidArgument("record files need a function decode");
  const bool skip = options.on_bad_record == OnBadRecord::skip;
  std::vector<Entry> entries;
  std::vector<BadRecord> bad;
  for (size_t i = 0; i < paths.size(); ++i) {
    Scan scan = scan_headers(paths[i], static_cast<uint32_t>(i), options.most_record_bytes);
    entries.insert(entries.end(), scan.entries.begin(), scan.entries.end());
    if (!scan.bad) continue;
    if (!skip) throw BadRecordError(std::move(*scan.bad));
    scan.bad->why += "; the rest of the file is left out";
    bad.push_back(std::move(*scan.bad));
  }
  if (skip) {
    std::vector<Entry> good = TfrecordSource(paths, entries, options).good_entries(bad);
    entries = std::move(good);
    sort_by_place(bad);
  }
  if (entries.empty()) {
    throw IoError(paths[0], paths.size() > 1 ? concat(" and ", paths.size() - 1, " more") : "",
                  ": found no record", bad.empty() ? "" : " that can be read",
                  ", wanted at least one", bad.empty() ? "" : "; ", to_string(bad));
  }
  return {Dataset(std::make_shared<TfrecordSource>(paths, std::move(entries), options)),
          std::move(bad)};
}

}  // namespace pando
