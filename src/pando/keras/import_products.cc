// Convolutions and dense layers.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/keras/importer_impl.h"

namespace pando::keras {
namespace {

std::string padding_of(const LayerPlace& place) {
  const auto padding = place.get<std::string>("padding", "valid");
  if (padding != "valid" && padding != "same") {
    refuse_option(place, "padding", "\"valid\" or \"same\"");
  }
  return padding;
}

template <typename Options>
MadeLayer made_with(Layer (*make)(Options), Options options, ActivationChoice activation) {
  options.activation = activation.name;
  return {.layer = make(std::move(options)), .activation = std::move(activation.layer)};
}

template <size_t axes, typename Options>
Options conv_options(const LayerPlace& place) {
  place.sample(static_cast<int>(axes) + 1);
  Options options;
  options.kernel = place.extents<axes>("kernel_size");
  options.strides = place.extents<axes>("strides", 1);
  options.padding = padding_of(place);
  options.dilation = place.extents<axes>("dilation_rate", 1);
  options.use_bias = place.get("use_bias", true);
  options.name = place.name;
  return options;
}

template <size_t axes, typename Options>
MadeLayer make_conv(const LayerPlace& place, Layer (*make)(Options)) {
  auto options = conv_options<axes, Options>(place);
  options.filters = place.config().get<int64_t>("filters");
  options.groups = place.get<int64_t>("groups", 1);
  return made_with(make, std::move(options), activation_of(place));
}

MadeLayer make_conv2d(const LayerPlace& place) { return make_conv<2>(place, Conv2D); }
MadeLayer make_conv3d(const LayerPlace& place) { return make_conv<3>(place, Conv3D); }

MadeLayer make_depthwise(const LayerPlace& place) {
  auto options = conv_options<2, DepthwiseConv2DOptions>(place);
  options.depth_multiplier = place.get<int64_t>("depth_multiplier", 1);
  return made_with(DepthwiseConv2D, std::move(options), activation_of(place));
}

MadeLayer make_separable(const LayerPlace& place) {
  auto options = conv_options<2, SeparableConv2DOptions>(place);
  options.filters = place.config().get<int64_t>("filters");
  options.depth_multiplier = place.get<int64_t>("depth_multiplier", 1);
  return made_with(SeparableConv2D, std::move(options), activation_of(place));
}

template <size_t axes, typename Options>
MadeLayer make_transpose(const LayerPlace& place, Layer (*make)(Options)) {
  auto options = conv_options<axes, Options>(place);
  options.filters = place.config().get<int64_t>("filters");
  options.output_padding = place.extents<axes>("output_padding", -1);
  return made_with(make, std::move(options), activation_of(place));
}

MadeLayer make_transpose2d(const LayerPlace& place) {
  return make_transpose<2>(place, Conv2DTranspose);
}
MadeLayer make_transpose3d(const LayerPlace& place) {
  return make_transpose<3>(place, Conv3DTranspose);
}

ir::Value* reshaped(nn::GraphBuilder& builder, ir::Value* x, const ir::Ints& shape) {
  return builder.append("reshape", {x}, {{"shape", shape}})->output();
}

// A convolution with a filter of the file that has fewer axes than the op's.
struct FlatConv {
  std::string class_name;
  std::string stem;
  ir::Ints picture;  // the sample, as a picture
  Shape filter;      // of the op
  Shape file_filter;
  ir::Ints result;  // the sample of the result
  ir::Attributes attributes = {};
};

MadeLayer make_flat_conv(const LayerPlace& place, FlatConv conv) {
  ActivationChoice activation = activation_of(place);
  const bool bias = place.get("use_bias", true);
  ComposedSpec spec{.class_name = conv.class_name, .stem = conv.stem};
  spec.weights.push_back({.name = "kernel",
                          .shape = conv.filter,
                          .initializer = GlorotUniform(),
                          .keras_shape = conv.file_filter});
  if (bias) spec.weights.push_back({"bias", {conv.filter.back()}, Zeros()});
  spec.build = [=, function = activation.name](nn::GraphBuilder& builder,
                                               const std::vector<ir::Value*>& inputs) {
    std::vector<ir::Value*> operands = {reshaped(builder, inputs[0], conv.picture),
                                        builder.weight("kernel")};
    if (bias) operands.push_back(builder.weight("bias"));
    ir::Value* y = builder.append("conv", operands, conv.attributes)->output();
    if (!function.empty()) y = builder.append(function, {y})->output();
    return reshaped(builder, y, conv.result);
  };
  return {.layer = composed(std::move(spec), place.name), .activation = activation.layer};
}

// A line is a picture of one row.
MadeLayer make_conv1d(const LayerPlace& place) {
  const Shape& x = place.sample(2);
  const auto filters = place.config().get<int64_t>("filters");
  const int64_t kernel = place.ints("kernel_size", 1)[0];
  const int64_t stride = place.ints("strides", 1, 1)[0];
  const int64_t dilation = place.ints("dilation_rate", 1, 1)[0];
  const int64_t groups = place.get<int64_t>("groups", 1);
  const std::string padding = padding_of(place);
  if (filters < 1 || kernel < 1 || stride < 1 || dilation < 1 || groups < 1 ||
      kernel > kMostExtent || stride > kMostExtent || dilation > kMostExtent) {
    throw IoError("expected filters, kernel_size, strides, dilation_rate and groups from 1 to ",
                  kMostExtent);
  }
  const int64_t span = (kernel - 1) * dilation + 1;
  const int64_t windows =
      padding == "same" ? (x[0] + stride - 1) / stride : (x[0] - span) / stride + 1;
  if (padding == "valid" && span > x[0]) {
    throw InvalidArgument(place.label(), ": a window of ", span, " exceeds the input ", x);
  }
  return make_flat_conv(place, {.class_name = "Conv1D",
                                .stem = "conv1d",
                                .picture = {1, x[0], x[1]},
                                .filter = {1, kernel, x[1] / groups, filters},
                                .file_filter = {kernel, x[1] / groups, filters},
                                .result = {windows, filters},
                                .attributes = {{"padding", padding},
                                               {"strides", ir::Ints{1, stride}},
                                               {"dilations", ir::Ints{1, dilation}},
                                               {"groups", groups}}});
}

// On samples of several axes, the layer is a convolution of one pixel.
MadeLayer make_dense(const LayerPlace& place) {
  const auto units = place.config().get<int64_t>("units");
  const Shape& x = place.inputs[0];
  if (x.rank() == 1) {
    DenseOptions options{
        .units = units, .use_bias = place.get("use_bias", true), .name = place.name};
    return made_with(Dense, std::move(options), activation_of(place));
  }
  if (units < 1) throw IoError("units: expected at least 1, got ", units);
  ir::Ints result(x.begin(), x.end());
  result.back() = units;
  return make_flat_conv(place, {.class_name = "Dense",
                                .stem = "dense",
                                .picture = {1, x.elements() / x.back(), x.back()},
                                .filter = {1, 1, x.back(), units},
                                .file_filter = {x.back(), units},
                                .result = result});
}

}  // namespace

std::vector<LayerImport> product_imports() {
  return {{"Conv1D", make_conv1d},
          {"Conv2D", make_conv2d},
          {"Conv3D", make_conv3d},
          {"DepthwiseConv2D", make_depthwise},
          {"SeparableConv2D", make_separable},
          {"Conv2DTranspose", make_transpose2d},
          {"Conv3DTranspose", make_transpose3d},
          {"Dense", make_dense}};
}

}  // namespace pando::keras
