// Marks loops that the compiler vectorises for several instruction sets; the loader of the program
// picks the best one that the machine supports.
// SPDX-License-Identifier: MIT
#pragma once

// Not with sanitizers: they start only after the loader has resolved the clones.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define PANDO_MULTIVERSION \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define PANDO_MULTIVERSION
#endif

// Functions that a multiversioned function calls must be inlined into each of its clones: a
// separate function would be compiled for the default instruction set only.
#define PANDO_INLINE inline __attribute__((always_inline))
