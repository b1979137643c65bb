// SPDX-License-Identifier: MIT
#include "pando/store/atomic_file.h"

#include "pando/base/new_file.h"

namespace pando::store {

void replace_file(const std::string& path,
                  std::initializer_list<std::span<const std::byte>> pieces) {
  NewFile file(path);
  for (const auto& piece : pieces) file.write(piece);
  file.commit();
}

}  // namespace pando::store
