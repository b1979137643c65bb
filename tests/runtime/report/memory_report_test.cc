#include "pando/runtime/report/memory_report.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/runtime/pipeline_equality.h"
#include "tests/support/expect_error.h"

namespace pando::runtime {
namespace {

using compiler::Recomputation;
using testing_support::error_of;

std::unique_ptr<const compiler::Program> compiled(const PipelineCase& test, const Way& way = {}) {
  const TraineeOptions options = options_of(test, way);
  const train::SliceDivision division = train::divide(test.batch, test.slices);
  compiler::ProgramOptions compiling = options.compiling;
  compiling.slices = division.slices;
  compiling.division = division.division;
  return compiler::compile(graph_of(staged(test), RunMode::train, division.slice_batch),
                           std::move(compiling));
}

PipelineCase mnist(std::vector<std::string> splits, int micro_batches = 8) {
  return {.network = test_network("mnist_cnn", {28, 28, 1}),
          .splits = std::move(splits),
          .batch = 8,
          .slices = 2,
          .micro_batches = micro_batches};
}

size_t bytes_of(const PipelineCase& test, const Way& way) {
  const auto program = compiled(test, way);
  const Placement placement = options_of(test, way).placement;
  size_t bytes = 0;
  for (int device = 0; device < placement.devices_per_replica(program->stages()); ++device) {
    bytes += memory_use(*program, device_load(*program, placement, device, way.workers)).total();
  }
  return bytes;
}

TEST(DeviceMemory, TheUseIsTheArenaThatIsAllocated) {
  for (const PipelineCase& test :
       {mnist({}, 1), mnist({}), mnist({"conv2d_1"}), mnist({"conv2d_1", "dense"})}) {
    for (const PipelineSchedule schedule :
         {PipelineSchedule::grouped, PipelineSchedule::sequential}) {
      const Way way{.schedule = schedule, .workers = 2};
      const auto program = compiled(test, way);
      const Placement placement = options_of(test, way).placement;
      for (int device = 0; device < program->stages(); ++device) {
        const DeviceLoad load = device_load(*program, placement, device, 2);
        EXPECT_EQ(load.stages, std::vector<int>{device});
        DeviceMemory memory(*program, load);
        EXPECT_EQ(memory_use(*program, load).total(), memory.arena().size());
        EXPECT_EQ(memory.use().total(), memory.arena().size());
        EXPECT_EQ(memory.use().held > 0, program->pipelined());
      }
    }
  }
}

TEST(DeviceMemory, StagesOfOneDeviceShareWhatTheyUseInTurn) {
  const PipelineCase test = mnist({"conv2d_1", "dense"});
  const auto program = compiled(test);
  const Placement apart = options_of(test, {}).placement;
  const Placement together = options_of(test, {.mapping = {0, 0, 0}}).placement;
  const MemoryUse all = memory_use(*program, device_load(*program, together, 0, 1));
  MemoryUse sum;
  for (int device = 0; device < 3; ++device) {
    const MemoryUse use = memory_use(*program, device_load(*program, apart, device, 1));
    sum.gradients += use.gradients;
    sum.activations += use.activations;
  }
  EXPECT_EQ(all.gradients, sum.gradients);
  EXPECT_LT(all.activations, sum.activations);
}

TEST(DeviceMemory, NoPlaceOfAVariableIsThere) {
  const auto program = compiled(mnist({}));
  const DeviceMemory memory(*program, device_load(*program, {}, 0, 1));
  EXPECT_THROW(memory.address({compiler::Region::external, 0, 0}, 0, 0), InternalError);
  EXPECT_THROW(memory.address({compiler::Region::packed, 0, 0}, 0, 0), InternalError);
}

TEST(DeviceMemory, HeldMicroBatchesFollowTheSchedule) {
  const PipelineCase test = mnist({"conv2d_1", "dense"});
  const auto held = [&](PipelineSchedule schedule) {
    const Way way{.schedule = schedule};
    return held_micro_batches(*compiled(test, way), options_of(test, way).placement);
  };
  EXPECT_EQ(held(PipelineSchedule::grouped), (std::vector<int>{5, 3, 1}));
  EXPECT_EQ(held(PipelineSchedule::interleaved), (std::vector<int>{3, 2, 1}));
  EXPECT_EQ(held(PipelineSchedule::sequential), (std::vector<int>{1, 1, 1}));
  EXPECT_EQ(held_micro_batches(*compiled(mnist({})), {}), std::vector<int>{1});
}

TEST(DeviceMemory, LessIsHeldByOtherSchedulesAndWithRecomputation) {
  const PipelineCase test = mnist({"conv2d_1", "dense"});
  const size_t grouped = bytes_of(test, {});
  const size_t interleaved = bytes_of(test, {.schedule = PipelineSchedule::interleaved});
  const size_t sequential = bytes_of(test, {.schedule = PipelineSchedule::sequential});
  EXPECT_LT(interleaved, grouped);
  EXPECT_LT(sequential, interleaved);
  EXPECT_LT(bytes_of(test, {.recomputation = Recomputation::then_backward}), grouped);
  EXPECT_LT(bytes_of(test, {.recomputation = Recomputation::interleaved}), grouped);
}

TEST(MemoryReport, HasARowForEveryDeviceAndStage) {
  const PipelineCase test = mnist({"conv2d_1", "dense"});
  const Way way{.mapping = {0, 1, 0}};
  const auto program = compiled(test, way);
  const Placement placement = options_of(test, way).placement;
  const std::string text = memory_report(*program, placement, 2);
  EXPECT_SAYS(text, "1 replica, 2 workers per device");
  EXPECT_SAYS(text, "0 2\n");  // stages of the first device
  EXPECT_SAYS(text, "micro-batches held");
  const MemoryUse use = memory_use(*program, device_load(*program, placement, 1, 2));
  EXPECT_SAYS(text, human_bytes(static_cast<double>(use.total())));
  const std::string plain = memory_report(*compiled(mnist({})), {}, 1);
  EXPECT_EQ(plain.find("micro-batches held"), std::string::npos);
}

TEST(MemoryReport, JsonHasTheSameFigures) {
  const PipelineCase test = mnist({"conv2d_1", "dense"});
  const auto program = compiled(test);
  const Placement placement = options_of(test, {}).placement;
  const auto rows = nlohmann::json::parse(memory_report_json(*program, placement, 2));
  ASSERT_EQ(rows.size(), 3u);
  for (int device = 0; device < 3; ++device) {
    const MemoryUse use = memory_use(*program, device_load(*program, placement, device, 2));
    const auto& row = rows[static_cast<size_t>(device)];
    EXPECT_EQ(row["total_bytes"], use.total());
    EXPECT_EQ(row["held_bytes"], use.held);
    EXPECT_EQ(row["stages"], std::vector<int>{device});
  }
}

TEST(MemoryReport, ABudgetThatFitsIsNoError) {
  const PipelineCase test = mnist({"conv2d_1", "dense"});
  const auto program = compiled(test);
  const Placement placement = options_of(test, {}).placement;
  size_t most = 0;
  for (int device = 0; device < 3; ++device) {
    most =
        std::max(most, memory_use(*program, device_load(*program, placement, device, 1)).total());
  }
  EXPECT_NO_THROW(check_budget(*program, placement, 1, most));
  EXPECT_THROW(check_budget(*program, placement, 1, most - 1), ResourceError);
}

std::string budget_error(const PipelineCase& test, const Way& way) {
  const auto program = compiled(test, way);
  return error_of<ResourceError>(
      [&] { check_budget(*program, options_of(test, way).placement, 1, 1000); });
}

TEST(MemoryReport, TheErrorHasTheTableAndAdvice) {
  const std::string pipelined = budget_error(mnist({"conv2d_1", "dense"}), {});
  EXPECT_SAYS(pipelined, "device 0", "budget is 1000 B");
  EXPECT_SAYS(pipelined, "micro-batches held");
  EXPECT_SAYS(pipelined, "smaller micro-batch", "interleaved or sequential schedule",
              "recomputation");
  const std::string lean = budget_error(
      mnist({"conv2d_1", "dense"}),
      {.schedule = PipelineSchedule::interleaved, .recomputation = Recomputation::then_backward});
  EXPECT_EQ(lean.find("the interleaved schedule"), std::string::npos);
  EXPECT_EQ(lean.find("recomputation"), std::string::npos);
  EXPECT_SAYS(budget_error(mnist({}), {}), "pipeline stages", "devices");
  EXPECT_SAYS(budget_error(mnist({}), {}), "precision 16.16", "32.32");
}

TEST(MemoryReport, ManyGradientsAreHelpedByFewerSlices) {
  PipelineCase test = mnist({});
  test.network = test_network("mnist_cnn", {10, 10, 1});
  test.slices = 8;
  EXPECT_SAYS(budget_error(test, {}), "fewer slices");
}

}  // namespace
}  // namespace pando::runtime
