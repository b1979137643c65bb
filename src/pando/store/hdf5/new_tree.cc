// SPDX-License-Identifier: MIT
#include <bit>
#include <vector>

#include "pando/store/hdf5/trees.h"

namespace pando::store::hdf5 {

namespace {

constexpr std::string_view kNewTree = "B-tree of version 2";
constexpr uint64_t kNodeFrame = 10;  // signature, version, kind and checksum
constexpr size_t kMostDepth = 32;    // a sound tree has less; limits the recursion

struct NewTreeWalk {
  FileBytes& file;
  uint8_t kind;
  const std::function<void(ByteSpan record)>& visit;
  uint64_t node_bytes = 0;
  size_t record_bytes = 0;
  size_t count_bytes = 0;                // of the number of records of a child
  std::vector<size_t> total_bytes = {};  // of the number of records below a child, by its depth

  // How wide counts are follows from how many records fit into nodes of every depth.
  void measure(size_t depth) {
    if (record_bytes == 0 || node_bytes < kNodeFrame + record_bytes || depth > kMostDepth) {
      throw IoError(kNewTree, ": wrong sizes; the file is damaged");
    }
    const uint64_t most_in_leaf = (node_bytes - kNodeFrame) / record_bytes;
    count_bytes = bytes_to_count(most_in_leaf);
    total_bytes = {0};
    uint64_t most_below = most_in_leaf;
    for (size_t level = 1; level <= depth; ++level) {
      const uint64_t pointer = pointer_bytes(level);
      if (node_bytes < kNodeFrame + pointer) throw IoError(kNewTree, ": nodes are too small");
      const uint64_t most = (node_bytes - kNodeFrame - pointer) / (record_bytes + pointer);
      uint64_t below = 0;
      if (__builtin_mul_overflow(most + 1, most_below, &below) ||
          __builtin_add_overflow(below, most, &most_below)) {
        throw IoError(kNewTree, ": too deep; the file is damaged");
      }
      total_bytes.push_back(bytes_to_count(most_below));
    }
  }
  uint64_t pointer_bytes(size_t level) const {
    return file.widths().address + count_bytes + total_bytes[level - 1];
  }

  void node(uint64_t address, uint64_t records, size_t level) const {
    const uint64_t pointers = level == 0 ? 0 : (records + 1) * pointer_bytes(level);
    const uint64_t used = kNodeFrame + records * record_bytes + pointers;
    const Bytes block = file.read_block(address, used, level == 0 ? "BTLF" : "BTIN", true);
    if (block[5] != kind) throw IoError(kNewTree, ": a node of another tree");
    Cursor at = file.cursor(ByteSpan(block).subspan(6, records * record_bytes), kNewTree);
    Cursor child = file.cursor(ByteSpan(block).subspan(6 + records * record_bytes), kNewTree);
    for (uint64_t i = 0;; ++i) {
      if (level > 0) {
        const uint64_t child_address = child.address();
        const uint64_t child_records = child.number(count_bytes);
        child.skip(total_bytes[level - 1]);
        node(child_address, child_records, level - 1);
      }
      if (i == records) return;
      visit(at.bytes(record_bytes));
    }
  }
};

}  // namespace

size_t bytes_to_count(uint64_t most) {
  return (static_cast<size_t>(std::bit_width(most | 1)) + 7) / 8;
}

void visit_new_tree(FileBytes& file, uint64_t header, NewTree kind,
                    const std::function<void(ByteSpan record)>& visit) {
  const uint64_t bytes = 22 + file.widths().address + file.widths().length;
  const Bytes block = file.read_block(header, bytes, "BTHD", true);
  Cursor cursor = file.cursor(ByteSpan(block).subspan(4), kNewTree);
  cursor.skip(1);
  if (cursor.u8() != static_cast<uint8_t>(kind)) throw IoError(kNewTree, ": of another kind");
  NewTreeWalk walk{file, static_cast<uint8_t>(kind), visit};
  walk.node_bytes = cursor.u32();
  walk.record_bytes = cursor.u16();
  const size_t depth = cursor.u16();
  cursor.skip(2);  // when nodes are split and merged
  const uint64_t root = cursor.address();
  const uint64_t records = cursor.u16();
  if (root == kNowhere) return;
  walk.measure(depth);
  walk.node(root, records, depth);
}

}  // namespace pando::store::hdf5
