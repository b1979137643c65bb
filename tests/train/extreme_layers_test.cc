// Whole numbers that make no sense, of the layers that extreme_numbers_test.cc does not have; and
// whether any layer is in neither.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <fstream>
#include <set>

#include "tests/train/extreme_support.h"

namespace pando {
namespace {

using Number = int64_t;
const Shape kImage = {6, 6, 4}, kVolume = {4, 4, 4, 2};

template <typename Options>
LayerCase number_of(std::string number, const Shape& input, Layer (*make)(Options), Options options,
                    const std::function<void(Options&, Number)>& set, std::vector<Number> right) {
  return {std::move(number), input,
          [=](Number n) {
            Options changed = options;
            set(changed, n);
            return make(changed);
          },
          std::move(right)};
}

void add_enlarging(std::vector<LayerCase>& cases) {
  for (const char* padding : {"valid", "same"}) {
    const auto flat = [&](const char* number, auto set, std::vector<Number> right) {
      cases.push_back(number_of<Conv2DTransposeOptions>(
          concat("Conv2DTranspose ", number, " ", padding), kImage, Conv2DTranspose,
          {.filters = 2, .kernel = {3, 3}, .padding = padding}, set, std::move(right)));
    };
    flat("filters", [](auto& o, Number n) { o.filters = n; }, {1});
    flat("kernel", [](auto& o, Number n) { o.kernel[1] = n; }, {1});
    flat("strides", [](auto& o, Number n) { o.strides[0] = n; }, {1});
    flat("dilation", [](auto& o, Number n) { o.dilation[1] = n; }, {1});
    flat("output_padding", [](auto& o, Number n) { o.output_padding = {n, 0}; }, {0, -1});
    const auto deep = [&](const char* number, auto set, std::vector<Number> right) {
      cases.push_back(number_of<Conv3DTransposeOptions>(
          concat("Conv3DTranspose ", number, " ", padding), kVolume, Conv3DTranspose,
          {.filters = 2, .kernel = {3, 3, 3}, .padding = padding}, set, std::move(right)));
    };
    deep("filters", [](auto& o, Number n) { o.filters = n; }, {1});
    deep("kernel", [](auto& o, Number n) { o.kernel[2] = n; }, {1});
    deep("strides", [](auto& o, Number n) { o.strides[1] = n; }, {1});
    deep("dilation", [](auto& o, Number n) { o.dilation[0] = n; }, {1});
    deep("output_padding", [](auto& o, Number n) { o.output_padding = {0, n, 0}; }, {0, -1});
  }
}

void add_separable(std::vector<LayerCase>& cases) {
  for (const char* padding : {"valid", "same", "symmetric"}) {
    const auto depthwise = [&](const char* number, auto set) {
      cases.push_back(number_of<DepthwiseConv2DOptions>(
          concat("DepthwiseConv2D ", number, " ", padding), kImage, DepthwiseConv2D,
          {.kernel = {3, 3}, .padding = padding}, set, {1}));
    };
    depthwise("kernel", [](auto& o, Number n) { o.kernel[0] = n; });
    depthwise("strides", [](auto& o, Number n) { o.strides[1] = n; });
    depthwise("dilation", [](auto& o, Number n) { o.dilation[0] = n; });
    depthwise("depth_multiplier", [](auto& o, Number n) { o.depth_multiplier = n; });
    const auto separable = [&](const char* number, auto set) {
      cases.push_back(number_of<SeparableConv2DOptions>(
          concat("SeparableConv2D ", number, " ", padding), kImage, SeparableConv2D,
          {.filters = 2, .kernel = {3, 3}, .padding = padding}, set, {1}));
    };
    separable("filters", [](auto& o, Number n) { o.filters = n; });
    separable("kernel", [](auto& o, Number n) { o.kernel[1] = n; });
    separable("strides", [](auto& o, Number n) { o.strides[0] = n; });
    separable("dilation", [](auto& o, Number n) { o.dilation[1] = n; });
    separable("depth_multiplier", [](auto& o, Number n) { o.depth_multiplier = n; });
  }
  for (const bool dilates : {false, true}) {  // half of a window that is too large
    cases.push_back(number_of<Conv2DOptions>(
        concat("Conv2D symmetric, dilation ", dilates), kImage, Conv2D,
        {.filters = 2, .kernel = {3, 3}, .padding = "symmetric"},
        [=](auto& o, Number n) { (dilates ? o.dilation : o.kernel)[0] = n; }, {1}));
  }
}

void add_borders(std::vector<LayerCase>& cases) {
  const auto pads = [&](const char* name, auto make, bool ceil) {
    for (const size_t at : {0, 3}) {
      cases.push_back(
          number_of<Pool2DOptions>(concat(name, " pads ", at), kImage, make,
                                   {.padding = "explicit", .pads = {0, 0, 0, 0}, .ceil_mode = ceil},
                                   [=](auto& o, Number n) { o.pads[at] = n; }, {0, 1}));
    }
  };
  pads("MaxPooling2D", MaxPooling2D, false);
  pads("AveragePooling2D", AveragePooling2D, true);
  for (const bool both : {false, true}) {
    const auto set = [=](std::array<Number, 2>& pair, Number n) { pair = {n, both ? n : 0}; };
    const std::string text = both ? " both" : " one";
    cases.push_back(
        number_of<ZeroPadding2DOptions>("ZeroPadding2D" + text, kImage, ZeroPadding2D, {},
                                        [=](auto& o, Number n) { set(o.left_right, n); }, {0, 1}));
    cases.push_back(number_of<ZeroPadding3DOptions>("ZeroPadding3D" + text, kVolume, ZeroPadding3D,
                                                    {}, [=](auto& o, Number n) { set(o.depth, n); },
                                                    {0, 1}));
    cases.push_back(number_of<Cropping2DOptions>("Cropping2D" + text, kImage, Cropping2D, {},
                                                 [=](auto& o, Number n) { set(o.top_bottom, n); },
                                                 {0, 1}));
    cases.push_back(number_of<Cropping3DOptions>("Cropping3D" + text, kVolume, Cropping3D, {},
                                                 [=](auto& o, Number n) { set(o.width, n); },
                                                 {0, 1}));
  }
  for (const char* mode : {"DCR", "CRD"}) {
    const DepthToSpaceOptions options{.mode = mode};
    const auto set = [](auto& o, Number n) { o.block_size = n; };
    cases.push_back(number_of<DepthToSpaceOptions>(concat("DepthToSpace ", mode), kImage,
                                                   DepthToSpace, options, set, {1}));
    cases.push_back(number_of<DepthToSpaceOptions>(concat("SpaceToDepth ", mode), kImage,
                                                   SpaceToDepth, options, set, {1}));
  }
}

void add_sizes(std::vector<LayerCase>& cases) {
  for (const char* kind : {"nearest", "bilinear"}) {
    cases.push_back(number_of<UpSampling2DOptions>(concat("UpSampling2D ", kind), kImage,
                                                   UpSampling2D, {.interpolation = kind},
                                                   [](auto& o, Number n) {
                                                     o.size = {n, 1};
                                                   },
                                                   {1}));
    cases.push_back(number_of<ResizingOptions>(concat("Resizing height ", kind), kImage, Resizing,
                                               {.width = 2, .interpolation = kind},
                                               [](auto& o, Number n) { o.height = n; }, {1}));
    cases.push_back(number_of<ResizingOptions>(concat("Resizing width ", kind), kImage, Resizing,
                                               {.height = 2, .interpolation = kind},
                                               [](auto& o, Number n) { o.width = n; }, {1}));
  }
  cases.push_back(number_of<UpSampling3DOptions>("UpSampling3D", kVolume, UpSampling3D, {},
                                                 [](auto& o, Number n) {
                                                   o.size = {1, n, 1};
                                                 },
                                                 {1}));
  for (const char* mode : {"nearest", "linear"}) {
    cases.push_back(number_of<ResizeOptions>(concat("Resize size ", mode), kImage, Resize,
                                             {.mode = mode},
                                             [](auto& o, Number n) {
                                               o.size = {n, 2};
                                             },
                                             {1}));
    cases.push_back(number_of<ResizeOptions>(concat("Resize scales ", mode), kImage, Resize,
                                             {.mode = mode},
                                             [](auto& o, Number n) {
                                               o.scales = {1, static_cast<double>(n)};
                                             },
                                             {1}));
  }
}

void add_axes(std::vector<LayerCase>& cases) {
  cases.push_back(number_of<SoftmaxOptions>("Softmax axis", kImage, Softmax, {},
                                            [](auto& o, Number n) { o.axis = static_cast<int>(n); },
                                            {1, -1}));
  cases.push_back(number_of<PReLUOptions>(
      "PReLU shared_axes", kImage, PReLU, {},
      [](auto& o, Number n) { o.shared_axes = {static_cast<int>(n)}; }, {1}));
  cases.push_back(number_of<LayerNormalizationOptions>(
      "LayerNormalization axis", kImage, LayerNormalization, {},
      [](auto& o, Number n) { o.axis = {static_cast<int>(n)}; }, {-1}));
  cases.push_back(
      number_of<ReduceOptions>("Reduce axes", kImage, Reduce, {},
                               [](auto& o, Number n) { o.axes = {static_cast<int>(n)}; }, {1, -1}));
  cases.push_back(number_of<PermuteOptions>("Permute dims", kImage, Permute, {.dims = {1, 2, 3}},
                                            [](auto& o, Number n) { o.dims[0] = n; }, {1}));
  cases.push_back(number_of<TransposeOptions>("Transpose perm", kImage, Transpose,
                                              {.perm = {0, 1, 2, 3}},
                                              [](auto& o, Number n) { o.perm[1] = n; }, {1}));
  const SliceOptions slice{.starts = {0}, .ends = {6}, .axes = {1}, .steps = {1}};
  cases.push_back(number_of<SliceOptions>("Slice starts", kImage, Slice, slice,
                                          [](auto& o, Number n) { o.starts[0] = n; }, {0, 1, -1}));
  cases.push_back(number_of<SliceOptions>("Slice ends", kImage, Slice, slice,
                                          [](auto& o, Number n) { o.ends[0] = n; },
                                          {1, -1, kTwo31, kTwo62}));
  cases.push_back(number_of<SliceOptions>("Slice axes", kImage, Slice, slice,
                                          [](auto& o, Number n) { o.axes[0] = n; }, {1, -1}));
  cases.push_back(number_of<SliceOptions>("Slice steps", kImage, Slice, slice,
                                          [](auto& o, Number n) { o.steps[0] = n; },
                                          {1, kTwo31, kTwo62}));
}

TEST(ExtremeNumbers, OfOtherLayersAreErrorsOrWork) { expect_errors_or_work(other_layer_cases()); }

// The layers that take a number: those of layers.h whose options have one.
TEST(ExtremeNumbers, EveryLayerHasACase) {
  std::set<std::string> known;
  for (const auto& cases : {window_layer_cases(), other_layer_cases()}) {
    for (const LayerCase& one : cases) known.insert(one.number.substr(0, one.number.find(' ')));
  }
  // Only real numbers: extreme_reals_test.cc.
  known.insert({"BatchNormalization", "InstanceNormalization", "ReLU", "ELU", "LeakyReLU",
                "Rescaling", "SpatialDropout2D", "SpatialDropout3D", "StochasticDepth",
                "GaussianNoise"});
  std::ifstream file(PANDO_SOURCE_DIR "/src/pando/nn/layers.h");
  int layers = 0;
  for (std::string line; std::getline(file, line);) {
    const bool is_layer = line.starts_with("Layer ");
    const bool has_numbers = line.find("(NameOption") == std::string::npos &&
                             line.find("(MatMulOptions") == std::string::npos &&
                             line.find("Layer Activation(") == std::string::npos;
    if (!is_layer || !has_numbers) continue;
    const std::string name = line.substr(6, line.find('(') - 6);
    EXPECT_TRUE(known.contains(name)) << name << " has no case of extreme numbers";
    ++layers;
  }
  EXPECT_GT(layers, 35);
}

}  // namespace

std::vector<LayerCase> other_layer_cases() {
  std::vector<LayerCase> cases;
  add_enlarging(cases);
  add_separable(cases);
  add_borders(cases);
  add_sizes(cases);
  add_axes(cases);
  return cases;
}

}  // namespace pando
