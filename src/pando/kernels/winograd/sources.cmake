# Winograd's convolution, part of the module `kernels`; its transforms are compiled with the inner
# loops of the direct convolution.
target_sources(pando_kernels PRIVATE
  winograd/block.cc
  winograd/conv_kernels.cc
  winograd/tile_plan.cc
  winograd/winograd_conv.cc)
