// SPDX-License-Identifier: MIT
#include "pando/store/hdf5/heaps.h"

#include <algorithm>

namespace pando::store::hdf5 {

LocalHeap::LocalHeap(FileBytes& file, uint64_t address) {
  const uint64_t bytes = 8 + 2 * uint64_t{file.widths().length} + file.widths().address;
  const Bytes block = file.read_block(address, bytes, "HEAP", false);
  Cursor cursor = file.cursor(ByteSpan(block).subspan(8), "local heap");
  const uint64_t content_bytes = cursor.length();
  cursor.length();  // where the free part begins
  content_ = file.read(cursor.address(), content_bytes);
}

std::string LocalHeap::text(uint64_t offset) const {
  if (offset >= content_.size()) throw IoError("a name is outside its heap; the file is damaged");
  const auto begin = content_.begin() + static_cast<std::ptrdiff_t>(offset);
  const auto end = std::find(begin, content_.end(), 0);
  if (end == content_.end()) throw IoError("a name has no end; the file is damaged");
  return {begin, end};
}

const std::map<uint32_t, std::string>& GlobalHeap::objects(uint64_t collection) {
  const auto known = collections_.find(collection);
  if (known != collections_.end()) return known->second;
  const uint64_t front_bytes = 8 + uint64_t{file_.widths().length};
  const Bytes front = file_.read_block(collection, front_bytes, "GCOL", false);
  const uint64_t bytes = file_.cursor(ByteSpan(front).subspan(8), "global heap").length();
  if (bytes < front_bytes) throw IoError("a global heap is too small; the file is damaged");
  const Bytes body = file_.read(collection + front_bytes, bytes - front_bytes);
  Cursor cursor = file_.cursor(body, "global heap");
  std::map<uint32_t, std::string> objects;
  while (cursor.left() >= front_bytes) {
    const uint32_t index = cursor.u16();
    cursor.skip(6);
    const uint64_t object_bytes = cursor.length();
    if (index == 0) break;  // the rest is free
    const ByteSpan object = cursor.bytes(object_bytes);
    cursor.skip(std::min<uint64_t>((8 - object_bytes % 8) % 8, cursor.left()));
    objects.try_emplace(index, object.begin(), object.end());
  }
  return collections_[collection] = std::move(objects);
}

std::string GlobalHeap::text(uint64_t collection, uint32_t index, uint32_t bytes) {
  if (bytes == 0) return "";
  const std::map<uint32_t, std::string>& all = objects(collection);
  const auto found = all.find(index);
  if (found == all.end() || found->second.size() < bytes) {
    throw IoError("a string is not in its heap; the file is damaged");
  }
  budget_.take(bytes);
  return found->second.substr(0, bytes);
}

}  // namespace pando::store::hdf5
