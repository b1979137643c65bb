#include "pando/compiler/report.h"

#include <gtest/gtest.h>

#include "tests/support/training_graphs.h"

namespace pando::compiler {
namespace {

std::string report_of(ProgramOptions options) {
  return compile_report(
      *compile(training_graph(test_network("mnist_cnn", {12, 12, 1}), 4), std::move(options)));
}

void expect_mentions(const std::string& report, const std::string& part) {
  EXPECT_NE(report.find(part), std::string::npos) << "no '" << part << "' in\n" << report;
}

TEST(Report, NamesPassesKernelsAndMemory) {
  const std::string report = report_of({.slices = 2, .disabled_passes = {"fuse-post-ops"}});
  const PassPipeline pipeline = default_pipeline();
  for (const auto& pass : pipeline.passes()) {
    expect_mentions(report, std::string(pass->name()));
  }
  expect_mentions(report, "disabled");
  expect_mentions(report, "conv2d");
  expect_mentions(report, "max_pool");
  expect_mentions(report, "memory of one slice: ");
  expect_mentions(report, "sum of all tensors");
  expect_mentions(report, "packed variables ");
  expect_mentions(report, "scratch of a worker ");
  expect_mentions(report, "2 slices of the micro-batch");
}

TEST(Report, NamesPrecisionAndTypes) {
  const std::string report = report_of({});
  expect_mentions(report, "precision: 32.32\n");
  expect_mentions(report, " of f32 (");
  expect_mentions(report, "1 of i32 (");  // labels
  expect_mentions(report, "; 0 casts\n");
  const std::string half = report_of({.precision = {DType::f16, DType::f16},
                                      .half = {.stochastic_rounding = StochasticRounding::on,
                                               .nan_on_overflow = true,
                                               .half_partials = true}});
  expect_mentions(
      half, "precision: 16.16, stochastic rounding, not-a-number on overflow, half partials\n");
  expect_mentions(report_of({.precision = {DType::bf16, DType::f32}}),
                  "precision: bf16.32, rounding to nearest, overflow saturates\n");
}

TEST(Report, AllTensorsAreWhatAPlanWithoutSharingTakes) {
  expect_mentions(report_of({.disabled_passes = {"plan-memory"}}), " (100 %)");
}

TEST(Report, NamesTheKernelOfEveryCall) {
  const auto program = compile(training_graph(test_network("mnist_cnn", {12, 12, 1}), 4));
  const std::string report = compile_report(*program);
  for (const Call& call : program->calls()) expect_mentions(report, call.kernel->name());
}

TEST(Report, SaysWhyCandidatesWereRefused) {
  const std::string report =
      report_of({.accept = [](const ir::Node&, const kernels::Candidate&) { return false; }});
  expect_mentions(report, "refused: ");
  expect_mentions(report, ": not accepted by the options");
  expect_mentions(report, "calls fell back to the slow reference kernel");
}

TEST(Report, SaysThatCallsAreCutInParts) {
  expect_mentions(report_of({.slices = 3, .division = Division::parts}), "3 parts of each call");
}

}  // namespace
}  // namespace pando::compiler
