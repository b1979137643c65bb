// The command line of `pando plan`.
// SPDX-License-Identifier: MIT
#include "pando/plan/plan_options.h"

#include <sstream>

#include <gtest/gtest.h>

#include "pando/app/job/exit_code.h"
#include "tests/support/expect_error.h"

namespace pando::plan {
namespace {

using testing_support::error_of;

PlanOptions parse(const std::vector<std::string>& args) {
  std::ostringstream out;
  const auto options = parse_plan_options(args, out);
  EXPECT_TRUE(options.has_value()) << out.str();
  return options.value_or(PlanOptions{});
}

std::string refusal(const std::vector<std::string>& args) {
  return error_of<UsageError>([&] { parse(args); });
}

TEST(PlanOptions, ReadWhatIsTrainedAndWhere) {
  const PlanOptions options =
      parse({"--model", "cifar_resnet8", "--micro-batch-size", "16", "--gradient-accumulation", "2",
             "--instances=64", "--bandwidth", "10Gbit", "--latency", "50us", "--bucket-sizes", "1M",
             "4M", "--optimizer", "adam"});
  const PlanRequest request = options.request();
  EXPECT_EQ(options.train.model, "cifar_resnet8");
  EXPECT_EQ(request.micro_batch_size, 16);
  EXPECT_EQ(request.accumulation, 2);
  EXPECT_EQ(request.instances, 64);
  EXPECT_EQ(request.instances_per_host, 1);
  EXPECT_DOUBLE_EQ(request.link.bandwidth.bytes_per_second, 1.25e9);
  EXPECT_DOUBLE_EQ(request.link.latency.seconds, 50e-6);
  EXPECT_EQ(request.bucket_bytes, (std::vector<int64_t>{1 << 20, 4 << 20}));
  EXPECT_EQ(options.network_name(), "given");
  EXPECT_EQ(options.train_flags, (std::vector<std::string>{"--optimizer", "adam"}));
  EXPECT_EQ(options.train.data.synthetic_data, app::SyntheticData::device);
}

TEST(PlanOptions, GradientsMayTravelInHalfPrecision) {
  EXPECT_EQ(parse({"--exchange-format", "f16"}).request().wire_share, 0.5);
  EXPECT_EQ(parse({"--exchange-format", "bf16"}).request().wire_share, 0.5);
  EXPECT_EQ(parse({}).request().wire_share, 1);
}

TEST(PlanOptions, LocalMeansOneMachine) {
  const PlanRequest request = parse({"--instances", "4", "--network", "local"}).request();
  EXPECT_EQ(request.instances_per_host, 4);
  EXPECT_EQ(parse({"--instances", "2", "--instances-per-host", "4"}).network_name(), "10gbe");
}

TEST(PlanOptions, RepeatsDictionariesQuoted) {
  const PlanOptions options =
      parse({"--model", "cifar_resnet8", "--norm-layer", "{name: group_norm, num_groups: 4}"});
  ASSERT_EQ(options.train_flags.size(), 2U);
  EXPECT_EQ(options.train_flags[0], "--norm-layer");
  EXPECT_EQ(options.train_flags[1].front(), '\'');
  EXPECT_SAYS(options.train_flags[1], "group_norm");
}

TEST(PlanOptions, AnswerHelp) {
  std::ostringstream out;
  const std::vector<std::string> args = {"--help"};
  EXPECT_FALSE(parse_plan_options(args, out).has_value());
  EXPECT_SAYS(out.str(), "--bandwidth RATE");
  EXPECT_SAYS(out.str(), "--micro-batch-size");
  EXPECT_FALSE(testing_support::says(out.str(), "--pipeline-splits"));
}

TEST(PlanOptions, RefuseWhatCannotBeRead) {
  EXPECT_SAYS(refusal({"--bandwidth", "10"}), "--bandwidth");
  EXPECT_SAYS(refusal({"--bandwidth", "10"}), "10Gbit");
  EXPECT_SAYS(refusal({"--latency", "quick"}), "--latency");
  EXPECT_SAYS(refusal({"--latency", "quick"}), "50us");
  EXPECT_SAYS(refusal({"--network", "ethernet"}), "infiniband");
  EXPECT_SAYS(refusal({"--instances", "0"}), "--instances");
  EXPECT_SAYS(refusal({"--instances", "4097"}), "4096");
  EXPECT_SAYS(refusal({"--bucket-sizes", "0"}), "--bucket-sizes: ");
  EXPECT_SAYS(refusal({"--plot", "no/such/folder/p.svg"}), "'no/such/folder'");
  EXPECT_SAYS(refusal({"--plot", "/proc/p.svg"}), "--plot: ", "/proc/p.svg");
  EXPECT_SAYS(refusal({"--plot", "p.png"}), "--plot: ");
  EXPECT_SAYS(refusal({"--plot", "p.png"}), ".svg, got 'p.png'");
  const std::string uneven = refusal({"--instances", "6", "--instances-per-host", "4"});
  for (const char* part : {"--instances-per-host: ", "--instances 6", "got 4"}) {
    EXPECT_SAYS(uneven, part);
  }
  EXPECT_SAYS(refusal({"--instances-per-host", "1025"}), "1024");
  const std::string many = refusal({"--instances", "1025", "--network", "local"});
  for (const char* part : {"--instances: ", "at most 1024", "got 1025"}) EXPECT_SAYS(many, part);
}

TEST(PlanOptions, RefuseWhatThePlanDecides) {
  EXPECT_SAYS(refusal({"--num-replicas", "2"}), "--num-replicas: ");
  EXPECT_SAYS(refusal({"--max-cross-replica-buffer-size", "2"}), "use --bucket-sizes");
  EXPECT_SAYS(refusal({"--dry-run"}), "`pando train`");
}

TEST(PlanOptions, RefuseALinkThatIsNotThere) {
  EXPECT_SAYS(refusal({"--network", "local", "--bandwidth", "1GB/s"}), "--bandwidth: ");
  EXPECT_SAYS(refusal({"--network", "local", "--latency", "1us"}), "--latency: ");
}

}  // namespace
}  // namespace pando::plan
