// Reads any bytes as compressed data. The two readers of gzip have to agree. The first byte, modulo
// 3, chooses what the rest is: gzip, zlib, or bytes that are compressed, damaged and read again
// (because a fuzzer cannot guess a crc). The second byte chooses the sizes of the pieces to read.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>
#include <vector>

#include "pando/base/error.h"
#include "pando/data/sources/gzip.h"
#include "pando/data/tfrecord/compression.h"
#include "tests/fuzz/targets.h"

namespace pando {
namespace {

using Bytes = std::vector<uint8_t>;
constexpr size_t kMost = 1 << 16;  // bytes that are taken from one input

// All bytes up to kMost, read in pieces; nothing if the data are damaged or cut short.
template <typename Reader>
std::optional<Bytes> read_all(Reader& reader, size_t piece) {
  const uint64_t most = reader.most_left();
  Bytes all;
  try {
    for (size_t found = piece; found == piece && all.size() < kMost;) {
      const size_t before = all.size();
      all.resize(before + piece);
      found = reader.read(std::span(all).subspan(before));
      all.resize(before + found);
    }
  } catch (const IoError&) {
    return std::nullopt;
  }
  PANDO_CHECK(all.size() <= most);
  all.resize(std::min(all.size(), kMost));
  return all;
}

std::optional<Bytes> read_inflated(fuzz::Input packed, Compression compression, size_t piece) {
  const auto input = data::inflated(data::memory_input(packed), compression, "input");
  auto all = read_all(*input, piece);
  return input->cut_short().empty() ? all : std::nullopt;
}

// A reader that stops at kMost has not seen errors after it.
std::optional<Bytes> read_gzip(fuzz::Input packed, size_t piece) {
  auto all = read_inflated(packed, Compression::gzip, piece);
  data::PlainReader plain(packed, "input");
  if (!plain.compressed()) return all;
  const auto other = read_all(plain, 300 - piece);
  const bool whole = all.value_or(Bytes()).size() < kMost && other.value_or(Bytes()).size() < kMost;
  PANDO_CHECK(!whole || all == other);
  return all;
}

Bytes packed_by_us(fuzz::Input content) {
  Bytes packed;
  data::Deflater deflater(Compression::gzip, 1, [&](std::span<const uint8_t> piece) {
    packed.insert(packed.end(), piece.begin(), piece.end());
  });
  deflater.write(content);
  deflater.finish();
  return packed;
}

// Changes one byte, or cuts the data, or both: the reader must refuse them or read the original.
// Two bytes choose each place; a place after the end leaves the data unchanged.
void read_damaged(fuzz::Input input, size_t piece) {
  if (input.size() < 5) return;
  const Bytes content(input.begin() + 5, input.end());
  Bytes packed = packed_by_us(content);
  const size_t wrong_at = input[0] * 256u + input[1];
  const size_t kept = std::min<size_t>(input[2] * 256u + input[3], packed.size());
  const bool untouched = kept == packed.size() && (wrong_at >= kept || input[4] == 0);
  if (wrong_at < packed.size()) packed[wrong_at] ^= input[4];
  packed.resize(kept);
  const auto found = read_gzip(packed, piece);
  PANDO_CHECK(found || !untouched);
  PANDO_CHECK(!found || *found == content);
}

}  // namespace
}  // namespace pando

void pando::fuzz::compression(Input input) {
  if (input.size() < 2) return;
  const int mode = input[0] % 3;
  const size_t piece = 1 + input[1];
  const Input rest = input.subspan(2);
  if (mode == 0) read_gzip(rest, piece);
  if (mode == 1) read_inflated(rest, Compression::zlib, piece);
  if (mode == 2) read_damaged(rest, piece);
}
