// Undoes the filters of chunks.
// SPDX-License-Identifier: MIT
#include "pando/data/tfrecord/compression.h"
#include "pando/store/hdf5/checksum.h"
#include "pando/store/hdf5/dataset.h"

namespace pando::store::hdf5 {

namespace {

enum class FilterId : uint16_t { deflate = 1, shuffle = 2, fletcher32 = 3 };

constexpr size_t kSumBytes = 4;  // of fletcher32

std::string filter_name(uint16_t id) {
  switch (id) {
    case 4: return "szip";
    case 5: return "nbit";
    case 6: return "scaleoffset";
    case 32000: return "lzf";
    case 32001: return "blosc";
    case 32004: return "lz4";
    case 32008: return "bitshuffle";
    case 32015: return "zstd";
    default: return concat("number ", id);
  }
}

// most: what a sound chunk has at this point.
Bytes inflate_chunk(const Bytes& packed, uint64_t most) {
  const data::ByteInputPtr input =
      data::inflated(data::memory_input(packed), Compression::zlib, "chunk");
  if (input->most_left() < most) most = input->most_left();
  Bytes plain(most + 1);  // one more shows that there is more
  plain.resize(input->read(plain));
  if (plain.size() > most) throw IoError("a chunk is larger than it may be; the file is damaged");
  if (const std::string cut = input->cut_short(); !cut.empty()) throw IoError("chunk: ", cut);
  return plain;
}

// Shuffle puts the first bytes of all elements in front, then the second bytes, and so on.
Bytes unshuffle(const Bytes& shuffled, size_t element_bytes) {
  const size_t elements = element_bytes == 0 ? 0 : shuffled.size() / element_bytes;
  if (elements <= 1) return shuffled;  // a damaged file may name elements of 4 GiB
  Bytes plain = shuffled;              // bytes after the last whole element stay
  for (size_t byte = 0; byte < element_bytes; ++byte) {
    for (size_t i = 0; i < elements; ++i) {
      plain[i * element_bytes + byte] = shuffled[byte * elements + i];
    }
  }
  return plain;
}

void remove_fletcher32(Bytes& bytes) {
  if (bytes.size() < kSumBytes) throw IoError("a chunk is too short; the file is damaged");
  const ByteSpan content = ByteSpan(bytes).first(bytes.size() - kSumBytes);
  const uint32_t stored = Cursor(ByteSpan(bytes).last(kSumBytes), {}, "chunk").u32();
  if (stored != fletcher32(content)) {
    throw IoError("the checksum (fletcher32) of a chunk differs; the file is damaged");
  }
  bytes.resize(content.size());
}

}  // namespace

Bytes undo_filters(const Dataset& dataset, const Chunk& chunk, Bytes stored) {
  const uint64_t most = dataset.layout.chunk_bytes + kSumBytes * dataset.filters.size();
  for (size_t i = dataset.filters.size(); i-- > 0;) {
    const Filter& filter = dataset.filters[i];
    if ((chunk.skipped_filters >> i & 1) != 0) continue;
    switch (static_cast<FilterId>(filter.id)) {
      case FilterId::deflate: stored = inflate_chunk(stored, most); break;
      case FilterId::shuffle: stored = unshuffle(stored, filter.element_bytes); break;
      case FilterId::fletcher32: remove_fletcher32(stored); break;
      default:
        throw IoError("the filter ", filter_name(filter.id),
                      " is not supported, only gzip, shuffle and fletcher32 are; ",
                      "h5repack -f GZIP=4 rewrites the file");
    }
  }
  if (stored.size() != dataset.layout.chunk_bytes) {
    throw IoError("expected a chunk of ", dataset.layout.chunk_bytes, " bytes, got ", stored.size(),
                  "; the file is damaged");
  }
  return stored;
}

}  // namespace pando::store::hdf5
