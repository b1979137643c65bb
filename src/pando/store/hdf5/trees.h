// The two kinds of B-trees, each as the sequence of its records.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>

#include "pando/store/hdf5/bytes.h"

namespace pando::store::hdf5 {

enum class OldTree : uint8_t { group = 0, chunks = 1 };

// Visits the entries of the leaves of a B-tree of version 1 in order: the key of `key_bytes` bytes
// in front of each child, and the child's address.
using OldTreeVisit = std::function<void(ByteSpan key, uint64_t child)>;
void visit_old_tree(FileBytes& file, uint64_t root, OldTree kind, size_t key_bytes,
                    const OldTreeVisit& visit);

// The kinds of records in a B-tree of version 2.
enum class NewTree : uint8_t {
  huge_objects = 1,
  link_names = 5,
  attribute_names = 8,
  chunks = 10,
  filtered_chunks = 11,
};

// Visits the records of a B-tree of version 2 in order.
void visit_new_tree(FileBytes& file, uint64_t header, NewTree kind,
                    const std::function<void(ByteSpan record)>& visit);

// The number of bytes that hold all numbers up to `most`.
size_t bytes_to_count(uint64_t most);

}  // namespace pando::store::hdf5
