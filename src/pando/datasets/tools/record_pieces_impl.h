// The records of files as pieces that can be read on their own: single records of plain files,
// whole compressed files. Private to the folder.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pando/data/tfrecord/byte_input.h"

namespace pando::datasets {

struct RecordPiece {
  size_t file = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;  // with headers and checksums
  int64_t records = 1;
  bool compressed = false;
};

struct RecordPieces {
  std::vector<std::string> paths;
  std::vector<RecordPiece> pieces;

  int64_t records() const;
};

// The pieces of the files, enough of them to measure with: after some thousand records no further
// file is opened. Throws IoError, also when there is no record.
std::shared_ptr<const RecordPieces> find_pieces(const std::vector<std::string>& paths);

// Reads pieces; keeps the file of the last one open. One thread at a time.
class PieceReader {
 public:
  explicit PieceReader(std::shared_ptr<const RecordPieces> pieces) : pieces_(std::move(pieces)) {}

  const RecordPiece& piece(int64_t unit) const {
    return pieces_->pieces[static_cast<size_t>(unit)];
  }
  // The bytes as they are in the file, valid until the next call. Throws IoError.
  std::span<const uint8_t> read(int64_t unit);
  // Decompresses, checks and hands on the payload of each record. Throws IoError.
  void each_payload(int64_t unit, const std::function<void(std::span<const uint8_t>)>& use);

 private:
  std::shared_ptr<const RecordPieces> pieces_;
  std::optional<data::RandomAccessFile> file_;
  size_t number_ = 0;
  std::vector<uint8_t> buffer_;
};

}  // namespace pando::datasets
