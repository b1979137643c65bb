# Kernels of half-precision nodes, part of the module `kernels`.
target_sources(pando_kernels PRIVATE
  half/cutting.cc
  half/half_kernel.cc
  half/half_packer.cc
  half/partials.cc
  half/tile_sums.cc)
