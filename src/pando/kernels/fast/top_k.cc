// Whether the label is among the k largest predictions of a sample, or the share of its pixels.
// SPDX-License-Identifier: MIT
#include "pando/base/multiversion.h"
#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/support.h"

namespace pando::kernels {
namespace {

// Compares a row of scores with the score of the label, in one pass of additions.
struct Standing {
  int32_t greater = 0;      // scores above the label's
  int32_t equal_first = 0;  // equal to it, at a lower class
  int32_t not_numbers = 0;
};

PANDO_MULTIVERSION Standing rank_label(const float* scores, int32_t classes, int32_t label) {
  const float mine = scores[label];
  int32_t greater = 0;
  int32_t equal_first = 0;
  int32_t not_numbers = 0;
  for (int32_t k = 0; k < classes; ++k) {
    greater += scores[k] > mine ? 1 : 0;
    not_numbers += scores[k] != scores[k] ? 1 : 0;
  }
  for (int32_t k = 0; k < label; ++k) equal_first += scores[k] == mine ? 1 : 0;
  return {greater, equal_first, not_numbers};
}

int32_t first_largest(const float* row, int32_t classes) {
  int32_t best = 0;
  for (int32_t k = 1; k < classes; ++k) best = row[k] > row[best] ? k : best;
  return best;
}

}  // namespace

KernelOffer fast_top_k_accuracy(const ir::Node& node) {
  const int64_t batch = node.input(0)->shape().front();
  const auto classes = static_cast<int32_t>(node.input(0)->shape().back());
  const bool sparse = node.input(1)->type().dtype == DType::i32;
  const int64_t k = ops::int_attribute(node, "k");
  const int64_t pixels =
      node.input(0)->shape().elements_from(1) / std::max<int64_t>(node.input(0)->shape().back(), 1);
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    const fast::Range samples = fast::share(step.part, batch);
    for (int64_t sample = samples.begin; sample < samples.end; ++sample) {
      int64_t hits = 0;
      int64_t labels = 0;
      for (int64_t n = sample * pixels; n < (sample + 1) * pixels; ++n) {
        const int32_t label =
            sparse ? args.in_as<int32_t>(1)[n] : first_largest(args.in(1) + n * classes, classes);
        if (label < 0 || label >= classes) continue;
        ++labels;
        const Standing standing = rank_label(args.in(0) + n * classes, classes, label);
        const bool first = k > 1 || standing.equal_first == 0;
        hits += standing.not_numbers == 0 && standing.greater < k && first ? 1 : 0;
      }
      args.out()[sample] =
          static_cast<float>(hits) / static_cast<float>(std::max<int64_t>(labels, 1));
    }
  };
  return offer_function("fast", run, fast::kSplits);
}

}  // namespace pando::kernels
