// Replaces malloc and its relatives in a whole program: each calls count_one(), which the program
// defines before it includes this file. All ways to memory end here: operator new calls malloc or
// aligned_alloc, and new threads call calloc.
// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstddef>

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the names are glibc's
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

void* malloc(size_t size) {
  count_one();
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  count_one();
  return __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  count_one();
  return __libc_realloc(memory, size);
}
void* memalign(size_t alignment, size_t size) {
  count_one();
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  count_one();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, size_t alignment, size_t size) {
  count_one();
  *memory = __libc_memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
}
