// SPDX-License-Identifier: MIT
#include "pando/store/hdf5/trees.h"

namespace pando::store::hdf5 {

namespace {

constexpr int kMostLevels = 64;  // a sound tree has fewer; limits the recursion

struct OldTreeWalk {
  FileBytes& file;
  OldTree kind;
  size_t key_bytes;
  const OldTreeVisit& visit;

  // level: that of the parent, minus 1; -1 for the root, whose level is not known yet.
  void node(uint64_t address, int expected_level) const {
    const size_t width = file.widths().address;
    const Bytes front = file.read_block(address, 8 + 2 * width, "TREE", false);
    const int level = front[5];
    const size_t entries = static_cast<size_t>(front[6] | front[7] << 8);
    if (front[4] != static_cast<uint8_t>(kind) || level >= kMostLevels ||
        (expected_level >= 0 && level != expected_level)) {
      throw IoError("a node of a B-tree has a wrong kind or level; the file is damaged");
    }
    const Bytes body = file.read(address + front.size(), entries * (key_bytes + width));
    Cursor cursor = file.cursor(body, "B-tree");
    for (size_t i = 0; i < entries; ++i) {
      const ByteSpan key = cursor.bytes(key_bytes);
      const uint64_t child = cursor.address();
      if (level == 0) {
        visit(key, child);
      } else {
        node(child, level - 1);
      }
    }
  }
};

}  // namespace

void visit_old_tree(FileBytes& file, uint64_t root, OldTree kind, size_t key_bytes,
                    const OldTreeVisit& visit) {
  OldTreeWalk{file, kind, key_bytes, visit}.node(root, -1);
}

}  // namespace pando::store::hdf5
