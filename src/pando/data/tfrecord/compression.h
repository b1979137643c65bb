// The compressed forms of record files: the whole file is one gzip or zlib stream.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "pando/data/tfrecord/byte_input.h"

namespace pando {

// automatic: readers look at the first bytes; not for writers.
enum class Compression { automatic, none, gzip, zlib };

std::string_view to_string(Compression compression);

namespace data {

// gzip or zlib when the first bytes of a file say so, otherwise none.
Compression sniff_compression(std::span<const uint8_t> front);

// The bytes that were compressed into `packed`. Several gzip members in a row are one stream.
// read() throws IoError with `place` and the byte in `packed` for damaged data and for bytes that
// follow the end.
ByteInputPtr inflated(ByteInputPtr packed, Compression compression, std::string place);

// Compresses what is written to it and hands the result on in pieces. One thread at a time.
class Deflater {
 public:
  using Sink = std::function<void(std::span<const uint8_t>)>;
  // level: 1 (fast) to 9 (small), -1 zlib's default. Throws InvalidArgument for other levels.
  Deflater(Compression compression, int level, Sink sink);
  ~Deflater();

  void write(std::span<const uint8_t> bytes);
  void finish();

 private:
  struct Stream;
  void pump(std::span<const uint8_t> bytes, int flush);

  std::unique_ptr<Stream> stream_;
  Sink sink_;
};

}  // namespace data

}  // namespace pando
