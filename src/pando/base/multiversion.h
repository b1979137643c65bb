// Compiles a function once per instruction set; the loader picks the best one this CPU has. For
// plain loops that the compiler vectorises.
// SPDX-License-Identifier: MIT
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define PANDO_MULTIVERSION \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else  // resolving at load time and sanitizers do not go together
#define PANDO_MULTIVERSION
#endif
