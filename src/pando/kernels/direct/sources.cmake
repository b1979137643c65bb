# The direct convolution and dense layer, part of the module `kernels`.
target_sources(pando_kernels PRIVATE
  direct/backward_kernel.cc
  direct/bf16_conv_pool.cc
  direct/dense_kernels.cc
  direct/direct_conv.cc
  direct/direct_dense.cc
  direct/forward_pool.cc
  direct/gather_plan.cc
  direct/isa_avx2.cc
  direct/isa_avx512.cc
  direct/isa_avx512_bf16.cc
  direct/isa_select.cc
  direct/isa_sse2.cc
  direct/pack.cc
  direct/panels.cc
  direct/row_dots.cc)

# Clones for several instruction sets are made by the compiler.
set_source_files_properties(direct/row_dots.cc PROPERTIES COMPILE_OPTIONS "-O3")

# The only sources built for more than the baseline; isa_select.cc decides at run time.
set(isa_options -O3)
if(PANDO_SANITIZE)  # clang takes a minute for the copies of unrolled loops
  list(APPEND isa_options -DPANDO_UNROLL_SOME=)
endif()
set_source_files_properties(direct/isa_sse2.cc PROPERTIES COMPILE_OPTIONS "${isa_options}")
set_source_files_properties(direct/isa_avx2.cc PROPERTIES
                            COMPILE_OPTIONS "${isa_options};-mavx2;-mfma")
# GCC 12 raises maybe-uninitialized wrongly inside its own AVX-512 header.
set(avx512_options ${isa_options} -mavx512f -mavx512vl -mavx512bw -mavx512dq -mfma
                   $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
set_source_files_properties(direct/isa_avx512.cc PROPERTIES COMPILE_OPTIONS "${avx512_options}")
set(avx512_bf16_options ${avx512_options} -mavx512bf16)
if(PANDO_SANITIZE)  # optimising its many tiles takes clang minutes, and few processors run them
  list(APPEND avx512_bf16_options -O0)
endif()
set_source_files_properties(direct/isa_avx512_bf16.cc PROPERTIES
                            COMPILE_OPTIONS "${avx512_bf16_options}")
