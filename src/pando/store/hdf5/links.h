// Groups: their links, in the old and the new form.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "pando/store/hdf5/object_header.h"

namespace pando::store::hdf5 {

enum class LinkKind { hard, soft, other };

struct Link {
  LinkKind kind = LinkKind::other;
  uint64_t address = kNowhere;  // of a hard link: that of the object's header
  std::string target;           // of a soft link: a path
};

using Links = std::map<std::string, Link>;

bool is_group(const ObjectHeader& header);
Links read_links(FileBytes& file, const ObjectHeader& header);

}  // namespace pando::store::hdf5
