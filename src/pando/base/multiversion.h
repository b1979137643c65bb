// Marks loops that the compiler vectorises for several instruction sets; the best one that the
// machine has is taken when the program is loaded.
// SPDX-License-Identifier: MIT
#pragma once

// Sanitizers start after the loader has resolved the clones and so do not mix with them.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define PANDO_MULTIVERSION \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define PANDO_MULTIVERSION
#endif

// What a multiversioned function calls must be inlined into each of its clones: a function of its
// own would be compiled for the default instruction set only.
#define PANDO_INLINE inline __attribute__((always_inline))
