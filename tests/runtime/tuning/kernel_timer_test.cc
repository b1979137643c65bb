#include "pando/runtime/tuning/kernel_timer.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "pando/base/memory_limit.h"
#include "pando/ir/text.h"
#include "tests/runtime/tuning/layer_cases.h"

namespace pando::runtime {
namespace {

using compiler::KernelOption;
using compiler::KernelTime;
using test::BoundCase;

std::vector<KernelOption> options_of(const ir::Node& node) {
  std::vector<KernelOption> options;
  for (const kernels::Candidate& candidate : kernels::candidates(node.op())) {
    kernels::KernelOffer offer = kernels::offer_any_kernel(candidate, node);
    if (offer.kernel != nullptr) options.push_back({candidate.name, std::move(offer)});
  }
  return options;
}

void expect_times(const BoundCase& one, const TimerOptions& how) {
  WorkerTeam team({.device_workers = {2, 1}});
  const std::vector<KernelOption> options = options_of(one.node());
  ASSERT_GT(options.size(), 1u);
  const std::vector<KernelTime> times = time_kernels(one.node(), options, team, how);
  ASSERT_EQ(times.size(), options.size());
  for (size_t i = 0; i < times.size(); ++i) {
    EXPECT_EQ(times[i].candidate, options[i].candidate);
    EXPECT_GT(times[i].seconds, 0) << one.node().label() << ", " << times[i].candidate;
  }
}

TEST(KernelTimer, TimesEveryCandidate) {
  for (const test::KernelCase& one : cases()) {
    expect_times(BoundCase(one), {.rounds = 1, .round_seconds = 0});
    expect_times(BoundCase(one), {.rounds = 1, .round_seconds = 0, .parts = 5});
  }
}

TEST(KernelTimer, TimesKernelsOf16BitNumbers) {
  expect_times(BoundCase(cases()[0]).lowered(DType::f16), {.rounds = 1, .round_seconds = 0});
}

// A packer that rounds the filter itself reads the variable, which has twice the bytes.
TEST(KernelTimer, PacksRoundedFiltersFromTheirVariable) {
  ir::Graph graph = ir::parse_graph(
      R"(graph(x: f16[2,9,9,16] feed, k: f32[3,3,16,16] variable) {
        w = round_variable(k) {dtype="f16"}
        y = conv(x, w) {padding="same"}
        return result y=y })");
  graph.find_value("w")->set_type({DType::f16, {3, 3, 16, 16}});
  graph.find_value("y")->set_type({DType::f16, {2, 9, 9, 16}});
  const ir::Node& node = *graph.find_value("y")->producer();
  WorkerTeam team({.device_workers = {2}});
  const std::vector<KernelOption> options = options_of(node);
  const auto packs = [](const KernelOption& option) { return !option.offer.packings.empty(); };
  ASSERT_TRUE(std::ranges::any_of(options, packs));
  for (const KernelTime& time : time_kernels(node, options, team, {.rounds = 1})) {
    EXPECT_GT(time.seconds, 0) << time.candidate;
  }
}

TEST(KernelTimer, CountsItsMemory) {
  const BoundCase one({"dense", {test::f32({4, 3000}), test::f32({3000, 2500})}});
  WorkerTeam team({.device_workers = {1}});
  const std::vector<KernelOption> options = options_of(one.node());
  set_memory_limit(1);
  EXPECT_THROW(time_kernels(one.node(), options, team, {}), OverMemoryLimit);
  set_memory_limit(0);
}

}  // namespace
}  // namespace pando::runtime
