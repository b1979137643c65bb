// Compares the fast kernels of batch and group normalisation with the reference.
// SPDX-License-Identifier: MIT
#include <cmath>

#include <gtest/gtest.h>

#include "pando/kernels/fast/channel_rows.h"
#include "tests/support/conv_case.h"

namespace pando::test {
namespace {

const std::vector<Shape>& norm_shapes() {
  static const std::vector<Shape> list = {
      {1, 1, 1, 1},   {3, 5, 7, 3}, {4, 9, 3, 5},    {2, 6, 6, 17},   {3, 8, 8, 16}, {2, 5, 5, 32},
      {3, 40, 33, 1}, {3, 100},     {2, 3, 4, 5, 6}, {4, 16, 16, 64}, {3, 4, 4, 200}};
  return list;
}

float positive(float x) { return std::abs(x) + 0.1f; }

std::vector<int64_t> valid_counts(const Shape& shape) {
  return {shape.front(), shape.front() - 1, 0};
}

TEST(FastNorm, ChannelSumsAgree) {
  for (const Shape& shape : norm_shapes()) {
    const BoundCase bound({.op = "channel_sums", .inputs = {f32(shape)}});
    EXPECT_EQ(bound.expect_agreement(), 1);
  }
}

TEST(FastNorm, BatchMomentsAgree) {
  for (const Shape& shape : norm_shapes()) {
    BoundCase bound({.op = "batch_moments", .inputs = {f32(shape)}});
    for (const int64_t valid : valid_counts(shape)) {
      EXPECT_EQ(bound.expect_agreement({.valid = valid}), 1);
    }
  }
}

// The mean is ten thousand deviations away from zero: plain sums of squares would lose all
// precision.
TEST(FastNorm, BatchMomentsStayAccurateFarFromZero) {
  for (const Shape& shape : {Shape{4, 32, 32, 16}, Shape{8, 30, 31, 3}}) {
    BoundCase bound({.op = "batch_moments", .inputs = {f32(shape)}});
    bound.map_input(0, [](float x) { return 1e4f + x; });
    const auto step = bound.step({});
    const auto wanted = bound.run(bound.offer("reference"), step);
    const auto got = bound.run(bound.offer("fast"), step);
    for (int64_t c = 0; c < 2 * shape.back(); ++c) {
      EXPECT_NEAR(got[0].floats()[c], wanted[0].floats()[c], 1e-4f * wanted[0].floats()[c]);
    }
  }
}

TEST(FastNorm, CombineMomentsAgrees) {
  // The slices are inputs of the call, not of the node.
  const int64_t channels = 5;
  BoundCase bound({.op = "combine_moments", .inputs = {f32({2 * channels + 1})}, .outputs = 3});
  std::vector<Buffer> slices;
  for (const float count : {8.0f, 0.0f, 3.0f, 1.0f}) {
    Buffer& slice = slices.emplace_back(bound.input(0).size());
    for (int64_t c = 0; c < channels; ++c) {
      slice.floats()[c] = count * 0.5f + static_cast<float>(c);
      slice.floats()[channels + c] = count > 1 ? count * 2 + static_cast<float>(c) : 0;
    }
    slice.floats()[2 * channels] = count;
  }
  for (const size_t used : {size_t{4}, size_t{2}}) {
    std::vector<const std::byte*> in;
    for (size_t i = 0; i < used; ++i) in.push_back(slices[slices.size() - 1 - i].data());
    std::vector<std::vector<Buffer>> results;
    for (const char* candidate : {"reference", "fast"}) {
      auto& outputs = results.emplace_back();
      std::vector<std::byte*> out;
      for (int i = 0; i < 3; ++i) outputs.emplace_back(channels * sizeof(float));
      for (Buffer& buffer : outputs) out.push_back(buffer.data());
      bound.offer(candidate).kernel->run({in.data(), out.data(), nullptr, static_cast<int>(used)},
                                         {});
    }
    expect_close(bound.node(), results[1], results[0], 1e-6, "fast");
  }
}

TEST(FastNorm, BatchNormAgrees) {
  for (const Shape& shape : norm_shapes()) {
    const ir::TensorType channel = f32({shape.back()});
    for (const std::string& activation : all_activations()) {
      BoundCase bound(
          {.op = "batch_norm",
           .inputs = {f32(shape), channel, channel, channel, channel},
           .attributes = {{"epsilon", 0.01}, {"activation", activation}, {"alpha", 0.5}}});
      bound.map_input(2, positive);
      bound.map_input(3, [](float x) { return 4 * x; });
      EXPECT_EQ(bound.expect_agreement(), 1);
    }
  }
}

TEST(FastNorm, FoldBatchNormAgrees) {
  for (const Shape& filter : {Shape{3, 3, 5, 17}, Shape{1, 1, 64, 32}, Shape{7, 3}, Shape{1, 1}}) {
    const ir::TensorType channel = f32({filter.back()});
    for (const bool bias : {false, true}) {
      KernelCase fold{.op = "fold_batch_norm",
                      .inputs = {f32(filter), channel, channel, channel, channel},
                      .attributes = {{"epsilon", 0.01}},
                      .outputs = 2};
      if (bias) fold.inputs.push_back(channel);
      BoundCase bound(fold);
      bound.map_input(2, positive);
      EXPECT_EQ(bound.expect_agreement({.half = false}), 1);
    }
  }
  const ir::TensorType channel = f32({5});
  BoundCase transposed({.op = "fold_batch_norm",
                        .inputs = {f32({3, 3, 5, 17}), channel, channel, channel, channel},
                        .attributes = {{"epsilon", 0.01}, {"transposed", int64_t{1}}},
                        .outputs = 2});
  transposed.map_input(2, positive);
  EXPECT_EQ(transposed.expect_agreement({.half = false}), 1);
}

TEST(FastNorm, FoldScaleAgrees) {
  for (const Shape& filter : {Shape{3, 3, 5, 17}, Shape{1, 1, 64, 32}, Shape{7, 3}, Shape{1, 1}}) {
    for (const char* of : {"result", "input"}) {
      for (const bool bias : {false, true}) {
        KernelCase fold{.op = "fold_scale",
                        .inputs = {f32(filter)},
                        .attributes = {{"factor", 1.5}, {"offset", -0.25}, {"of", std::string(of)}},
                        .outputs = 2};
        if (bias) fold.inputs.push_back(f32({filter.back()}));
        EXPECT_EQ(BoundCase(fold).expect_agreement({.half = false}), 1);
      }
    }
  }
}

TEST(FastNorm, BatchNormSumsAgree) {
  for (const Shape& shape : norm_shapes()) {
    const ir::TensorType channel = f32({shape.back()});
    for (const std::string mask : {"none", "relu", "relu6"}) {
      KernelCase sums{.op = "batch_norm_sums",
                      .inputs = {f32(shape), f32(shape), channel, channel},
                      .outputs = 2};
      if (mask != "none") {
        sums.inputs.insert(sums.inputs.end(), 2, channel);
        sums.attributes.set("activation", mask);
      }
      BoundCase bound(sums);
      bound.map_input(3, positive);
      if (mask != "none") bound.map_input(4, [](float gamma) { return 6 * gamma; });
      for (const int64_t valid : valid_counts(shape)) {
        EXPECT_EQ(bound.expect_agreement({.valid = valid}), 1);
      }
    }
  }
}

TEST(FastNorm, BatchNormInputGradAgrees) {
  for (const Shape& shape : norm_shapes()) {
    const ir::TensorType channel = f32({shape.back()});
    for (const std::string mask : {"none", "relu", "relu6"}) {
      for (const bool totals : {false, true}) {
        KernelCase grad{.op = "batch_norm_input_grad",
                        .inputs = {f32(shape), f32(shape), channel, channel, channel}};
        if (totals) grad.inputs.insert(grad.inputs.end(), 2, channel);
        if (mask != "none") {
          grad.inputs.push_back(channel);
          grad.attributes.set("activation", mask);
        }
        BoundCase bound(grad);
        bound.map_input(3, positive);
        if (mask != "none") bound.map_input(4, [](float gamma) { return 6 * gamma; });
        for (const int64_t valid : valid_counts(shape)) {
          if (valid > 0) {
            EXPECT_EQ(bound.expect_agreement({.valid = valid}), 1);
          }
        }
      }
    }
  }
}

TEST(FastNorm, GroupNormAgrees) {
  for (const Shape& shape : {Shape{1, 1, 1, 2}, Shape{2, 5, 7, 6}, Shape{3, 8, 8, 16},
                             Shape{2, 3, 4, 5, 15}, Shape{2, 9, 9, 64}}) {
    const int64_t channels = shape.back();
    for (const int64_t groups : {int64_t{1}, channels % 3 == 0 ? 3 : channels / 2, channels}) {
      for (const int64_t strided : {int64_t{0}, int64_t{1}}) {
        const ir::Attributes attributes{{"groups", groups}, {"strided", strided}};
        const ir::TensorType channel = f32({channels});
        const ir::TensorType group = f32({shape.front(), groups});
        BoundCase forward({.op = "group_norm",
                           .inputs = {f32(shape), channel, channel},
                           .attributes = attributes,
                           .outputs = 3});
        forward.map_input(0, [](float x) { return x + 3; });
        EXPECT_EQ(forward.expect_agreement({.tolerance = 2e-5}), 1);
        BoundCase sums({.op = "group_norm_sums",
                        .inputs = {f32(shape), f32(shape), group, group},
                        .attributes = attributes,
                        .outputs = 2});
        EXPECT_EQ(sums.expect_agreement(), 1);
        EXPECT_EQ(sums.expect_agreement({.valid = shape.front() - 1}), 1);
        BoundCase grad({.op = "group_norm_input_grad",
                        .inputs = {f32(shape), f32(shape), group, group, channel},
                        .attributes = attributes});
        EXPECT_EQ(grad.expect_agreement(), 1);
      }
    }
  }
}

TEST(FastNorm, LayerNormAgrees) {
  struct LayerShape {
    Shape x;
    int axes;
  };
  for (const auto& [x, axes] :
       {LayerShape{{1, 1}, 1}, LayerShape{{2, 5, 7, 6}, 1}, LayerShape{{3, 8, 8, 96}, 1},
        LayerShape{{2, 3, 4, 5, 17}, 2}, LayerShape{{2, 9, 9, 64}, 3}, LayerShape{{5, 200}, 1}}) {
    const ir::TensorType row = f32(Shape(std::vector<int64_t>(x.end() - axes, x.end())));
    const ir::TensorType statistic =
        f32({x.front(), x.elements_from(1) / std::max<int64_t>(row.shape.elements(), 1)});
    for (const int64_t weights : {0, 1}) {
      ir::Attributes attributes{{"axes", int64_t{axes}}, {"scale", weights}};
      KernelCase grad{.op = "layer_norm_input_grad",
                      .inputs = {f32(x), f32(x), statistic, statistic},
                      .attributes = attributes};
      if (weights == 1) grad.inputs.push_back(row);
      EXPECT_EQ(BoundCase(grad).expect_agreement(), 1);
      attributes.set("center", weights);
      KernelCase forward{
          .op = "layer_norm", .inputs = {f32(x)}, .attributes = attributes, .outputs = 3};
      if (weights == 1) forward.inputs.insert(forward.inputs.end(), 2, row);
      BoundCase bound(forward);
      bound.map_input(0, [](float value) { return value + 3; });
      EXPECT_EQ(bound.expect_agreement({.tolerance = 2e-5}), 1);
    }
    BoundCase sums({.op = "layer_norm_sums",
                    .inputs = {f32(x), f32(x), statistic, statistic},
                    .attributes = {{"axes", int64_t{axes}}},
                    .outputs = 2});
    for (const int64_t valid : valid_counts(x)) {
      EXPECT_EQ(sums.expect_agreement({.valid = valid}), 1);
    }
  }
}

// A row far from zero, longer than the runs that are summed in f32.
TEST(FastNorm, LayerNormStaysAccurateFarFromZero) {
  BoundCase bound({.op = "layer_norm",
                   .inputs = {f32({2, 9000})},
                   .attributes = {{"scale", int64_t{0}}, {"center", int64_t{0}}},
                   .outputs = 3});
  bound.map_input(0, [](float x) { return 1e4f + x; });
  const auto wanted = bound.run(bound.offer("reference"), bound.step({}));
  const auto got = bound.run(bound.offer("fast"), bound.step({}));
  for (int row = 0; row < 2; ++row) {
    EXPECT_NEAR(got[1].floats()[row], wanted[1].floats()[row], 2e-3);
    EXPECT_NEAR(got[2].floats()[row], wanted[2].floats()[row], 1e-5);
  }
}

// The same for a group: in f32 the squares of 1e4 alone would hide a variance of 1.
TEST(FastNorm, GroupNormStaysAccurateFarFromZero) {
  const Shape shape{1, 24, 24, 8};
  BoundCase bound({.op = "group_norm",
                   .inputs = {f32(shape), f32({8}), f32({8})},
                   .attributes = {{"groups", int64_t{1}}, {"strided", int64_t{0}}},
                   .outputs = 3});
  bound.map_input(0, [](float x) { return 1e4f + x; });
  const auto count = static_cast<size_t>(shape.elements());
  double mean = 0;
  for (size_t i = 0; i < count; ++i) mean += bound.input(0).floats()[i];
  mean /= static_cast<double>(count);
  double variance = 0;
  for (size_t i = 0; i < count; ++i) {
    variance += (bound.input(0).floats()[i] - mean) * (bound.input(0).floats()[i] - mean);
  }
  variance /= static_cast<double>(count);
  for (const char* candidate : {"reference", "fast"}) {
    const auto got = bound.run(bound.offer(candidate), bound.step({}));
    EXPECT_NEAR(got[1].floats()[0], mean, 1e-3) << candidate;
    EXPECT_NEAR(got[2].floats()[0] * std::sqrt(variance + 1e-3), 1, 1e-4) << candidate;
  }
}

TEST(ChannelRow, FillsWholeVectors) {
  for (const int64_t channels : {1, 2, 3, 5, 16, 17, 31, 32, 63}) {
    const kernels::fast::ChannelRow row = kernels::fast::channel_row(channels);
    EXPECT_EQ(row.length() % 16, 0) << channels;
    EXPECT_EQ(row.length() % channels, 0) << channels;
    EXPECT_GE(row.length(), 128) << channels;
  }
  EXPECT_EQ(kernels::fast::channel_row(100).length(), 100);
}

}  // namespace
}  // namespace pando::test
