// SPDX-License-Identifier: MIT
#include "pando/store/hdf5/bytes.h"

#include <algorithm>

#include "pando/store/hdf5/checksum.h"

namespace pando::store::hdf5 {

namespace {

// The blocks of a sound file do not overlap, and each is read once and copied at most once more.
constexpr uint64_t kMostPasses = 4;

std::string_view as_text(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

uint64_t Cursor::number(size_t width) {
  PANDO_CHECK(width <= 8);
  const ByteSpan field = bytes(width);
  uint64_t value = 0;
  for (size_t i = width; i-- > 0;) value = value << 8 | field[i];
  return value;
}

uint64_t Cursor::address() {
  const uint64_t all_set = kNowhere >> (64 - 8 * widths_.address);
  const uint64_t value = number(widths_.address);
  return value == all_set ? kNowhere : value;
}

ByteSpan Cursor::bytes(uint64_t count) {
  if (count > left_.size()) {
    throw IoError(what_, ": expected ", count, " more bytes, got ", left_.size(),
                  "; the file is damaged");
  }
  const ByteSpan taken = left_.first(count);
  left_ = left_.subspan(count);
  return taken;
}

void DataBudget::take(uint64_t bytes) {
  if (bytes > left) {
    throw IoError("the file expands to more than it may (", bytes, " bytes more, ", left,
                  " are left); it is damaged");
  }
  left -= bytes;
}

FileBytes::FileBytes(const std::string& path)
    : file_(std::make_unique<data::RandomAccessFile>(path)), size_(file_->size()), end_(size_) {}

FileBytes::FileBytes(ByteSpan content, bool checked)
    : content_(content), checked_(checked), size_(content.size()), end_(size_) {}

void FileBytes::describe(uint64_t base, uint64_t end, Widths widths) {
  PANDO_CHECK(base <= end && end <= size_);
  base_ = base;
  end_ = end;
  widths_ = widths;
}

void FileBytes::check_inside(uint64_t address, uint64_t count) const {
  const uint64_t most = end_ - base_;
  if (address == kNowhere) throw IoError("a block is missing; the file is damaged");
  if (address > most || count > most - address) {
    throw IoError("a block of ", count, " bytes at byte ", address, " is outside the file of ",
                  most, " bytes; the file is damaged or was cut off");
  }
}

void FileBytes::charge(uint64_t count) {
  charged_ += std::min(count, size_) + 1;
  if (charged_ / kMostPasses > size_) {
    throw IoError("blocks overlap or refer to each other in a loop; the file is damaged");
  }
}

Bytes FileBytes::read(uint64_t address, uint64_t count) {
  check_inside(address, count);
  charge(count);
  Bytes bytes(count);
  read_data(address, bytes);
  return bytes;
}

Bytes FileBytes::read_block(uint64_t address, uint64_t count, std::string_view signature,
                            bool sealed) {
  Bytes block = read(address, count);
  if (count < signature.size() || as_text(ByteSpan(block).first(signature.size())) != signature) {
    throw IoError("expected the mark ", signature, " at byte ", address, "; the file is damaged");
  }
  if (sealed) check_sum(block, signature);
  return block;
}

void FileBytes::check_sum(ByteSpan block, std::string_view signature) const {
  if (block.size() < 4) throw IoError("block ", signature, " is too short; the file is damaged");
  const ByteSpan content = block.first(block.size() - 4);
  const uint64_t stored = Cursor(block.last(4), widths_, signature).u32();
  if (checked_ && stored != metadata_checksum(content)) {
    throw IoError("block ", signature, ": its checksum differs; the file is damaged");
  }
}

void FileBytes::read_data(uint64_t address, std::span<uint8_t> to) const {
  check_inside(address, to.size());
  const uint64_t offset = base_ + address;
  if (file_ == nullptr) {
    std::ranges::copy(content_.subspan(offset, to.size()), to.begin());
  } else if (file_->read(offset, to) != to.size()) {
    throw IoError("the file became shorter while it was read");
  }
}

}  // namespace pando::store::hdf5
