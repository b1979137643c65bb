#include "pando/benchmark/benchmark_options.h"

#include <sstream>

#include <gtest/gtest.h>

#include "pando/options/usage_error.h"
#include "tests/support/expect_error.h"

namespace pando::benchmark {
namespace {

using testing_support::error_of;
using testing_support::says_all;

BenchmarkOptions parse(const std::vector<std::string>& args) {
  std::ostringstream out;
  return *parse_benchmark_options(args, out);
}

TEST(BenchmarkOptions, TakesTheFlagsOfTheOriginal) {
  const BenchmarkOptions options = parse({"--spec",
                                          "a.yml",
                                          "b.yml",
                                          "--benchmark",
                                          "x",
                                          "y",
                                          "--additional-metrics",
                                          "--allow-wandb",
                                          "--compile-only",
                                          "--csv-metrics",
                                          "loss",
                                          "--custom-metrics-files",
                                          "m.yml",
                                          "--include-convergence",
                                          "--stop-on-error",
                                          "--log-dir",
                                          "l",
                                          "--logging",
                                          "DEBUG",
                                          "--no-code-sync",
                                          "--profile",
                                          "--gc-monitor",
                                          "--remove-dirs-after",
                                          "--requirements-file",
                                          "r.txt",
                                          "--timeout",
                                          "10",
                                          "--upload-checkpoints",
                                          "wandb",
                                          "s3",
                                          "--progress-trace-period",
                                          "2"});
  EXPECT_EQ(options.specs, (std::vector<std::string>{"a.yml", "b.yml"}));
  EXPECT_EQ(options.benchmarks, (std::vector<std::string>{"x", "y"}));
  EXPECT_TRUE(options.additional_metrics && options.allow_wandb && options.compile_only &&
              options.include_convergence && options.stop_on_error && options.profile);
  EXPECT_EQ(options.csv_metrics, std::vector<std::string>{"loss"});
  EXPECT_EQ(options.custom_metrics_files, std::vector<std::string>{"m.yml"});
  EXPECT_EQ(options.log_dir, "l");
  EXPECT_EQ(options.logging, Level::debug);
  EXPECT_EQ(options.timeout, 10);
  EXPECT_EQ(options.progress_period, 2);
  EXPECT_EQ(options.idle.size(), 5u);
}

TEST(BenchmarkOptions, HasDefaultsAndLimits) {
  const BenchmarkOptions options = parse({});
  EXPECT_EQ(options.specs, std::vector<std::string>{"benchmarks.yml"});
  EXPECT_EQ(options.repetitions, 1);
  EXPECT_EQ(options.logging, Level::info);
  EXPECT_EQ(options.progress_period, 1);
  EXPECT_FALSE(options.timeout || options.stop_on_error || options.include_convergence);
  EXPECT_EQ(options.regression_limit, 5);
  EXPECT_TRUE(options.idle.empty());
  const auto wrong = [](const std::vector<std::string>& args) {
    return error_of<UsageError>([&] { parse(args); });
  };
  EXPECT_TRUE(says_all(wrong({"--repetitions", "0"}), {"--repetitions"}));
  EXPECT_TRUE(says_all(wrong({"--timeout", "0"}), {"--timeout"}));
  EXPECT_TRUE(says_all(wrong({"--spce", "x"}), {"--spec"}));
  EXPECT_TRUE(says_all(wrong({"--logging", "LOUD"}), {"--logging", "LOUD"}));
  EXPECT_TRUE(
      says_all(wrong({"--upload-checkpoints", "wandb", "cloud"}), {"wandb or s3", "'cloud'"}));
  std::ostringstream out;
  const std::vector<std::string> help = {"--help"};
  EXPECT_FALSE(parse_benchmark_options(help, out));
  EXPECT_TRUE(says_all(out.str(), {"usage: pando benchmark", "--compare", "exit codes"}));
}

}  // namespace
}  // namespace pando::benchmark
