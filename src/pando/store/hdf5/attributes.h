// Attributes: small named values of an object.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>

#include "pando/store/hdf5/object_header.h"
#include "pando/store/hdf5/types.h"

namespace pando::store::hdf5 {

struct Attribute {
  Datatype type;
  Dataspace space;
  Bytes raw;  // exactly the elements
};

// The attributes as messages, by name; those of the header and those of a heap.
std::map<std::string, Bytes> read_attributes(FileBytes& file, const ObjectHeader& header);

Attribute parse_attribute(FileBytes& file, ByteSpan message);

}  // namespace pando::store::hdf5
