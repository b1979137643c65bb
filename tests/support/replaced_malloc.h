// Replaces malloc and its relatives in a whole program: each calls count_one(), which the program
// defines before it includes this file. If it returns false, there is no memory. All ways to memory
// end here: operator new calls malloc or aligned_alloc, and new threads call calloc.
// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstddef>

inline void* no_memory() {
  errno = ENOMEM;
  return nullptr;
}

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the names are glibc's
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

void* malloc(size_t size) { return count_one() ? __libc_malloc(size) : no_memory(); }
void* calloc(size_t count, size_t size) {
  return count_one() ? __libc_calloc(count, size) : no_memory();
}
void* realloc(void* memory, size_t size) {
  return count_one() ? __libc_realloc(memory, size) : no_memory();
}
void* memalign(size_t alignment, size_t size) {
  return count_one() ? __libc_memalign(alignment, size) : no_memory();
}
void* aligned_alloc(size_t alignment, size_t size) {
  return count_one() ? __libc_memalign(alignment, size) : no_memory();
}
int posix_memalign(void** memory, size_t alignment, size_t size) {
  *memory = count_one() ? __libc_memalign(alignment, size) : nullptr;
  return *memory == nullptr ? ENOMEM : 0;
}
}
