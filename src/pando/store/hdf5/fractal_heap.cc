// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>

#include "pando/store/hdf5/heaps.h"
#include "pando/store/hdf5/trees.h"

namespace pando::store::hdf5 {

namespace {

constexpr std::string_view kFractalHeap = "fractal heap";
constexpr uint8_t kSealedBlocks = 1 << 1;
constexpr size_t kMostRows = 64;

bool is_power_of_two(uint64_t number) { return std::has_single_bit(number); }

size_t log2_of(uint64_t power) { return static_cast<size_t>(std::countr_zero(power)); }

}  // namespace

FractalHeap::FractalHeap(FileBytes& file, uint64_t address) : file_(file) {
  const uint64_t bytes = 26 + 12 * uint64_t{file.widths().length} + 3 * file.widths().address;
  const Bytes front = file.read_block(address, 9, "FRHP", false);
  if (front[7] != 0 || front[8] != 0) throw IoError(kFractalHeap, " with filters: not supported");
  const Bytes block = file.read_block(address, bytes, "FRHP", true);
  Cursor cursor = file.cursor(ByteSpan(block).subspan(5), kFractalHeap);
  id_bytes_ = cursor.u16();
  cursor.skip(2);  // of filters
  sealed_blocks_ = (cursor.u8() & kSealedBlocks) != 0;
  largest_managed_ = cursor.u32();
  cursor.length();  // next key of a huge object
  huge_tree_ = cursor.address();
  cursor.length();                              // free bytes
  cursor.address();                             // where they are
  for (int i = 0; i < 8; ++i) cursor.length();  // numbers and sizes of objects
  width_ = cursor.u16();
  first_block_bytes_ = cursor.length();
  largest_block_bytes_ = cursor.length();
  offset_bits_ = cursor.u16();
  cursor.skip(2);  // first number of rows
  root_ = cursor.address();
  root_rows_ = cursor.u16();
  if (!is_power_of_two(width_) || !is_power_of_two(first_block_bytes_) ||
      !is_power_of_two(largest_block_bytes_) || largest_block_bytes_ < first_block_bytes_ ||
      largest_block_bytes_ > uint64_t{1} << 32 || offset_bits_ > 64 || root_rows_ > kMostRows) {
    throw IoError(kFractalHeap, ": wrong sizes; the file is damaged");
  }
}

uint64_t FractalHeap::row_block_bytes(size_t row) const {
  const size_t doublings = row < 2 ? 0 : row - 1;
  if (doublings + log2_of(first_block_bytes_) + log2_of(width_) > 62) {
    throw IoError(kFractalHeap, ": too many rows; the file is damaged");
  }
  return first_block_bytes_ << doublings;
}

Bytes FractalHeap::object(ByteSpan id) {
  Cursor cursor = file_.cursor(id, "key of a fractal heap");
  const uint8_t flags = cursor.u8();
  const int kind = flags >> 4 & 3;
  if (flags >> 6 != 0) throw IoError(kFractalHeap, ": a key of an unknown version");
  if (kind == 0) return managed_object(cursor);
  if (kind == 1) return huge_object(cursor);
  if (kind != 2) throw IoError(kFractalHeap, ": an object of an unknown kind");
  // Tiny objects are stored in the key itself.
  constexpr size_t kLongKey = 17;
  const uint64_t more = id.size() > kLongKey ? cursor.u8() : 0;
  const uint64_t bytes = (id.size() > kLongKey ? (flags & 15u) << 8 | more : flags & 15u) + 1;
  const ByteSpan object = cursor.bytes(bytes);
  return {object.begin(), object.end()};
}

Bytes FractalHeap::managed_object(Cursor id) {
  const uint64_t offset = id.number((offset_bits_ + 7) / 8);
  const size_t bytes_of_length =
      std::min((log2_of(largest_block_bytes_) + 7) / 8, bytes_to_count(largest_managed_));
  const uint64_t bytes = id.number(bytes_of_length);
  const Block block = find_block(offset);
  const uint64_t inside = offset - block.start;
  if (inside >= block.bytes || bytes > block.bytes - inside) {
    throw IoError(kFractalHeap, ": an object leaves its block; the file is damaged");
  }
  const Bytes& content = read_direct_block(block);
  file_.charge(bytes);
  const auto begin = content.begin() + static_cast<std::ptrdiff_t>(inside);
  return {begin, begin + static_cast<std::ptrdiff_t>(bytes)};
}

// Descends from the root through indirect blocks to the direct block with that place of the heap.
FractalHeap::Block FractalHeap::find_block(uint64_t offset) {
  if (root_rows_ == 0) return {root_, 0, first_block_bytes_};
  uint64_t address = root_;
  uint64_t start = 0;
  size_t rows = root_rows_;
  for (size_t depth = 0; depth < kMostRows; ++depth) {
    const Bytes& block = read_indirect_block(address, rows);
    size_t row = 0;
    while (row < rows && offset - start >= row_block_bytes(row) * width_) {
      start += row_block_bytes(row) * width_;
      ++row;
    }
    if (row == rows) throw IoError(kFractalHeap, ": an object is outside; the file is damaged");
    const uint64_t bytes = row_block_bytes(row);
    const uint64_t column = (offset - start) / bytes;
    start += column * bytes;
    const uint64_t front = 5 + file_.widths().address + (offset_bits_ + 7) / 8;
    Cursor cursor = file_.cursor(block, kFractalHeap);
    cursor.skip(front + (row * width_ + column) * file_.widths().address);
    address = cursor.address();
    if (bytes <= largest_block_bytes_) return {address, start, bytes};
    const size_t smallest = log2_of(first_block_bytes_) + log2_of(width_);
    if (log2_of(bytes) < smallest) throw IoError(kFractalHeap, ": wrong sizes");
    rows = log2_of(bytes) - smallest + 1;
  }
  throw IoError(kFractalHeap, ": too deep; the file is damaged");
}

const Bytes& FractalHeap::read_direct_block(const Block& block) {
  const auto known = blocks_.find(block.address);
  if (known != blocks_.end()) {
    if (known->second.size() != block.bytes) throw IoError(kFractalHeap, ": blocks overlap");
    return known->second;
  }
  Bytes content = file_.read_block(block.address, block.bytes, "FHDB", false);
  if (sealed_blocks_) {
    // The checksum stands in the front and counts as zero itself.
    const size_t at = 5 + file_.widths().address + (offset_bits_ + 7) / 8;
    if (content.size() < at + 4) throw IoError(kFractalHeap, ": a block is too small");
    Bytes zeroed = content;
    std::fill_n(zeroed.begin() + static_cast<std::ptrdiff_t>(at), 4, uint8_t{0});
    const auto sum = content.begin() + static_cast<std::ptrdiff_t>(at);
    zeroed.insert(zeroed.end(), sum, sum + 4);
    file_.check_sum(zeroed, "FHDB");
  }
  return blocks_[block.address] = std::move(content);
}

const Bytes& FractalHeap::read_indirect_block(uint64_t address, size_t rows) {
  const uint64_t bytes = 5 + file_.widths().address + (offset_bits_ + 7) / 8 +
                         rows * width_ * file_.widths().address + 4;
  const auto known = blocks_.find(address);
  if (known != blocks_.end()) {
    if (known->second.size() != bytes) throw IoError(kFractalHeap, ": blocks overlap");
    return known->second;
  }
  return blocks_[address] = file_.read_block(address, bytes, "FHIB", true);
}

Bytes FractalHeap::huge_object(Cursor id) {
  const uint64_t direct_bytes = uint64_t{file_.widths().address} + file_.widths().length;
  if (id.left() >= direct_bytes) {
    const uint64_t address = id.address();
    return file_.read(address, id.length());
  }
  if (!huge_known_) {
    visit_new_tree(file_, huge_tree_, NewTree::huge_objects, [this](ByteSpan record) {
      Cursor cursor = file_.cursor(record, "huge object");
      const Place place{cursor.address(), cursor.length()};
      huge_.try_emplace(cursor.length(), place);
    });
    huge_known_ = true;
  }
  const auto found = huge_.find(id.number(std::min<size_t>(id.left(), file_.widths().length)));
  if (found == huge_.end()) throw IoError(kFractalHeap, ": an object is missing");
  return file_.read(found->second.address, found->second.bytes);
}

}  // namespace pando::store::hdf5
