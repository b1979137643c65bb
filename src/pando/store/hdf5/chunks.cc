// Lists the chunks of a dataset from any of their indices.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>

#include "pando/store/hdf5/dataset.h"
#include "pando/store/hdf5/trees.h"

namespace pando::store::hdf5 {

namespace {

constexpr std::string_view kChunk = "chunk";
// A chunk costs memory here. The index in the file limits their number; without one, the size of
// the file does, and this where chunks are tiny.
constexpr uint64_t kMostTinyChunks = 1 << 16;
constexpr uint64_t kTinyChunkBytes = 4;

class ChunkLister {
 public:
  ChunkLister(FileBytes& file, const Dataset& dataset)
      : file_(file), dataset_(dataset), layout_(dataset.layout), rank_(layout_.chunk.size()) {}

  std::vector<Chunk> list() {
    if (layout_.address == kNowhere) return {};
    switch (layout_.index) {
      case ChunkIndex::old_tree: list_old_tree(); break;
      case ChunkIndex::single: list_single(); break;
      case ChunkIndex::implicit: list_implicit(); break;
      case ChunkIndex::fixed_array:
        prepare_grid();
        visit_fixed_array(file_, layout_.address, [this](const ArrayEntry& e) { keep_entry(e); });
        break;
      case ChunkIndex::extensible_array:
        prepare_grid();
        visit_extensible_array(file_, layout_.address,
                               [this](const ArrayEntry& e) { keep_entry(e); });
        break;
      case ChunkIndex::new_tree: list_new_tree(); break;
    }
    return std::move(chunks_);
  }

 private:
  // Leaves out what is not stored or begins outside the shape.
  void keep(Chunk chunk) {
    if (chunk.address == kNowhere) return;
    for (size_t axis = 0; axis < rank_; ++axis) {
      if (chunk.start[axis] >= dataset_.space.dims[axis]) return;
    }
    file_.check_inside(chunk.address, chunk.bytes);
    chunks_.push_back(std::move(chunk));
  }
  void list_old_tree() {
    visit_old_tree(file_, layout_.address, OldTree::chunks, 8 + 8 * (rank_ + 1),
                   [this](ByteSpan key, uint64_t address) {
                     Cursor cursor = file_.cursor(key, kChunk);
                     Chunk chunk{.address = address, .bytes = cursor.u32()};
                     chunk.skipped_filters = cursor.u32();
                     for (size_t axis = 0; axis < rank_; ++axis) {
                       chunk.start.push_back(cursor.u64());
                       if (chunk.start.back() % layout_.chunk[axis] != 0) {
                         throw IoError("a chunk is in a wrong place; the file is damaged");
                       }
                     }
                     keep(std::move(chunk));
                   });
  }
  void list_single() {
    keep({.start = std::vector<uint64_t>(rank_, 0),
          .address = layout_.address,
          .bytes = layout_.bytes,
          .skipped_filters = layout_.skipped_filters});
  }
  void list_implicit() {
    prepare_grid();
    uint64_t count = 1;
    for (size_t axis = 0; axis < rank_; ++axis) {
      if (__builtin_mul_overflow(count, chunks_along(axis), &count)) count = kNowhere;
    }
    if (!dataset_.filters.empty() || count > file_.size() / layout_.chunk_bytes) {
      throw IoError("the chunks do not fit into the file, which is damaged");
    }
    if (count > kMostTinyChunks && layout_.chunk_bytes < kTinyChunkBytes) {
      throw IoError(count, " chunks of ", layout_.chunk_bytes, " bytes without an index are too ",
                    "many; h5repack -l CONTI rewrites the file");
    }
    file_.check_inside(layout_.address, count * layout_.chunk_bytes);
    for (uint64_t number = 0; number < count; ++number) {
      keep({.start = start_of(number),
            .address = layout_.address + number * layout_.chunk_bytes,
            .bytes = layout_.chunk_bytes});
    }
  }
  void list_new_tree() {
    const bool filtered = !dataset_.filters.empty();
    visit_new_tree(file_, layout_.address, filtered ? NewTree::filtered_chunks : NewTree::chunks,
                   [this](ByteSpan record) {
                     Cursor cursor = file_.cursor(record, kChunk);
                     Chunk chunk = parse_place(cursor);
                     for (size_t axis = 0; axis < rank_; ++axis) {
                       chunk.start.push_back(scaled_start(cursor.u64(), axis));
                     }
                     keep(std::move(chunk));
                   });
  }
  void keep_entry(const ArrayEntry& entry) {
    Cursor cursor = file_.cursor(entry.bytes, kChunk);
    Chunk chunk = parse_place(cursor);
    if (chunk.address == kNowhere) return;
    chunk.start = start_of(entry.number);
    keep(std::move(chunk));
  }
  // The address, with filters also the size and which filters were skipped.
  Chunk parse_place(Cursor& cursor) const {
    Chunk chunk{.address = cursor.address(), .bytes = layout_.chunk_bytes};
    if (dataset_.filters.empty()) return chunk;
    const auto log2 = static_cast<size_t>(std::bit_width(layout_.chunk_bytes)) - 1;
    chunk.bytes = cursor.number(std::min<size_t>(8, 1 + (log2 + 8) / 8));
    chunk.skipped_filters = cursor.u32();
    return chunk;
  }
  uint64_t scaled_start(uint64_t scaled, size_t axis) const {
    uint64_t start = 0;
    return __builtin_mul_overflow(scaled, layout_.chunk[axis], &start) ? kNowhere : start;
  }

  // Arrays number the chunks of the largest shape in row-major order, but an axis without limit is
  // the slowest.
  void prepare_grid() {
    for (size_t axis = 0; axis < rank_; ++axis) order_.push_back(axis);
    const auto unlimited = std::ranges::find(dataset_.space.most_dims, kNowhere);
    if (unlimited == dataset_.space.most_dims.end()) return;
    const auto axis = order_.begin() + (unlimited - dataset_.space.most_dims.begin());
    std::rotate(order_.begin(), axis, axis + 1);
  }
  uint64_t chunks_along(size_t axis) const {
    const uint64_t most = dataset_.space.most_dims[axis];
    const uint64_t chunk = layout_.chunk[axis];
    return most / chunk + (most % chunk != 0 ? 1 : 0);
  }
  std::vector<uint64_t> start_of(uint64_t number) const {
    std::vector<uint64_t> start(rank_);
    for (size_t i = rank_; i-- > 0;) {
      const size_t axis = order_[i];
      const uint64_t along = i == 0 ? kNowhere : std::max<uint64_t>(chunks_along(axis), 1);
      start[axis] = scaled_start(number % along, axis);
      number /= along;
    }
    return start;
  }

  FileBytes& file_;
  const Dataset& dataset_;
  const Layout& layout_;
  size_t rank_;
  std::vector<size_t> order_;  // the axes, the slowest first
  std::vector<Chunk> chunks_;
};

}  // namespace

std::vector<Chunk> list_chunks(FileBytes& file, const Dataset& dataset) {
  return ChunkLister(file, dataset).list();
}

}  // namespace pando::store::hdf5
