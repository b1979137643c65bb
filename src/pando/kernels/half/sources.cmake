# Kernels of half-precision nodes.
target_sources(pando_kernels PRIVATE half/cutting.cc half/half_kernel.cc half/half_packer.cc
                                     half/tile_sums.cc)
