// SPDX-License-Identifier: MIT
#include "pando/kernels/sample_tiles.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "pando/base/error.h"
#include "pando/kernels/fast/support.h"
#include "pando/kernels/half/cutting.h"
#include "pando/kernels/half/tile_sums.h"
#include "pando/ops/op.h"

namespace pando::kernels {
namespace {

constexpr size_t kMostTileOperands = 16;

half::Cut cut_by_samples(const ir::Node& node, const SampleCut& cut) {
  half::Cut shares{.unit = half::Unit::sample, .units = cut.samples};
  for (const bool rows : cut.rows) {
    shares.inputs.push_back(rows ? half::Share::rows : half::Share::whole);
    shares.kept.push_back(false);
  }
  shares.outputs.assign(node.outputs().size(), half::Share::rows);
  return shares;
}

class SampleTileKernel : public Kernel {
 public:
  SampleTileKernel(const ir::Node& node, const SampleTile& tile,
                   std::shared_ptr<const Kernel> kernel)
      : tile_(tile), kernel_(std::move(kernel)) {
    const SampleCut cut = sample_cut(node);
    PANDO_CHECK(cut.samples > 0 && cut.rows.size() <= kMostTileOperands, node.label(),
                " cannot be cut into tiles of samples");
    for (size_t i = 0; i < cut.rows.size(); ++i) {
      const size_t bytes = node.input(static_cast<int>(i))->bytes();
      sample_bytes_.push_back(cut.rows[i] ? bytes / static_cast<size_t>(cut.samples) : 0);
    }
    PANDO_CHECK(cut.sums || tile.each == tile.samples, node.label(), " has no sums to add up");
    if (!cut.sums) return;
    sums_ = ops::has_trait(node, ops::Trait::moments) ? half::Share::moments : half::Share::sum;
    for (const ir::Value* value : node.outputs()) elements_.push_back(value->shape().elements());
    PANDO_CHECK(elements_.size() <= kMostTileOperands, node.label(), " has too many sums");
  }

  std::string name() const override { return kernel_->name(); }
  size_t scratch_bytes() const override {
    fast::ScratchCutter plan;
    plan.bytes(kernel_->scratch_bytes());
    for (const int64_t elements : elements_) plan.floats(elements);
    return plan.used();
  }

  void run(const KernelArgs& args, const StepArgs& step) const override {
    for (int64_t at = 0; at < tile_.samples; at += tile_.each) run_each(args, step, at);
  }

 private:
  void run_each(const KernelArgs& args, const StepArgs& step, int64_t at) const {
    const int64_t first = tile_.first + at;
    StepArgs inner = step;
    inner.valid = std::clamp<int64_t>(step.valid - first, 0, tile_.each);
    inner.first_sample += first;
    std::array<const std::byte*, kMostTileOperands> inputs;
    for (size_t i = 0; i < sample_bytes_.size(); ++i) {
      inputs[i] = args.inputs[i] + static_cast<size_t>(at) * sample_bytes_[i];
    }
    KernelArgs of_tile = args;
    of_tile.inputs = inputs.data();
    if (elements_.empty()) return kernel_->run(of_tile, inner);
    add_sums(of_tile, inner, first == 0);
  }

  // The sum over no samples is 0, whatever a network computed of padding.
  void add_sums(KernelArgs args, const StepArgs& step, bool opens) const {
    if (step.valid == 0) {
      for (size_t i = 0; opens && i < elements_.size(); ++i) {
        std::fill_n(args.out(static_cast<int>(i)), elements_[i], 0.0f);
      }
      return;
    }
    if (opens) return kernel_->run(args, step);
    std::byte* const* totals = args.outputs;
    fast::ScratchCutter cutter(args.scratch);
    args.scratch = cutter.bytes(kernel_->scratch_bytes());
    std::array<std::byte*, kMostTileOperands> newest;
    for (size_t i = 0; i < elements_.size(); ++i) {
      newest[i] = reinterpret_cast<std::byte*>(cutter.floats(elements_[i]));
    }
    args.outputs = newest.data();
    kernel_->run(args, step);
    for (size_t i = 0; i < elements_.size(); ++i) {
      half::add_tile(sums_, reinterpret_cast<float*>(totals[i]),
                     reinterpret_cast<const float*>(newest[i]), elements_[i]);
    }
  }

  SampleTile tile_;
  std::shared_ptr<const Kernel> kernel_;
  std::vector<size_t> sample_bytes_;  // of each input; 0: it has no samples
  half::Share sums_ = half::Share::sum;
  std::vector<int64_t> elements_;  // of each sum; empty: the outputs have samples
};

bool has_samples(const ir::Value& value, int64_t samples) {
  return value.shape().rank() > 0 && value.shape()[0] == samples;
}

}  // namespace

SampleCut sample_cut(const ir::Node& node) {
  for (const ops::Trait trait :
       {ops::Trait::view, ops::Trait::per_update, ops::Trait::gathers_slices}) {
    if (ops::has_trait(node, trait)) return {};
  }
  SampleCut cut{.sums = ops::has_trait(node, ops::Trait::batch_sum)};
  for (int i = 0; i < node.num_inputs(); ++i) {
    const bool rows = !ops::input_spec(node, i).shared;
    cut.rows.push_back(rows);
    if (!rows) continue;
    // Losses and metrics keep f32 at every precision, so no kernel ever cuts them into tiles.
    if (ops::is_exact_input(node, i)) return {};
    if (cut.samples == 0 && node.input(i)->shape().rank() > 0) {
      cut.samples = node.input(i)->shape()[0];
    }
    if (!has_samples(*node.input(i), cut.samples)) return {};
  }
  for (int i = 0; i < node.num_outputs() && !cut.sums; ++i) {
    const bool rows = has_samples(*node.output(i), cut.samples) && !ops::is_exact_output(node, i);
    if (!rows) return {};
  }
  return cut.rows.size() <= kMostTileOperands ? cut : SampleCut{};
}

std::shared_ptr<const Kernel> kernel_for_samples(const Candidate& candidate, const ir::Node& node,
                                                 int64_t samples, WinogradTiles most) {
  const SampleCut cut = sample_cut(node);
  const half::Twin twin(node, cut_by_samples(node, cut), samples);
  const KernelOffer offer = offer_any_kernel(candidate, twin.node(), most);
  if (offer.kernel == nullptr) return nullptr;
  for (int i = 0; i < node.num_inputs(); ++i) {
    const ir::Layout& layout = node.input(i)->layout();
    const auto packing = std::find_if(offer.packings.begin(), offer.packings.end(),
                                      [i](const Packing& packed) { return packed.input == i; });
    const bool packs = packing != offer.packings.end();
    if (packs ? packing->layout != layout : !layout.plain()) return nullptr;
  }
  return offer.kernel;
}

std::shared_ptr<const Kernel> tile_kernel(const ir::Node& node, const SampleTile& tile,
                                          std::shared_ptr<const Kernel> kernel) {
  return std::make_shared<SampleTileKernel>(node, tile, std::move(kernel));
}

}  // namespace pando::kernels
