// SPDX-License-Identifier: MIT
#include "pando/store/hdf5/dataset.h"

#include <algorithm>

namespace pando::store::hdf5 {

namespace {

constexpr uint64_t kMostDeflated = 1040;    // deflate shrinks at most 1032 times
constexpr uint64_t kMostMissing = 1 << 20;  // most bytes of elements that were never written
constexpr uint16_t kDeflate = 1;

}  // namespace

DatasetReader::DatasetReader(FileBytes& file, const Dataset& dataset, DataBudget& budget)
    : file_(file), dataset_(dataset), budget_(budget) {
  const uint64_t elements = dataset.space.elements();  // at most 2^48
  if (__builtin_mul_overflow(elements, uint64_t{dataset.type.bytes}, &bytes_)) {
    throw IoError(elements, " elements of ", dataset.type.bytes, " bytes are too large");
  }
  const Layout& layout = dataset.layout;
  if (layout.storage == Storage::chunked) {
    uint64_t stored = 0;
    for (const Chunk& chunk : dataset_.chunks) stored += std::min(chunk.bytes, file.size());
    const bool deflated =
        std::ranges::find(dataset.filters, kDeflate, &Filter::id) != dataset.filters.end();
    check_stored(stored, deflated ? kMostDeflated : 1);
  } else if (layout.storage == Storage::compact) {
    check_stored(layout.content.size(), 1);
  } else {
    if (layout.address != kNowhere) file.check_inside(layout.address, layout.bytes);
    check_stored(layout.address == kNowhere ? 0 : layout.bytes, 1);
  }
  budget_.take(bytes_);
}

// A file may claim more elements than it holds. Some may be missing, where nothing was written.
void DatasetReader::check_stored(uint64_t stored, uint64_t most_expansion) const {
  const uint64_t missing =
      dataset_.layout.storage == Storage::chunked || stored == 0 ? kMostMissing : 0;
  if (bytes_ <= missing || (bytes_ - missing) / most_expansion <= stored) return;
  throw IoError("the dataset needs ", bytes_, " bytes, but ", stored, " are stored");
}

void DatasetReader::read(std::span<uint8_t> to) {
  PANDO_CHECK(to.size() == bytes_);
  if (to.empty()) return;
  const Layout& layout = dataset_.layout;
  if (layout.storage == Storage::compact && !layout.content.empty()) {
    std::copy_n(layout.content.begin(), to.size(), to.begin());
    return;
  }
  if (layout.storage == Storage::contiguous && layout.address != kNowhere && layout.bytes > 0) {
    file_.read_data(layout.address, to);
    return;
  }
  // Elements that were never written have the fill value.
  std::ranges::fill(to, uint8_t{0});
  const Bytes& fill = dataset_.fill;
  for (size_t i = 0; i < to.size() && !fill.empty(); i += fill.size()) {
    std::ranges::copy(fill, to.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (const Chunk& chunk : dataset_.chunks) {
    budget_.take(layout.chunk_bytes + chunk.bytes);
    Bytes stored(chunk.bytes);
    file_.read_data(chunk.address, stored);
    place_chunk(chunk, undo_filters(dataset_, chunk, std::move(stored)), to);
  }
}

// Copies row by row the part of a chunk that is inside the shape.
void DatasetReader::place_chunk(const Chunk& chunk, const Bytes& content,
                                std::span<uint8_t> to) const {
  const std::vector<uint64_t>& dims = dataset_.space.dims;
  const std::vector<uint64_t>& extents = dataset_.layout.chunk;
  const size_t last = dims.size() - 1;
  const uint64_t element = dataset_.type.bytes;
  const uint64_t row = std::min(extents[last], dims[last] - chunk.start[last]) * element;
  std::vector<uint64_t> at(dims.size(), 0);  // in the chunk
  for (;;) {
    uint64_t from = 0;
    uint64_t into = 0;
    for (size_t axis = 0; axis <= last; ++axis) {
      from = from * extents[axis] + at[axis];
      into = into * dims[axis] + chunk.start[axis] + at[axis];
    }
    std::copy_n(content.begin() + static_cast<std::ptrdiff_t>(from * element), row,
                to.begin() + static_cast<std::ptrdiff_t>(into * element));
    size_t axis = last;
    for (;;) {
      if (axis == 0) return;
      --axis;
      if (++at[axis] < std::min(extents[axis], dims[axis] - chunk.start[axis])) break;
      at[axis] = 0;
    }
  }
}

}  // namespace pando::store::hdf5
