// One block of zeroed memory, aligned to pages and backed by huge pages where the system has them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace pando::runtime {

class Arena {
 public:
  explicit Arena(size_t bytes);  // throws ResourceError
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  // Touches the pages that begin in [begin, end), so that no step waits for the system to allocate
  // them. Threads may do this at the same time for ranges that do not overlap.
  void prefault(size_t begin, size_t end);

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace pando::runtime
