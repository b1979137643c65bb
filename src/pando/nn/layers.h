// The layers, with the names, options and defaults of Keras. Shapes are channels-last.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string>
#include <vector>

#include "pando/nn/layer.h"

namespace pando {

// Options with the same meaning in all layers:
// `activation`: "" (none) or the name of an op with Trait::activation ("relu"); the error about an
// unknown name lists them all.
// `padding`: "valid" or "same"; of convolutions also "symmetric": half of the window on each side.

struct Conv2DOptions {
  int64_t filters = 0;
  std::array<int64_t, 2> kernel = {1, 1};
  std::array<int64_t, 2> strides = {1, 1};
  std::string padding = "valid";
  std::array<int64_t, 2> dilation = {1, 1};
  int64_t groups = 1;
  std::string activation;
  bool use_bias = true;
  Initializer kernel_initializer = GlorotUniform();
  Initializer bias_initializer = Zeros();
  std::string name;
};
Layer Conv2D(Conv2DOptions options);

struct Conv3DOptions {
  int64_t filters = 0;
  std::array<int64_t, 3> kernel = {1, 1, 1};
  std::array<int64_t, 3> strides = {1, 1, 1};
  std::string padding = "valid";
  std::array<int64_t, 3> dilation = {1, 1, 1};
  int64_t groups = 1;
  std::string activation;
  bool use_bias = true;
  Initializer kernel_initializer = GlorotUniform();
  Initializer bias_initializer = Zeros();
  std::string name;
};
Layer Conv3D(Conv3DOptions options);

// One filter per input channel, or `depth_multiplier` of them, instead of a sum over channels.
struct DepthwiseConv2DOptions {
  std::array<int64_t, 2> kernel = {1, 1};
  std::array<int64_t, 2> strides = {1, 1};
  std::string padding = "valid";
  std::array<int64_t, 2> dilation = {1, 1};
  int64_t depth_multiplier = 1;
  std::string activation;
  bool use_bias = true;
  Initializer depthwise_initializer = GlorotUniform();
  Initializer bias_initializer = Zeros();
  std::string name;
};
Layer DepthwiseConv2D(DepthwiseConv2DOptions options);

// A depthwise convolution without bias, then a convolution with a kernel of 1x1.
struct SeparableConv2DOptions {
  int64_t filters = 0;
  std::array<int64_t, 2> kernel = {1, 1};
  std::array<int64_t, 2> strides = {1, 1};
  std::string padding = "valid";
  std::array<int64_t, 2> dilation = {1, 1};
  int64_t depth_multiplier = 1;
  std::string activation;
  bool use_bias = true;
  Initializer depthwise_initializer = GlorotUniform();
  Initializer pointwise_initializer = GlorotUniform();
  Initializer bias_initializer = Zeros();
  std::string name;
};
Layer SeparableConv2D(SeparableConv2DOptions options);

// A convolution that enlarges its input: it computes the input gradient of a convolution with this
// `kernel`, `strides`, `padding` and `dilation`. An axis of n elements becomes n * stride with
// padding "same" and n * stride + max(span - stride, 0) with "valid", where span is (kernel - 1) *
// dilation + 1. With `output_padding`, which must be smaller than the stride, it becomes (n - 1) *
// stride + span - 2 * pad + output_padding, where pad is span / 2 with "same" and 0 with "valid";
// -1: without it.
struct Conv2DTransposeOptions {
  int64_t filters = 0;
  std::array<int64_t, 2> kernel = {1, 1};
  std::array<int64_t, 2> strides = {1, 1};
  std::string padding = "valid";
  std::array<int64_t, 2> output_padding = {-1, -1};
  std::array<int64_t, 2> dilation = {1, 1};
  std::string activation;
  bool use_bias = true;
  Initializer kernel_initializer = GlorotUniform();
  Initializer bias_initializer = Zeros();
  std::string name;
};
Layer Conv2DTranspose(Conv2DTransposeOptions options);

struct Conv3DTransposeOptions {
  int64_t filters = 0;
  std::array<int64_t, 3> kernel = {1, 1, 1};
  std::array<int64_t, 3> strides = {1, 1, 1};
  std::string padding = "valid";
  std::array<int64_t, 3> output_padding = {-1, -1, -1};
  std::array<int64_t, 3> dilation = {1, 1, 1};
  std::string activation;
  bool use_bias = true;
  Initializer kernel_initializer = GlorotUniform();
  Initializer bias_initializer = Zeros();
  std::string name;
};
Layer Conv3DTranspose(Conv3DTransposeOptions options);

struct DenseOptions {
  int64_t units = 0;
  std::string activation;
  bool use_bias = true;
  Initializer kernel_initializer = GlorotUniform();
  Initializer bias_initializer = Zeros();
  std::string name;
};
Layer Dense(DenseOptions options);

struct BatchNormalizationOptions {
  double momentum = 0.99;
  double epsilon = 0.001;
  Initializer gamma_initializer = Ones();
  Initializer beta_initializer = Zeros();
  std::string name;
};
Layer BatchNormalization(BatchNormalizationOptions options = {});

struct GroupNormalizationOptions {
  int64_t groups = 32;
  double epsilon = 0.001;
  bool strided = false;  // if true, channel c is in group c mod groups; else groups are contiguous
  Initializer gamma_initializer = Ones();
  Initializer beta_initializer = Zeros();
  std::string name;
};
Layer GroupNormalization(GroupNormalizationOptions options = {});

// Normalises each channel of each sample over its pixels.
struct InstanceNormalizationOptions {
  double epsilon = 0.001;
  Initializer gamma_initializer = Ones();
  Initializer beta_initializer = Zeros();
  std::string name;
};
Layer InstanceNormalization(InstanceNormalizationOptions options = {});

// Normalises over the last axes of each sample; with the last one alone, each pixel over its
// channels.
struct LayerNormalizationOptions {
  std::vector<int> axis = {-1};  // the last axes, counted with the batch; negative: from the end
  double epsilon = 0.001;
  bool center = true;  // adds beta
  bool scale = true;   // multiplies by gamma
  Initializer gamma_initializer = Ones();
  Initializer beta_initializer = Zeros();
  std::string name;
};
Layer LayerNormalization(LayerNormalizationOptions options = {});

// Average pooling divides by the number of elements of the window that lie in the input: neither
// padding nor what `ceil_mode` adds counts. Max pooling never chooses them.
struct Pool2DOptions {
  std::array<int64_t, 2> pool = {2, 2};
  std::array<int64_t, 2> strides = {0, 0};  // 0: same as the pool
  std::string padding = "valid";            // or "explicit", with `pads`
  std::vector<int64_t> pads;                // before each spatial axis, then after each
  bool ceil_mode = false;  // one more window for the rest of an axis, unless it begins behind it
  std::string name;
};
Layer MaxPooling2D(Pool2DOptions options = {});
Layer AveragePooling2D(Pool2DOptions options = {});

struct Pool3DOptions {
  std::array<int64_t, 3> pool = {2, 2, 2};
  std::array<int64_t, 3> strides = {0, 0, 0};
  std::string padding = "valid";
  std::vector<int64_t> pads;
  bool ceil_mode = false;
  std::string name;
};
Layer MaxPooling3D(Pool3DOptions options = {});
Layer AveragePooling3D(Pool3DOptions options = {});

struct NameOption {
  std::string name;
};
Layer GlobalAveragePooling2D(NameOption options = {});
Layer GlobalAveragePooling3D(NameOption options = {});
Layer GlobalMaxPooling2D(NameOption options = {});
Layer GlobalMaxPooling3D(NameOption options = {});
Layer Flatten(NameOption options = {});
Layer Activation(std::string activation, NameOption options = {});
// Arithmetic of two inputs or, except Subtract and Divide, more. Samples of different shapes are
// repeated as in numpy: [h, w, c] goes with [1, 1, c], [c] and [h, w, 1].
Layer Add(NameOption options = {});
Layer Subtract(NameOption options = {});
Layer Multiply(NameOption options = {});
Layer Divide(NameOption options = {});
Layer Maximum(NameOption options = {});
Layer Minimum(NameOption options = {});
Layer Average(NameOption options = {});
// Passes its input on unchanged. If a stage recomputes its activations, this one is kept.
Layer RecomputationCheckpoint(NameOption options = {});

struct ReLUOptions {
  double max_value = 0;       // larger results are cut off there; 0: none are
  double negative_slope = 0;  // factor on negative numbers; not together with max_value
  std::string name;
};
Layer ReLU(ReLUOptions options = {});

struct ELUOptions {
  double alpha = 1;
  std::string name;
};
Layer ELU(ELUOptions options = {});

struct LeakyReLUOptions {
  double alpha = 0.3;
  std::string name;
};
Layer LeakyReLU(LeakyReLUOptions options = {});

// x where x is positive, else alpha x, with a trained alpha for each element of a sample.
struct PReLUOptions {
  Initializer alpha_initializer = Zeros();
  std::vector<int> shared_axes = {};  // axes whose elements share alpha; the first of a sample is 1
  std::string name;
};
Layer PReLU(PReLUOptions options = {});

struct SoftmaxOptions {
  int axis = -1;  // counted with the batch axis; negative counts from the end
  std::string name;
};
Layer Softmax(SoftmaxOptions options = {});

// factor * x + offset.
struct RescalingOptions {
  double factor = 1;
  double offset = 0;
  std::string name;
};
Layer Rescaling(RescalingOptions options);

struct DropoutOptions {
  double rate = 0.5;
  std::string name;
};
Layer Dropout(DropoutOptions options);
// Drop whole channels of a sample.
Layer SpatialDropout2D(DropoutOptions options);
Layer SpatialDropout3D(DropoutOptions options);
// Drops all of a sample: the branch of a residual block that is skipped for this sample.
Layer StochasticDepth(DropoutOptions options);

// Adds normally distributed noise of mean 0 in training.
struct GaussianNoiseOptions {
  double stddev = 1;
  std::string name;
};
Layer GaussianNoise(GaussianNoiseOptions options);

struct ReshapeOptions {
  Shape shape;  // the shape of one sample
  std::string name;
};
Layer Reshape(ReshapeOptions options);

// Axis i of the result is axis dims[i] of the input; the first axis of a sample is 1.
struct PermuteOptions {
  std::vector<int64_t> dims;
  std::string name;
};
Layer Permute(PermuteOptions options);

// The same in ONNX' form: perm includes the batch, which stays first.
struct TransposeOptions {
  std::vector<int64_t> perm;
  std::string name;
};
Layer Transpose(TransposeOptions options);

// Elements from `starts` to before `ends` of some axes, as in ONNX: negative numbers count from the
// end, and numbers beyond an end mean that end.
struct SliceOptions {
  std::vector<int64_t> starts;
  std::vector<int64_t> ends;
  std::vector<int64_t> axes = {};   // counted with the batch; empty: from the first of a sample on
  std::vector<int64_t> steps = {};  // at least 1; empty: all 1
  std::string name;
};
Layer Slice(SliceOptions options);

// The sum, mean, maximum or minimum over axes of a sample.
struct ReduceOptions {
  std::string function = "mean";  // "sum", "mean", "max" or "min"
  std::vector<int> axes = {};     // counted with the batch; negative: from the end; empty: all
  bool keepdims = false;          // the axes stay, with an extent of 1
  std::string name;
};
Layer Reduce(ReduceOptions options);

// The product of two inputs; the last two axes are matrices, all axes before them are equal.
struct MatMulOptions {
  bool transpose_a = false;
  bool transpose_b = false;
  std::string name;
};
Layer MatMul(MatMulOptions options = {});

struct ZeroPadding2DOptions {
  std::array<int64_t, 2> top_bottom = {1, 1};
  std::array<int64_t, 2> left_right = {1, 1};
  std::string name;
};
Layer ZeroPadding2D(ZeroPadding2DOptions options = {});

struct ZeroPadding3DOptions {  // each: before the first element of the axis, and after the last
  std::array<int64_t, 2> depth = {1, 1};
  std::array<int64_t, 2> height = {1, 1};
  std::array<int64_t, 2> width = {1, 1};
  std::string name;
};
Layer ZeroPadding3D(ZeroPadding3DOptions options = {});

// Cuts pixels off at the border.
struct Cropping2DOptions {
  std::array<int64_t, 2> top_bottom = {0, 0};
  std::array<int64_t, 2> left_right = {0, 0};
  std::string name;
};
Layer Cropping2D(Cropping2DOptions options);

struct Cropping3DOptions {
  std::array<int64_t, 2> depth = {1, 1};
  std::array<int64_t, 2> height = {1, 1};
  std::array<int64_t, 2> width = {1, 1};
  std::string name;
};
Layer Cropping3D(Cropping3DOptions options = {});

// Moves channels into boxes of `block_size` x `block_size` pixels, and back. The channels of pixel
// (i, j) of a box are side by side in mode "DCR"; in mode "CRD" the pixels of a channel are.
struct DepthToSpaceOptions {
  int64_t block_size = 2;
  std::string mode = "DCR";
  std::string name;
};
Layer DepthToSpace(DepthToSpaceOptions options = {});
Layer SpaceToDepth(DepthToSpaceOptions options = {});

// Multiplies the spatial extents. `interpolation`: "nearest" or "bilinear".
struct UpSampling2DOptions {
  std::array<int64_t, 2> size = {2, 2};
  std::string interpolation = "nearest";
  std::string name;
};
Layer UpSampling2D(UpSampling2DOptions options = {});

struct UpSampling3DOptions {
  std::array<int64_t, 3> size = {2, 2, 2};
  std::string name;
};
Layer UpSampling3D(UpSampling3DOptions options = {});

// Scales pictures to height x width, as Keras does: neither antialiased nor cropped.
// `interpolation`: "bilinear" or "nearest".
struct ResizingOptions {
  int64_t height = 0;
  int64_t width = 0;
  std::string interpolation = "bilinear";
  std::string name;
};
Layer Resizing(ResizingOptions options);

// Changes the spatial extents, one to three of them, by the rules of ONNX's Resize. Takes `size` or
// `scales`, one number per spatial axis; an axis of n elements gets floor(n * scale).
struct ResizeOptions {
  std::vector<int64_t> size;
  std::vector<double> scales;
  std::string mode = "nearest";  // or "linear"
  // Or "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric".
  std::string coordinates = "half_pixel";
  std::string nearest_mode = "round_prefer_floor";  // "round_prefer_ceil", "floor", "ceil"
  std::string name;
};
Layer Resize(ResizeOptions options);

struct ConcatenateOptions {
  int axis = -1;  // counted with the batch axis; negative counts from the end
  std::string name;
};
Layer Concatenate(ConcatenateOptions options = {});

// Converts bytes to numbers, 0 to 255. For networks that are fed with bytes, which take a quarter
// of the memory of numbers.
Layer EightBitDecompression(NameOption options = {});

// Takes images and an auxiliary input of one byte per sample. In training, mirrors an image left to
// right if its byte is not zero; in inference, leaves the images unchanged.
Layer FlipWhere(NameOption options = {});

// Mirrors every image left to right, in inference too.
Layer Mirror(NameOption options = {});

// Scales each image to mean 0 and standard deviation 1 over all pixels and channels; an image of
// one colour becomes zeros. Takes bytes or numbers. Adds channels of zeros up to `channels`.
struct StandardiseImageOptions {
  int64_t channels = 0;  // 0: same number as the input
  std::string name;
};
Layer StandardiseImage(StandardiseImageOptions options = {});

// x * scale + shift, with one number per channel or one for all. Takes bytes or numbers. Adds
// channels of zeros up to `channels`.
struct NormalisePixelsOptions {
  std::vector<double> scale = {1};
  std::vector<double> shift = {0};
  int64_t channels = 0;  // 0: same number as the input
  std::string name;
};
Layer NormalisePixels(NormalisePixelsOptions options);

// Takes every `stride`-th pixel and adds channels of zeros at the end up to `channels`: the
// shortcut without weights in residual networks for CIFAR.
struct SubsampleOptions {
  int64_t stride = 2;
  int64_t channels = 0;  // 0: same number as the input
  std::string name;
};
Layer Subsample(SubsampleOptions options);

}  // namespace pando
