// SPDX-License-Identifier: MIT
#include "pando/data/tfrecord/record_file.h"
#include "pando/data/tfrecord/record_index.h"
#include "pando/datasets/tools/record_pieces_impl.h"

namespace pando::datasets {

namespace {

constexpr int64_t kEnoughRecords = 20000;
constexpr size_t kEnoughCompressed = 64;  // files; counting their records inflates them

int64_t count_records(const std::string& path) {
  RecordReader reader(path);
  while (reader.next()) {
  }
  return reader.records();
}

void add_plain(RecordPieces& found, size_t number) {
  const data::FileIndex index = data::index_records({found.paths[number]}, {}).front();
  if (index.bad) throw BadRecordError(*index.bad);
  uint64_t offset = 0;
  for (const uint64_t length : index.lengths) {
    const uint64_t bytes = data::kRecordHeaderBytes + length + data::kRecordFooterBytes;
    found.pieces.push_back({.file = number, .offset = offset, .bytes = bytes});
    offset += bytes;
  }
}

}  // namespace

int64_t RecordPieces::records() const {
  int64_t sum = 0;
  for (const RecordPiece& piece : pieces) sum += piece.records;
  return sum;
}

std::shared_ptr<const RecordPieces> find_pieces(const std::vector<std::string>& paths) {
  auto found = std::make_shared<RecordPieces>();
  found->paths = paths;
  int64_t records = 0;
  size_t compressed = 0;
  for (size_t i = 0; i < paths.size(); ++i) {
    if (records >= kEnoughRecords || compressed >= kEnoughCompressed) break;
    const size_t before = found->pieces.size();
    if (RecordReader(paths[i]).compression() == Compression::none) {
      add_plain(*found, i);
    } else {
      found->pieces.push_back({.file = i,
                               .offset = 0,
                               .bytes = data::RandomAccessFile(paths[i]).size(),
                               .records = count_records(paths[i]),
                               .compressed = true});
      ++compressed;
    }
    for (size_t p = before; p < found->pieces.size(); ++p) records += found->pieces[p].records;
  }
  if (records == 0) {
    throw IoError(paths.empty() ? "record files" : paths[0],
                  ": expected at least one record, found none");
  }
  return found;
}

std::span<const uint8_t> PieceReader::read(int64_t unit) {
  const RecordPiece& wanted = piece(unit);
  if (!file_ || number_ != wanted.file) {
    file_.emplace(pieces_->paths[wanted.file]);
    number_ = wanted.file;
  }
  buffer_.resize(static_cast<size_t>(wanted.bytes));
  const size_t count = file_->read(wanted.offset, buffer_);
  if (count < buffer_.size()) {
    throw IoError(pieces_->paths[wanted.file], ": got ", count, " of ", buffer_.size(),
                  " bytes at byte ", wanted.offset, ": the file has become shorter");
  }
  return buffer_;
}

void PieceReader::each_payload(int64_t unit,
                               const std::function<void(std::span<const uint8_t>)>& use) {
  const RecordPiece& wanted = piece(unit);
  const std::span<const uint8_t> bytes = read(unit);
  const std::string& path = pieces_->paths[wanted.file];
  if (wanted.compressed) {
    RecordReader reader(bytes, path);
    while (const auto payload = reader.next()) use(*payload);
    return;
  }
  const data::RecordHeader header =
      data::parse_record_header(bytes.first<data::kRecordHeaderBytes>(), kMostRecordBytes);
  const auto rest = bytes.subspan(data::kRecordHeaderBytes);
  const auto payload = rest.first(rest.size() - data::kRecordFooterBytes);
  const std::string error =
      header.error.empty() ? data::payload_error(payload, rest.last<data::kRecordFooterBytes>())
                           : header.error;
  if (!error.empty()) {
    throw BadRecordError(
        {path, wanted.offset, concat("record at byte ", wanted.offset, ": ", error)});
  }
  use(payload);
}

}  // namespace pando::datasets
