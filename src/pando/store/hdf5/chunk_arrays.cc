// Fixed and extensible arrays, two indices of chunks.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>

#include "pando/store/hdf5/dataset.h"

namespace pando::store::hdf5 {

namespace {

constexpr std::string_view kArray = "array of chunks";

// A block of entries, whole or in pages, each with a checksum of its own.
struct EntryBlock {
  std::string_view signature;
  uint64_t address = kNowhere;
  uint64_t front_bytes = 0;  // without bitmap and checksum
  uint64_t entries = 0;
  uint64_t page_entries = 0;
  uint64_t first_number = 0;
};

// Reads blocks of entries. The entries of one array have one size.
class EntryReader {
 public:
  EntryReader(FileBytes& file, uint64_t entry_bytes, const ArrayVisit& visit)
      : file_(file), entry_bytes_(entry_bytes), visit_(visit) {
    if (entry_bytes == 0) throw IoError(kArray, ": entries without bytes; the file is damaged");
  }

  // pages: a bit for each page that was written, the highest bit of a byte first.
  void read(const EntryBlock& block, ByteSpan pages) {
    if (block.entries > file_.size() / entry_bytes_) throw IoError(kArray, " exceeds the file");
    if (block.entries <= block.page_entries) {
      const uint64_t bytes = block.front_bytes + block.entries * entry_bytes_ + 4;
      const Bytes whole = file_.read_block(block.address, bytes, block.signature, true);
      visit_all(ByteSpan(whole).subspan(block.front_bytes), block.first_number, block.entries);
      return;
    }
    file_.check_inside(block.address, 0);
    for (uint64_t page = 0; page * block.page_entries < block.entries; ++page) {
      if (page / 8 >= pages.size()) throw IoError(kArray, ": too few pages");
      if ((pages[page / 8] & 0x80 >> page % 8) == 0) continue;
      const uint64_t first = page * block.page_entries;
      const uint64_t count = std::min(block.page_entries, block.entries - first);
      const uint64_t at = block.address + block.front_bytes + 4 + first * entry_bytes_ + 4 * page;
      const Bytes content = file_.read(at, count * entry_bytes_ + 4);
      file_.check_sum(content, kArray);
      visit_all(content, block.first_number + first, count);
    }
  }
  void visit_all(ByteSpan entries, uint64_t first_number, uint64_t count) const {
    Cursor cursor = file_.cursor(entries, kArray);
    for (uint64_t i = 0; i < count; ++i) {
      visit_({.number = first_number + i, .bytes = cursor.bytes(entry_bytes_)});
    }
  }

 private:
  FileBytes& file_;
  uint64_t entry_bytes_;
  const ArrayVisit& visit_;
};

uint64_t page_entries_of(size_t bits) {
  if (bits > 40) throw IoError(kArray, ": wrong pages; the file is damaged");
  return uint64_t{1} << bits;
}

// The shape of an extensible array, which its header decides.
struct ExtensibleForm {
  uint64_t entry_bytes, offset_bits, first_entries, block_entries, least_pointers, page_entries;

  size_t offset_bytes() const { return (offset_bits + 7) / 8; }
  // Super block i has 2^(i/2) blocks of 2^((i+1)/2) times the smallest number of entries.
  static uint64_t blocks_of(size_t super) { return uint64_t{1} << super / 2; }
  uint64_t entries_of(size_t super) const { return block_entries << (super + 1) / 2; }
  // The blocks of the first super blocks are in the index itself.
  size_t inner_supers() const { return 2 * static_cast<size_t>(std::countr_zero(least_pointers)); }
  size_t supers() const {
    return 1 + offset_bits - static_cast<size_t>(std::countr_zero(block_entries));
  }
};

class ExtensibleArray {
 public:
  ExtensibleArray(FileBytes& file, ExtensibleForm form, const ArrayVisit& visit)
      : file_(file), form_(form), reader_(file, form.entry_bytes, visit) {}

  void read(uint64_t index) {
    const uint64_t width = file_.widths().address;
    const uint64_t pointers = 2 * (form_.least_pointers - 1);
    const uint64_t outer = form_.supers() - form_.inner_supers();
    const uint64_t front = 6 + width;
    const uint64_t bytes =
        front + form_.first_entries * form_.entry_bytes + (pointers + outer) * width + 4;
    const Bytes block = file_.read_block(index, bytes, "EAIB", true);
    reader_.visit_all(ByteSpan(block).subspan(front), 0, form_.first_entries);
    next_ = form_.first_entries;
    Cursor cursor = file_.cursor(
        ByteSpan(block).subspan(front + form_.first_entries * form_.entry_bytes), kArray);
    for (size_t super = 0; super < form_.inner_supers(); ++super) {
      for (uint64_t i = 0; i < ExtensibleForm::blocks_of(super); ++i) {
        read_block(cursor.address(), super, {});
      }
    }
    for (size_t super = form_.inner_supers(); super < form_.supers(); ++super) {
      read_super(cursor.address(), super);
    }
  }

 private:
  void read_super(uint64_t address, size_t super) {
    const uint64_t blocks = ExtensibleForm::blocks_of(super);
    const uint64_t entries = form_.entries_of(super);
    if (address == kNowhere) {
      next_ += blocks * entries;
      return;
    }
    const uint64_t page_count = entries > form_.page_entries ? entries / form_.page_entries : 0;
    const uint64_t bitmap = (page_count + 7) / 8;
    const uint64_t front = 6 + file_.widths().address + form_.offset_bytes();
    if (blocks > file_.size() / (bitmap + file_.widths().address)) {
      throw IoError(kArray, " exceeds the file");
    }
    const uint64_t bytes = front + blocks * (bitmap + file_.widths().address) + 4;
    const Bytes block = file_.read_block(address, bytes, "EASB", true);
    const ByteSpan bitmaps = ByteSpan(block).subspan(front, blocks * bitmap);
    Cursor cursor = file_.cursor(ByteSpan(block).subspan(front + bitmaps.size()), kArray);
    for (uint64_t i = 0; i < blocks; ++i) {
      read_block(cursor.address(), super, bitmaps.subspan(i * bitmap, bitmap));
    }
  }
  void read_block(uint64_t address, size_t super, ByteSpan pages) {
    const uint64_t entries = form_.entries_of(super);
    if (address != kNowhere) {
      reader_.read({.signature = "EADB",
                    .address = address,
                    .front_bytes = 6 + file_.widths().address + form_.offset_bytes(),
                    .entries = entries,
                    .page_entries = form_.page_entries,
                    .first_number = next_},
                   pages);
    }
    next_ += entries;
  }

  FileBytes& file_;
  ExtensibleForm form_;
  EntryReader reader_;
  uint64_t next_ = 0;  // number of the next entry
};

}  // namespace

void visit_fixed_array(FileBytes& file, uint64_t address, const ArrayVisit& visit) {
  const uint64_t width = file.widths().address;
  const Bytes header = file.read_block(address, 12 + file.widths().length + width, "FAHD", true);
  Cursor cursor = file.cursor(ByteSpan(header).subspan(6), kArray);
  const uint64_t entry_bytes = cursor.u8();
  const uint64_t page_entries = page_entries_of(cursor.u8());
  const uint64_t entries = cursor.length();
  const uint64_t data = cursor.address();
  if (data == kNowhere) return;
  EntryBlock block{.signature = "FADB",
                   .address = data,
                   .front_bytes = 6 + width,
                   .entries = entries,
                   .page_entries = page_entries};
  Bytes front;
  ByteSpan pages;
  if (entries > page_entries) {
    const uint64_t page_count = entries / page_entries + (entries % page_entries != 0 ? 1 : 0);
    const uint64_t bitmap = page_count / 8 + (page_count % 8 != 0 ? 1 : 0);
    if (bitmap > file.size()) throw IoError(kArray, " exceeds the file");
    front = file.read_block(data, block.front_bytes + bitmap + 4, block.signature, true);
    pages = ByteSpan(front).subspan(block.front_bytes, bitmap);
    block.front_bytes += bitmap;
  }
  EntryReader(file, entry_bytes, visit).read(block, pages);
}

void visit_extensible_array(FileBytes& file, uint64_t address, const ArrayVisit& visit) {
  const Bytes header = file.read_block(
      address, 16 + 6 * uint64_t{file.widths().length} + file.widths().address, "EAHD", true);
  Cursor cursor = file.cursor(ByteSpan(header).subspan(6), kArray);
  ExtensibleForm form{};
  form.entry_bytes = cursor.u8();
  form.offset_bits = cursor.u8();
  form.first_entries = cursor.u8();
  form.block_entries = cursor.u8();
  form.least_pointers = cursor.u8();
  form.page_entries = page_entries_of(cursor.u8());
  cursor.skip(6 * uint64_t{file.widths().length});  // numbers and sizes of blocks
  const uint64_t index = cursor.address();
  if (!std::has_single_bit(form.block_entries) || !std::has_single_bit(form.least_pointers) ||
      form.offset_bits > 62 || (uint64_t{1} << form.offset_bits) < form.block_entries ||
      form.inner_supers() > form.supers()) {
    throw IoError(kArray, ": wrong sizes; the file is damaged");
  }
  if (index != kNowhere) ExtensibleArray(file, form, visit).read(index);
}

}  // namespace pando::store::hdf5
