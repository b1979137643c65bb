// Compares products of 16-bit numbers that use the processor's own instructions with the reference
// kernels.
// SPDX-License-Identifier: MIT
#include "pando/kernels/onednn/native.h"

#include <cstring>

#include <gtest/gtest.h>

#include "pando/kernels/half/rounding_key.h"
#include "pando/kernels/onednn/onednn.h"
#include "pando/kernels/onednn/primitive_impl.h"
#include "pando/ops/builder.h"
#include "pando/tensor/half_rounding.h"
#include "tests/support/conv_case.h"
#include "tests/support/kernel_case.h"

namespace pando::test {
namespace {

using kernels::Candidate;
using kernels::KernelOffer;

// bf16 has 8 bits of precision. f32 results may round to neighbouring values, and each part of a
// sum is rounded separately.
constexpr double kTolerance = 0x1p-8;
constexpr double kPartsTolerance = 0x1p-6;

using Offer = KernelOffer (*)(const ir::Node&);

// The offers without the rule that leaves some shapes to other candidates.
Offer every_shape(const std::string& op) {
  if (op == "conv") return kernels::onednn_conv;
  if (op == "conv_input_grad") return kernels::onednn_conv_input_grad;
  if (op == "conv_transpose") return kernels::onednn_conv_transpose;
  if (op == "conv_filter_grad") return kernels::onednn_conv_filter_grad;
  if (op == "dense") return kernels::onednn_dense;
  if (op == "dense_input_grad") return kernels::onednn_dense_input_grad;
  return kernels::onednn_dense_filter_grad;
}

Candidate native_candidate(const std::string& op) {
  return {"native", every_shape(op), [](const ir::Node&, WinogradTiles) { return std::string(); }};
}

KernelOffer offer_native(const BoundCase& bound) {
  return kernels::offer_kernel(native_candidate(bound.node().op()), bound.node());
}

// Returns whether oneDNN offered a kernel. If so, checks that it agrees with the reference, as a
// whole and in parts.
bool agrees(const KernelCase& kernel_case) {
  const BoundCase bound = BoundCase(kernel_case).lowered(DType::bf16);
  const KernelOffer offer = offer_native(bound);
  if (offer.kernel == nullptr) {
    EXPECT_FALSE(offer.refusal.empty());
    return false;
  }
  EXPECT_EQ(offer.kernel->name().rfind("bf16:onednn:", 0), 0u) << offer.kernel->name();
  const kernels::StepArgs step = bound.step({});
  const std::vector<Buffer> wanted = bound.run(bound.offer("reference"), step);
  expect_close(bound.node(), bound.run(offer, step), wanted, kTolerance, offer.kernel->name());
  expect_close(bound.node(), bound.run_parts(offer, step, 3), wanted, kPartsTolerance,
               offer.kernel->name() + " in parts");
  return true;
}

const std::vector<ConvCase>& native_conv_cases() {
  static const std::string same = "same";
  static const std::vector<ConvCase> cases = {
      {{3, 8, 8, 3}, {3, 3, 3, 16}, {{"padding", same}}},
      {{2, 7, 9, 5}, {2, 3, 5, 17}, {{"padding", same}, {"strides", ir::Ints{2, 2}}}},
      {{7, 32, 32, 16}, {3, 3, 16, 16}, {{"padding", same}}},  // the last tile is smaller
      {{5, 8, 8, 16}, {1, 1, 16, 32}, {{"strides", ir::Ints{2, 2}}}},
      {{2, 9, 9, 6}, {3, 3, 6, 8}, {{"dilations", ir::Ints{2, 2}}}},
      {{2, 7, 7, 32}, {3, 3, 16, 32}, {{"groups", int64_t{2}}, {"padding", same}}},
      {{1, 5, 6, 4, 16}, {2, 2, 2, 16, 16}, {{"padding", same}}},
      {{3, 13, 15, 33}, {3, 3, 33, 48}},
      {{2, 23, 23, 3}, {7, 7, 3, 64}, {{"padding", same}, {"strides", ir::Ints{2, 2}}}},
  };
  return cases;
}

class Native : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string reason = kernels::why_not_native(DType::bf16);
    if (!reason.empty()) GTEST_SKIP() << reason;
  }
};

TEST_F(Native, ConvolutionsAgree) {
  int offered = 0;
  for (const ConvCase& c : native_conv_cases()) {
    for (const char* activation : {"none", "relu", "leaky_relu"}) {
      offered += agrees(conv(c, true, activation)) ? 1 : 0;
    }
    offered += agrees(conv(c, false)) ? 1 : 0;
  }
  EXPECT_GE(offered, 2 * static_cast<int>(native_conv_cases().size()));
}

TEST_F(Native, ConvolutionsWithResidualAgree) {
  int offered = 0;
  std::vector<ConvCase> cases = native_conv_cases();
  cases.push_back({{2, 6, 6, 32}, {1, 1, 32, 48}});
  cases.push_back({{2, 6, 6, 16}, {1, 1, 16, 64}});
  cases.push_back({{2, 6, 6, 32}, {3, 3, 32, 32}, {{"padding", std::string("same")}}});
  for (const ConvCase& c : cases) {
    for (const char* activation : {"none", "relu"}) {
      KernelCase residual = conv(c, true, activation);
      residual.inputs.push_back(BoundCase(residual).node().output()->type());
      offered += agrees(residual) ? 1 : 0;
    }
  }
  EXPECT_GE(offered, static_cast<int>(cases.size()));
}

TEST_F(Native, GradientsOfConvolutionsAgree) {
  int offered = 0;
  for (const ConvCase& c : native_conv_cases()) {
    const ir::TensorType y = BoundCase(conv(c, false)).node().output()->type();
    KernelCase input{
        .op = "conv_input_grad", .inputs = {y, f32(c.filter)}, .attributes = c.attributes};
    input.attributes.set("input", ir::Ints(c.x.begin() + 1, c.x.end() - 1));
    offered += agrees(input) ? 1 : 0;
    KernelCase kernel{
        .op = "conv_filter_grad", .inputs = {f32(c.x), y}, .attributes = c.attributes};
    kernel.attributes.set("filter", ir::Ints(c.filter.begin(), c.filter.end() - 2));
    for (const int outputs : {1, 2}) {
      kernel.outputs = outputs;
      offered += agrees(kernel) ? 1 : 0;
    }
  }
  EXPECT_GE(offered, static_cast<int>(native_conv_cases().size()));
}

TEST_F(Native, TransposedConvolutionsAgree) {
  int offered = 0;
  std::vector<ConvCase> cases = native_conv_cases();
  cases.push_back({{3, 16, 12, 32}, {2, 2, 32, 64}, {{"strides", ir::Ints{2, 2}}}});
  for (const ConvCase& c : cases) {
    KernelCase transposed{.op = "conv_transpose",
                          .inputs = {BoundCase(conv(c, false)).node().output()->type(),
                                     f32(c.filter), f32({c.x.back()})},
                          .attributes = c.attributes};
    transposed.attributes.set("output", ir::Ints(c.x.begin() + 1, c.x.end() - 1));
    transposed.attributes.set("activation", std::string("relu"));
    offered += agrees(transposed) ? 1 : 0;
  }
  EXPECT_GE(offered, static_cast<int>(cases.size()) / 2);
}

TEST_F(Native, DenseLayersAgree) {
  int offered = 0;
  for (const DenseCase& d : {DenseCase{1, 400, 10}, DenseCase{7, 33, 17}, DenseCase{64, 128, 10},
                             DenseCase{5, 3, 40}, DenseCase{37, 2048, 1000}}) {
    const ir::TensorType x = f32({d.batch, d.features});
    const ir::TensorType y = f32({d.batch, d.units});
    const ir::TensorType kernel = f32({d.features, d.units});
    for (const char* activation : {"none", "relu"}) {
      offered += agrees({.op = "dense",
                         .inputs = {x, kernel, f32({d.units})},
                         .attributes = {{"activation", std::string(activation)}}});
    }
    offered += agrees({.op = "dense_input_grad", .inputs = {y, kernel}});
    for (const int outputs : {1, 2}) {
      offered += agrees({.op = "dense_filter_grad", .inputs = {x, y}, .outputs = outputs});
    }
  }
  EXPECT_GE(offered, 5);
}

// With whole numbers every sum is exact in any order, so only the noise of a sample decides.
TEST_F(Native, StochasticRoundingIsThatOfTheReference) {
  const ConvCase c{{5, 16, 16, 32}, {3, 3, 32, 32}, {{"padding", std::string("same")}}};
  BoundCase wide(conv(c, true, "relu"));
  for (const int input : {0, 1, 2}) {
    wide.map_input(input, [](float v) { return static_cast<float>(static_cast<int>(8 * v)); });
  }
  BoundCase bound = wide.lowered(DType::bf16);
  bound.attributes().set("half_rounding", std::string("stochastic"));
  bound.attributes().set("half_stream", int64_t{3});
  const KernelOffer offer = offer_native(bound);
  ASSERT_NE(offer.kernel, nullptr) << offer.refusal;
  const kernels::StepArgs step = bound.step({.first_sample = 11});
  const std::vector<Buffer> wanted = bound.run(bound.offer("reference"), step);
  const std::vector<Buffer> got = bound.run(offer, step);
  EXPECT_EQ(std::memcmp(got[0].data(), wanted[0].data(), wanted[0].size()), 0);
}

TEST_F(Native, WeightsStayIn16BitsWhenPacked) {
  const ConvCase c{{2, 8, 8, 32}, {3, 3, 32, 32}, {{"padding", std::string("same")}}};
  const BoundCase bound = BoundCase(conv(c, false)).lowered(DType::bf16);
  const KernelOffer offer = offer_native(bound);
  ASSERT_NE(offer.kernel, nullptr) << offer.refusal;
  ASSERT_EQ(offer.packings.size(), 1u);
  EXPECT_EQ(offer.packings[0].dtype, DType::bf16);
  EXPECT_EQ(offer.packings[0].layout.elements, 3 * 3 * 32 * 32);
}

// The packer of a variable that is stored in f32 rounds it.
TEST_F(Native, PackersRoundVariablesOfF32) {
  ir::Graph graph;
  ir::Value* x = graph.add_input("x", ir::InputRole::feed, f32({2, 8, 8, 32}));
  ir::Value* kernel = graph.add_input("k", ir::InputRole::variable, f32({3, 3, 32, 32}));
  ir::Node* rounded = ops::append(
      graph,
      {.op = "round_variable", .inputs = {kernel}, .attributes = {{"dtype", std::string("bf16")}}});
  rounded->attributes().set("half_rounding", std::string("stochastic"));
  rounded->attributes().set("half_stream", int64_t{5});
  const Shape shape = kernel->shape();
  rounded->output()->set_type(f32(shape));
  ir::Node* node = ops::append(graph, {.op = "conv", .inputs = {x, rounded->output()}});
  for (ir::Value* value : {x, rounded->output(), node->output()}) {
    value->set_type({DType::bf16, value->shape()});
  }
  const KernelOffer offer = kernels::offer_kernel(native_candidate("conv"), *node);
  ASSERT_NE(offer.kernel, nullptr) << offer.refusal;
  ASSERT_EQ(offer.packings.size(), 1u);

  const int64_t count = shape.elements();
  Buffer wide(static_cast<size_t>(count) * sizeof(float));
  for (int64_t i = 0; i < count; ++i) wide.floats()[i] = 1 + static_cast<float>(i) * 0x1p-14f;
  Buffer narrow(static_cast<size_t>(count) * sizeof(uint16_t));
  const kernels::StepArgs step{.seed = 3};
  round_halves(DType::bf16, wide.floats(), reinterpret_cast<uint16_t*>(narrow.data()), count,
               kernels::half::NodeRounding(*rounded).of(step, 0));
  const auto packed = [&](const kernels::Packing& packing, const Buffer& from) {
    Buffer to(static_cast<size_t>(packing.layout.elements) * size_of(packing.dtype));
    Buffer scratch(packing.packer->scratch_bytes());
    const std::byte* in[] = {from.data()};
    std::byte* out[] = {to.data()};
    packing.packer->run({in, out, scratch.data(), 1}, step);
    EXPECT_TRUE(scratch.guard_intact());
    return to;
  };
  const ConvCase c{{2, 8, 8, 32}, {3, 3, 32, 32}};
  const BoundCase half_variable = BoundCase(conv(c, false)).lowered(DType::bf16);
  const Buffer got = packed(offer.packings[0], wide);
  const Buffer wanted = packed(offer_native(half_variable).packings[0], narrow);
  ASSERT_EQ(got.size(), wanted.size());
  EXPECT_EQ(std::memcmp(got.data(), wanted.data(), wanted.size()), 0);
}

// The division of a batch into slices and tiles does not change results.
TEST_F(Native, SamplesDoNotDependOnTheirNeighbours) {
  for (const ConvCase& one : native_conv_cases()) {
    ConvCase six = one;
    ConvCase alone = one;
    six.x[0] = 6;
    alone.x[0] = 1;
    BoundCase all = BoundCase(conv(six, true, "relu")).lowered(DType::bf16);
    BoundCase first = BoundCase(conv(alone, true, "relu")).lowered(DType::bf16);
    const KernelOffer offer = offer_native(all);
    const KernelOffer offer_one = offer_native(first);
    if (offer.kernel == nullptr || offer_one.kernel == nullptr) continue;
    for (const int input : {0, 1, 2}) {
      const Buffer& from = all.input(input);
      std::memcpy(first.input(input).data(), from.data(), first.input(input).size());
    }
    const std::vector<Buffer> wanted = all.run(offer, all.step({}));
    const std::vector<Buffer> got = first.run(offer_one, first.step({}));
    EXPECT_EQ(std::memcmp(got[0].data(), wanted[0].data(), got[0].size()), 0)
        << to_string(first.node().input(0)->type()) << ": " << offer.kernel->name() << ", "
        << offer_one.kernel->name();
  }
}

// Why the candidate refuses a node with operands of bf16 if the options allow such tiles of
// Winograd.
std::string native_refusal(const KernelCase& kernel_case, WinogradTiles most) {
  const BoundCase bound = BoundCase(kernel_case).lowered(DType::bf16);
  for (const Candidate& candidate : kernels::candidates(kernel_case.op)) {
    if (candidate.name != "native") continue;
    return kernels::offer_kernel(candidate, bound.node(), most).refusal;
  }
  return "no such candidate";
}

KernelCase conv_3x3(const std::string& op, int64_t size, int64_t channels) {
  const ir::TensorType x = f32({2, size, size, channels});
  KernelCase result{.op = op,
                    .inputs = {x, f32({3, 3, channels, channels})},
                    .attributes = {{"padding", std::string("same")}}};
  if (op == "conv_filter_grad") {
    result.inputs[1] = x;
    result.attributes.set("filter", ir::Ints{3, 3});
  }
  if (op == "conv_input_grad") result.attributes.set("input", ir::Ints{size, size});
  return result;
}

TEST_F(Native, FilterGradientsOfFewProductsAreLeftToOthers) {
  const auto dense = [](int64_t batch) {
    return KernelCase{.op = "dense_filter_grad", .inputs = {f32({batch, 64}), f32({batch, 16})}};
  };
  EXPECT_NE(native_refusal(dense(16), WinogradTiles::up_to_4).find("64 rows"), std::string::npos);
  EXPECT_EQ(native_refusal(dense(64), WinogradTiles::up_to_4), "");
  const KernelCase short_rows = conv_3x3("conv_filter_grad", 8, 64);
  EXPECT_NE(native_refusal(short_rows, WinogradTiles::up_to_2).find("rows shorter"),
            std::string::npos);
  EXPECT_EQ(native_refusal(conv_3x3("conv_filter_grad", 16, 64), WinogradTiles::up_to_2), "");
}

TEST_F(Native, YieldsToTilesOf4x4) {
  for (const char* op : {"conv", "conv_input_grad", "conv_filter_grad"}) {
    const KernelCase saves = conv_3x3(op, 16, 64);
    EXPECT_NE(native_refusal(saves, WinogradTiles::up_to_4).find("4x4"), std::string::npos) << op;
    EXPECT_EQ(native_refusal(saves, WinogradTiles::up_to_2), "") << op;
    // 14x14 outputs fill their tiles badly.
    EXPECT_EQ(native_refusal(conv_3x3(op, 14, 64), WinogradTiles::up_to_4), "") << op;
  }
  // Transforming few channels costs much.
  EXPECT_EQ(native_refusal(conv_3x3("conv", 32, 16), WinogradTiles::up_to_4), "");
  EXPECT_EQ(native_refusal(conv_3x3("conv_input_grad", 32, 16), WinogradTiles::up_to_4), "");
}

TEST_F(Native, YieldsToNoTilesThatTheOptionsForbid) {
  for (const int64_t size : {8, 16, 32}) {
    for (const char* op : {"conv", "conv_input_grad", "conv_filter_grad"}) {
      EXPECT_EQ(native_refusal(conv_3x3(op, size, 64), WinogradTiles::off), "") << op << size;
    }
  }
}

TEST_F(Native, HalfPartialsAreLeftToOthers) {
  const ConvCase c{{2, 8, 8, 32}, {3, 3, 32, 32}};
  BoundCase bound = BoundCase(conv(c, false)).lowered(DType::bf16);
  bound.attributes().set("half_partials", int64_t{1});
  EXPECT_NE(offer_native(bound).refusal.find("partial sums"), std::string::npos);
}

TEST(NativeRefusals, OperandsOfF32) {
  const ConvCase c{{2, 8, 8, 32}, {3, 3, 32, 32}};
  const BoundCase bound(conv(c, false));
  EXPECT_NE(bound.offer("native").refusal.find("16 bits"), std::string::npos);
}

TEST(NativeRefusals, SayThatTheProcessorHasNoInstructions) {
  const std::string reason = kernels::why_not_native(DType::bf16);
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto bf16 = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
  if ((isa & bf16) != bf16) {
    EXPECT_FALSE(reason.empty());
  } else {
    EXPECT_TRUE(reason.empty() || reason.find("avx512") != std::string::npos) << reason;
  }
}

// oneDNN either multiplies f16 in agreement with the reference, or refuses, depending on the
// processor.
TEST(NativeRefusals, F16IsOfferedOrRefusedByTheLibrary) {
  const ConvCase c{{2, 8, 8, 32}, {3, 3, 32, 32}};
  const BoundCase bound = BoundCase(conv(c, false)).lowered(DType::f16);
  const KernelOffer offer = bound.offer("native");
  if (offer.kernel == nullptr) {
    EXPECT_FALSE(offer.refusal.empty());
    return;
  }
  const kernels::StepArgs step = bound.step({});
  expect_close(bound.node(), bound.run(offer, step), bound.run(bound.offer("reference"), step),
               0x1p-10, offer.kernel->name());
}

}  // namespace
}  // namespace pando::test
