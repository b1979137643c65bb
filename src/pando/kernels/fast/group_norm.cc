// Group normalisation: statistics of each channel as in batch_norm, joined over the channels of a
// group. Samples are independent, so parts divide the samples.
// SPDX-License-Identifier: MIT
#include <cmath>

#include "pando/kernels/fast/channel_rows.h"
#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/support.h"

namespace pando::kernels {
namespace {

using fast::ChannelRow;
using fast::ChannelScratch;
using fast::PixelRows;
using fast::Range;
using fast::ScratchCutter;

// The constants of one group_norm node or gradient.
struct GroupNorm {
  explicit GroupNorm(const ir::Node& node)
      : rows(node.input(0)->shape()),
        row(fast::channel_row(rows.channels)),
        groups(ops::int_attribute(node, "groups")),
        strided(ops::int_attribute(node, "strided") != 0) {
    if (node.op() == "group_norm") epsilon = ops::number_attribute(node, "epsilon");
  }

  PixelRows rows;
  ChannelRow row;
  int64_t groups;
  bool strided;
  double epsilon = 0;  // of the forward node only

  int64_t size() const { return rows.channels / groups; }  // channels of a group
  int64_t group_of(int64_t c) const { return strided ? c % groups : c / size(); }
  int64_t channel(int64_t group, int64_t index) const {
    return strided ? index * groups + group : group * size() + index;
  }
  int64_t elements() const { return rows.pixels * rows.channels; }
};

// Scratch holds the sums of add_products or sum_moments first, then the rows to apply.
struct GroupScratch {
  GroupScratch(const GroupNorm& norm, std::byte* memory)
      : cutter(memory), sums(norm.row, cutter.bytes(ChannelScratch::bytes(norm.row))) {
    for (float*& numbers : rows) numbers = cutter.floats(norm.row.length());
  }
  static size_t bytes(const GroupNorm& norm) {
    ScratchCutter plan;
    plan.bytes(ChannelScratch::bytes(norm.row));
    for (int i = 0; i < 4; ++i) plan.floats(norm.row.length());
    return plan.used();
  }
  ScratchCutter cutter;
  ChannelScratch sums;
  float* rows[4];
};

struct GroupMoments {
  double mean = 0;
  double variance = 0;
};

GroupMoments join_channels(const GroupNorm& norm, const ChannelScratch& sums, int64_t group) {
  GroupMoments moments;
  const double size = static_cast<double>(norm.size());
  for (int64_t i = 0; i < norm.size(); ++i) moments.mean += sums.first[norm.channel(group, i)];
  moments.mean /= size;
  double squares = 0;
  for (int64_t i = 0; i < norm.size(); ++i) {
    const int64_t c = norm.channel(group, i);
    const double apart = sums.first[c] - moments.mean;
    squares += sums.second[c] + apart * apart * static_cast<double>(norm.rows.pixels);
  }
  moments.variance = squares / (size * static_cast<double>(norm.rows.pixels));
  return moments;
}

void run_forward(const GroupNorm& norm, const KernelArgs& args, const StepArgs& step) {
  GroupScratch scratch(norm, args.scratch);
  auto [center, scale, shift, unused] = scratch.rows;
  const Range samples = fast::share(step.part, norm.rows.batch);
  for (int64_t n = samples.begin; n < samples.end; ++n) {
    const float* x = args.in(0) + n * norm.elements();
    float* mean = args.out(1) + n * norm.groups;
    float* inverse = args.out(2) + n * norm.groups;
    fast::sum_moments(x, norm.rows.pixels, norm.row, scratch.sums);
    for (int64_t g = 0; g < norm.groups; ++g) {
      const GroupMoments moments = join_channels(norm, scratch.sums, g);
      mean[g] = static_cast<float>(moments.mean);
      inverse[g] = static_cast<float>(1.0 / std::sqrt(moments.variance + norm.epsilon));
    }
    for (int64_t c = 0; c < norm.rows.channels; ++c) {
      center[c] = mean[norm.group_of(c)];
      scale[c] = args.in(1)[c] * inverse[norm.group_of(c)];
      shift[c] = args.in(2)[c];
    }
    for (float* numbers : {center, scale, shift}) fast::repeat_channels(norm.row, numbers);
    fast::apply_affine(x, args.out(0) + n * norm.elements(), norm.elements(), norm.row,
                       {center, scale, shift});
  }
}

// Adds the sums over pixels of dy and of dy * (x - mean) of one sample to the totals.
void add_sample(const GroupNorm& norm, const KernelArgs& args, int64_t n, ChannelScratch& sums) {
  const float* mean = args.in(2) + n * norm.groups;
  for (int64_t c = 0; c < norm.rows.channels; ++c) sums.center[c] = mean[norm.group_of(c)];
  fast::repeat_channels(norm.row, sums.center);
  const int64_t at = n * norm.elements();
  fast::add_products({.dy = args.in(0) + at, .x = args.in(1) + at}, norm.rows.pixels, norm.row,
                     sums);
}

void run_sums(const GroupNorm& norm, const KernelArgs& args, const StepArgs& step) {
  GroupScratch scratch(norm, args.scratch);
  const int64_t channels = norm.rows.channels;
  std::fill_n(args.out(0), channels, 0.0f);
  std::fill_n(args.out(1), channels, 0.0f);
  Range samples = fast::share(step.part, norm.rows.batch);
  samples.end = std::min(samples.end, step.valid);
  for (int64_t n = samples.begin; n < samples.end; ++n) {
    fast::clear_totals(norm.row, scratch.sums);
    add_sample(norm, args, n, scratch.sums);
    const float* inverse = args.in(3) + n * norm.groups;
    for (int64_t c = 0; c < channels; ++c) {
      args.out(0)[c] += static_cast<float>(scratch.sums.first[c]);
      args.out(1)[c] += static_cast<float>(scratch.sums.second[c] * inverse[norm.group_of(c)]);
    }
  }
}

// dx = inverse * (gamma * dy - s1 / m - xhat * s2 / m), where s1 and s2 are the sums over the group
// of gamma * dy and gamma * dy * xhat, and m is the number of elements of the group.
void fill_gradient_rows(const GroupNorm& norm, const KernelArgs& args, int64_t n,
                        GroupScratch& scratch) {
  auto [center, scale, slope, shift] = scratch.rows;
  const float* gamma = args.in(4);
  const double count = static_cast<double>(norm.rows.pixels * norm.size());
  for (int64_t g = 0; g < norm.groups; ++g) {
    const double inverse = args.in(3)[n * norm.groups + g];
    double s1 = 0;
    double s2 = 0;
    for (int64_t i = 0; i < norm.size(); ++i) {
      const int64_t c = norm.channel(g, i);
      s1 += gamma[c] * scratch.sums.first[c];
      s2 += gamma[c] * scratch.sums.second[c] * inverse;
    }
    for (int64_t i = 0; i < norm.size(); ++i) {
      const int64_t c = norm.channel(g, i);
      center[c] = args.in(2)[n * norm.groups + g];
      scale[c] = static_cast<float>(gamma[c] * inverse);
      slope[c] = static_cast<float>(-inverse * inverse * s2 / count);
      shift[c] = static_cast<float>(-inverse * s1 / count);
    }
  }
  for (float* numbers : scratch.rows) fast::repeat_channels(norm.row, numbers);
}

void run_input_grad(const GroupNorm& norm, const KernelArgs& args, const StepArgs& step) {
  GroupScratch scratch(norm, args.scratch);
  const Range samples = fast::share(step.part, norm.rows.batch);
  for (int64_t n = samples.begin; n < samples.end; ++n) {
    fast::clear_totals(norm.row, scratch.sums);
    add_sample(norm, args, n, scratch.sums);
    fill_gradient_rows(norm, args, n, scratch);
    const int64_t at = n * norm.elements();
    const auto& [center, scale, slope, shift] = scratch.rows;
    fast::apply_gradient({.dy = args.in(0) + at, .x = args.in(1) + at, .dx = args.out() + at},
                         norm.elements(), norm.row, {center, scale, slope, shift});
  }
}

using GroupRun = void (*)(const GroupNorm&, const KernelArgs&, const StepArgs&);

KernelOffer offer_group(const ir::Node& node, GroupRun run) {
  const GroupNorm norm(node);
  const auto call = [=](const KernelArgs& args, const StepArgs& step) { run(norm, args, step); };
  return offer_function("fast", call, {.splits = true, .scratch_bytes = GroupScratch::bytes(norm)});
}

}  // namespace

KernelOffer fast_group_norm(const ir::Node& node) { return offer_group(node, run_forward); }
KernelOffer fast_group_norm_sums(const ir::Node& node) { return offer_group(node, run_sums); }
KernelOffer fast_group_norm_input_grad(const ir::Node& node) {
  return offer_group(node, run_input_grad);
}

}  // namespace pando::kernels
