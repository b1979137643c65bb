// Compares kernels of tiles of samples with the kernel of the whole node.
// SPDX-License-Identifier: MIT
#include "pando/kernels/sample_tiles.h"

#include <gtest/gtest.h>

#include "tests/support/kernel_case.h"
#include "tests/support/run_graph.h"

namespace pando::test {
namespace {

using kernels::Kernel;
using kernels::SampleCut;

constexpr int64_t kSamples = 8;

ir::Attributes same_padding() { return {{"padding", std::string("same")}}; }

std::vector<KernelCase> tiled_cases() {
  const ir::TensorType pixels = f32({kSamples, 5, 6, 4});
  const ir::TensorType numbers = f32({4});
  return {{.op = "conv", .inputs = {pixels, f32({3, 3, 4, 4})}, .attributes = same_padding()},
          {.op = "conv_filter_grad",
           .inputs = {pixels, pixels},
           .attributes = {{"padding", std::string("same")}, {"filter", ir::Ints{3, 3}}},
           .outputs = 2},
          {.op = "batch_moments", .inputs = {pixels}},
          {.op = "batch_norm", .inputs = {pixels, numbers, numbers, numbers, numbers}},
          {.op = "batch_norm_sums", .inputs = {pixels, pixels, numbers, numbers}, .outputs = 2},
          {.op = "add", .inputs = {pixels, pixels}},
          {.op = "max_pool",
           .inputs = {pixels},
           .attributes = {{"window", ir::Ints{2, 2}}},
           .outputs = 2}};
}

std::shared_ptr<const Kernel> reference_kernel(const ir::Node& node, int64_t samples) {
  return kernels::kernel_for_samples(kernels::candidates(node.op()).back(), node, samples,
                                     WinogradTiles::up_to_4);
}

// Runs all tiles of a node, one after the other.
class AllTiles : public Kernel {
 public:
  AllTiles(const ir::Node& node, int64_t samples, int64_t each)
      : node_(node), cut_(kernels::sample_cut(node)), samples_(samples) {
    const auto kernel = reference_kernel(node, each);
    for (int64_t first = 0; first < kSamples; first += samples) {
      tiles_.push_back(
          kernels::tile_kernel(node, {.first = first, .samples = samples, .each = each}, kernel));
    }
  }
  std::string name() const override { return tiles_.front()->name(); }
  size_t scratch_bytes() const override { return tiles_.back()->scratch_bytes(); }
  void run(const kernels::KernelArgs& args, const kernels::StepArgs& step) const override {
    for (size_t tile = 0; tile < tiles_.size(); ++tile) {
      const int64_t first = static_cast<int64_t>(tile) * samples_;
      std::vector<const std::byte*> inputs;
      std::vector<std::byte*> outputs;
      for (int i = 0; i < node_.num_inputs(); ++i) {
        const bool rows = cut_.rows[static_cast<size_t>(i)];
        inputs.push_back(args.inputs[i] + (rows ? offset(*node_.input(i), first) : 0));
      }
      for (int i = 0; i < node_.num_outputs(); ++i) {
        outputs.push_back(args.outputs[i] + (cut_.sums ? 0 : offset(*node_.output(i), first)));
      }
      kernels::KernelArgs of_tile = args;
      of_tile.inputs = inputs.data();
      of_tile.outputs = outputs.data();
      tiles_[tile]->run(of_tile, step);
    }
  }

 private:
  static size_t offset(const ir::Value& value, int64_t first) {
    return value.bytes() / kSamples * static_cast<size_t>(first);
  }
  const ir::Node& node_;
  SampleCut cut_;
  int64_t samples_;
  std::vector<std::shared_ptr<const Kernel>> tiles_;
};

// Variances are positive.
BoundCase bound_case(const KernelCase& wanted) {
  BoundCase bound(wanted);
  if (wanted.op.starts_with("batch_norm")) {
    bound.map_input(wanted.op == "batch_norm" ? 2 : 3, [](float x) { return x * x + 0.5f; });
  }
  return bound;
}

TEST(SampleTiles, ComputeWhatTheWholeNodeComputes) {
  for (const KernelCase& wanted : tiled_cases()) {
    SCOPED_TRACE(wanted.op);
    const BoundCase bound = bound_case(wanted);
    for (const int64_t valid : {kSamples, int64_t{3}, int64_t{0}}) {
      const kernels::StepArgs step = bound.step({.valid = valid});
      const auto whole = bound.run(bound.offer("reference"), step);
      for (const int64_t samples : {1, 2, 4}) {
        const auto tiles = std::make_shared<AllTiles>(bound.node(), samples, samples);
        // Only sums of gradients of padding are zero because their tile is left out.
        if (valid < kSamples && wanted.op == "conv_filter_grad") continue;
        expect_close(bound.node(), bound.run(kernels::offer(tiles), step), whole, 1e-5, "tiles");
      }
    }
  }
}

TEST(SampleTiles, TheTilesOfAChainDoNotChangeTheBitsOfSums) {
  for (const KernelCase& wanted : tiled_cases()) {
    SCOPED_TRACE(wanted.op);
    const BoundCase bound = bound_case(wanted);
    if (!kernels::sample_cut(bound.node()).sums) continue;
    const kernels::StepArgs step = bound.step({.valid = 7});
    const auto expected =
        bound.run(kernels::offer(std::make_shared<AllTiles>(bound.node(), kSamples, 2)), step);
    for (const int64_t samples : {2, 4}) {
      const auto tiles = std::make_shared<AllTiles>(bound.node(), samples, 2);
      expect_close(bound.node(), bound.run(kernels::offer(tiles), step), expected, 0, "tiles");
    }
  }
}

TEST(SampleTiles, TheRecordOfTheOpSaysHowItIsCut) {
  const auto cut = [](const std::string& inputs, const std::string& node) {
    const ir::Graph graph = typed_graph("graph(" + inputs + ") { " + node + " return }");
    return kernels::sample_cut(*graph.nodes()[0]);
  };
  const SampleCut conv = cut("x: f32[6,4,4,2] feed, k: f32[1,1,2,3] variable", "y = conv(x, k)");
  EXPECT_EQ(conv.samples, 6);
  EXPECT_EQ(conv.rows, (std::vector{true, false}));
  EXPECT_FALSE(conv.sums);
  const SampleCut sums = cut("x: f32[6,4] feed, dy: f32[6,3] feed", "k = dense_filter_grad(x, dy)");
  EXPECT_EQ(sums.samples, 6);
  EXPECT_TRUE(sums.sums);
  // Views, gathered values, variables and losses have no tiles.
  EXPECT_EQ(cut("x: f32[6,4] feed", "y = reshape(x) {shape=[2,2]}").samples, 0);
  EXPECT_EQ(cut("x: f32[4] feed", "y = sum_slices(x)").samples, 0);
  EXPECT_EQ(cut("x: f32[6,4] feed, y: i32[6] feed", "l = cross_entropy(x, y)").samples, 0);
}

}  // namespace
}  // namespace pando::test
