// TFRecord files: a sequence of records, each [length u64][crc of the length u32][payload][crc of
// the payload u32], little-endian, the crcs masked crc32c. The whole file may be compressed.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pando/data/bad_records.h"
#include "pando/data/tfrecord/compression.h"

namespace pando {

// Longer records count as damaged. 16 samples of CosmoFlow fit.
inline constexpr uint64_t kMostRecordBytes = uint64_t{1} << 28;

struct RecordReaderOptions {
  // automatic: a file that begins with a sound record header is plain, otherwise its first bytes
  // decide.
  Compression compression = Compression::automatic;
  uint64_t most_record_bytes = kMostRecordBytes;
};

// Reads one record after the other. Every error is a BadRecordError or, when the file cannot be
// read or its compression is damaged, an IoError; both name the file, the byte, and what was
// expected and found. Memory grows with the bytes that arrive, never with a length that a file
// claims. Only one thread at a time may use it.
class RecordReader {
 public:
  explicit RecordReader(const std::string& path, const RecordReaderOptions& options = {});
  // Reads a file in memory, which must outlive the reader; `place` names it in errors.
  RecordReader(std::span<const uint8_t> content, std::string place,
               const RecordReaderOptions& options = {});

  // The payload of the next record, valid until the next call; nothing at the end of the file.
  // After an error in a payload the next call continues with the next record. After any other error
  // reading cannot continue, and next_offset() equals record_offset().
  std::optional<std::span<const uint8_t>> next();

  Compression compression() const { return compression_; }  // never automatic
  int64_t records() const { return records_; }              // complete ones so far
  // The offsets of the record that next() read last and of the one after it.
  uint64_t record_offset() const { return record_offset_; }
  uint64_t next_offset() const { return next_offset_; }

 private:
  bool plain() const { return compression_ == Compression::none; }
  void choose_input(data::ByteInputPtr raw);
  size_t gather(size_t count);
  uint64_t checked_length();
  [[noreturn]] void fail(const std::string& why) const;
  [[noreturn]] void fail_truncated(bool in_header, uint64_t wanted, uint64_t found) const;

  std::string place_;
  RecordReaderOptions options_;
  Compression compression_ = Compression::none;
  data::ByteInputPtr input_;
  std::vector<uint8_t> buffer_;
  size_t begin_ = 0;  // of the bytes in the buffer that are still to be returned
  size_t end_ = 0;
  int64_t records_ = 0;
  uint64_t record_offset_ = 0;
  uint64_t next_offset_ = 0;
};

struct RecordWriterOptions {
  Compression compression = Compression::none;
  int level = -1;  // 1 (fast) to 9 (small), -1 zlib's own choice
};

// Writes a record file that gets its name at finish(); without finish() no file is left. Throws
// IoError with path and reason. One thread at a time.
class RecordWriter {
 public:
  // Throws InvalidArgument for Compression::automatic or an invalid level.
  explicit RecordWriter(const std::string& path, const RecordWriterOptions& options = {});
  ~RecordWriter();

  void write(std::span<const uint8_t> payload);
  void finish();
  int64_t records() const { return records_; }

 private:
  struct Output;

  std::unique_ptr<Output> output_;
  int64_t records_ = 0;
};

namespace data {

inline constexpr size_t kRecordHeaderBytes = 12;
inline constexpr size_t kRecordFooterBytes = 4;

// The length in a record header, or what is wrong with it.
struct RecordHeader {
  uint64_t length = 0;
  std::string error;  // "" when sound
};
RecordHeader parse_record_header(std::span<const uint8_t, kRecordHeaderBytes> bytes,
                                 uint64_t most_record_bytes);
// The error in a payload or in the 4 bytes after it; "" if both are right.
std::string payload_error(std::span<const uint8_t> payload,
                          std::span<const uint8_t, kRecordFooterBytes> footer);

// A file that ends inside a record.
struct Truncation {
  int64_t records = 0;         // complete ones before it
  uint64_t record_offset = 0;  // where the one that is cut begins
  bool in_header = false;      // cut in its header; otherwise in payload and crc
  uint64_t wanted = 0;         // bytes of that part
  uint64_t found = 0;
  bool compressed = false;
};
// "2 complete records, truncated at byte 60: ..."
std::string to_string(const Truncation& truncation);

// The bytes around a payload.
std::vector<uint8_t> record_header(std::span<const uint8_t> payload);
std::vector<uint8_t> record_footer(std::span<const uint8_t> payload);

}  // namespace data

}  // namespace pando
