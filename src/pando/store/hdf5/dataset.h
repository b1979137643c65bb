// Datasets: how their elements are stored, and reading them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pando/store/hdf5/object_header.h"
#include "pando/store/hdf5/types.h"

namespace pando::store::hdf5 {

enum class Storage { compact, contiguous, chunked };
enum class ChunkIndex : uint8_t {
  old_tree = 0,
  single = 1,
  implicit = 2,
  fixed_array = 3,
  extensible_array = 4,
  new_tree = 5,
};

// A layout message (versions 3 and 4).
struct Layout {
  Storage storage = Storage::contiguous;
  Bytes content;                // compact
  uint64_t address = kNowhere;  // of the data, or of the index of chunks
  uint64_t bytes = 0;           // contiguous; of a single chunk with filters
  ChunkIndex index = ChunkIndex::old_tree;
  std::vector<uint64_t> chunk;   // extents of a chunk, in elements
  uint64_t chunk_bytes = 0;      // of a whole chunk without filters
  uint32_t skipped_filters = 0;  // of a single chunk
};

struct Filter {
  uint16_t id = 0;
  uint32_t element_bytes = 0;  // of shuffle
};

// One stored chunk.
struct Chunk {
  std::vector<uint64_t> start;  // its first element
  uint64_t address = kNowhere;
  uint64_t bytes = 0;            // as stored
  uint32_t skipped_filters = 0;  // bit i: filter i was not applied
};

struct Dataset {
  Datatype type;
  Dataspace space;
  Layout layout;
  std::vector<Filter> filters;
  Bytes fill;                 // one element, or empty for zeros
  std::vector<Chunk> chunks;  // that are stored
};

bool is_dataset(const ObjectHeader& header);
// Throws IoError, which names the feature, for what we do not read.
Dataset parse_dataset(FileBytes& file, const ObjectHeader& header);
Layout parse_layout(const FileBytes& file, ByteSpan body, const Dataspace& space,
                    uint32_t element_bytes);
std::vector<Filter> parse_filters(const FileBytes& file, ByteSpan body);

// All chunks that are stored; those that begin outside the shape are left out.
std::vector<Chunk> list_chunks(FileBytes& file, const Dataset& dataset);
// The entries of a fixed or extensible array with the numbers of their chunks.
struct ArrayEntry {
  uint64_t number;
  ByteSpan bytes;
};
using ArrayVisit = std::function<void(const ArrayEntry& entry)>;
void visit_fixed_array(FileBytes& file, uint64_t address, const ArrayVisit& visit);
void visit_extensible_array(FileBytes& file, uint64_t address, const ArrayVisit& visit);

// The bytes of a whole chunk from those that are stored. Checks fletcher32. Throws IoError unless
// exactly layout.chunk_bytes bytes come out.
Bytes undo_filters(const Dataset& dataset, const Chunk& chunk, Bytes stored);

// Reads the elements in the form of the file; what it hands out counts against the budget.
class DatasetReader {
 public:
  // Throws IoError when the file holds too few bytes for the elements.
  DatasetReader(FileBytes& file, const Dataset& dataset, DataBudget& budget);
  uint64_t bytes() const { return bytes_; }
  // Requires: `to` has bytes() bytes.
  void read(std::span<uint8_t> to);

 private:
  void check_stored(uint64_t stored, uint64_t most_expansion) const;
  void place_chunk(const Chunk& chunk, const Bytes& content, std::span<uint8_t> to) const;

  FileBytes& file_;
  const Dataset& dataset_;
  DataBudget& budget_;
  uint64_t bytes_ = 0;
};

}  // namespace pando::store::hdf5
