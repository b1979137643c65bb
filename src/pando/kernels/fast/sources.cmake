# The fast kernels: a target of their own within the folder `kernels`, for their compiler options.
pando_module(kernels_fast HOT
  fast/activation_loops.cc
  fast/avg_pool.cc
  fast/batch_moments.cc
  fast/batch_norm.cc
  fast/boxes.cc
  fast/broadcast.cc
  fast/cast.cc
  fast/channel_rows.cc
  fast/channel_sums.cc
  fast/conv_pool_input_grad.cc
  fast/conv_pool_filter_grad.cc
  fast/cross_entropy.cc
  fast/curves.cc
  fast/depthwise.cc
  fast/depthwise_filter_grad.cc
  fast/depthwise_plan.cc
  fast/depthwise_spread_sums.cc
  fast/depthwise_strip_grads.cc
  fast/depthwise_strip_sums.cc
  fast/depthwise_window_grads.cc
  fast/depthwise_window_sums.cc
  fast/depthwise_windows.cc
  fast/depth_to_space.cc
  fast/dropout.cc
  fast/elementwise.cc
  fast/finish_pixels.cc
  fast/flip_where.cc
  fast/fold_batch_norm.cc
  fast/global_max_pool.cc
  fast/gaussian_noise.cc
  fast/group_norm.cc
  fast/layer_norm.cc
  fast/matmul.cc
  fast/max_pool.cc
  fast/max_pool_grad.cc
  fast/normalise_pixels.cc
  fast/pointwise_losses.cc
  fast/reduce.cc
  fast/repeated_channels.cc
  fast/resize.cc
  fast/smooth.cc
  fast/softmax.cc
  fast/standardise_image.cc
  fast/top_k.cc
  fast/transpose.cc
  DEPENDS base tensor ir ops)

# Much code; compiled while the others are.
set(depthwise_windows fast/depthwise_spread_sums.cc fast/depthwise_strip_grads.cc fast/depthwise_strip_sums.cc
                      fast/depthwise_window_grads.cc fast/depthwise_window_sums.cc)
set_source_files_properties(fast/depthwise.cc ${depthwise_windows} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

# GCC 12's thread sanitizer cannot compile comparisons of their vectors (an internal error). They
# share nothing between threads themselves.
if(PANDO_SANITIZE MATCHES thread)
  set_source_files_properties(${depthwise_windows} PROPERTIES COMPILE_OPTIONS -fno-sanitize=thread)
endif()
# Checks of undefined behaviour in all their unrolled loops take clang more than ten minutes. Accesses
# to memory are checked.
if(PANDO_SANITIZE MATCHES undefined)
  set_source_files_properties(${depthwise_windows} PROPERTIES COMPILE_OPTIONS -fno-sanitize=undefined)
endif()

# Vectorised in every build type without sanitizers. Without errno, which nobody reads, and traps, which nobody sets,
# comparisons and square roots become vectors; all else of IEEE arithmetic stays. The compiler may
# then compute what it throws away, and exceptions of that stay noted: fast/vector_math.h sees to
# it that there are none (runtime/machine/fp_exceptions.h reads them). Vectors of eight are passed by
# inlining only, so the note about their calling convention says nothing. clang does without GCC's
# pragma about the dependences of loops.
target_compile_options(pando_kernels_fast PRIVATE -O3 -fno-math-errno -fno-trapping-math)
if(PANDO_SANITIZE)
  target_compile_options(pando_kernels_fast PRIVATE ${PANDO_HOT_OPTIONS})
endif()
# A library, because its options come after those of pando_warnings, which would win otherwise.
add_library(pando_fast_warnings INTERFACE)
target_compile_options(pando_fast_warnings INTERFACE -Wno-psabi -Wno-unknown-pragmas)
target_link_libraries(pando_kernels_fast PRIVATE pando_fast_warnings)
