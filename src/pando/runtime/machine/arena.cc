// SPDX-License-Identifier: MIT
#include "pando/runtime/machine/arena.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/mman.h>

#include "pando/base/error.h"

namespace pando::runtime {

namespace {

constexpr size_t kPage = 4096;

}  // namespace

Arena::Arena(size_t bytes) : size_((std::max<size_t>(bytes, 1) + kPage - 1) / kPage * kPage) {
  void* memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw ResourceError("no memory for an arena of ", human_bytes(static_cast<double>(size_)), ": ",
                        std::strerror(errno), "; use a smaller micro-batch");
  }
  data_ = static_cast<std::byte*>(memory);
  madvise(data_, size_, MADV_HUGEPAGE);  // a hint: small pages work as well
}

Arena::~Arena() { munmap(data_, size_); }

void Arena::prefault(size_t begin, size_t end) {
  volatile std::byte* bytes = data_;
  for (size_t at = (begin + kPage - 1) / kPage * kPage; at < std::min(end, size_); at += kPage) {
    bytes[at] = bytes[at];
  }
}

}  // namespace pando::runtime
