#include "pando/runtime/program/schedule.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "tests/runtime/pipeline_by_data.h"
#include "tests/support/expect_error.h"

namespace pando::runtime {
namespace {

using testing_support::error_of;
using Words = std::vector<std::vector<std::string>>;

// The words of every line that is not empty.
Words words_of(std::string_view text) {
  Words rows;
  for (const std::string& line : split(text, '\n')) {
    std::vector<std::string> row;
    for (const std::string& word : split(line, ' ')) {
      if (!word.empty()) row.push_back(word);
    }
    if (!row.empty()) rows.push_back(row);
  }
  return rows;
}

TEST(PipelineSchedule, EveryOneHasARecordOfItsOwn) {
  std::set<std::string> names;
  for (const PipelineSchedule schedule : kSchedules) {
    const ScheduleRecord& record = record_of(schedule);
    EXPECT_EQ(record.schedule, schedule);
    EXPECT_STREQ(to_string(schedule), record.name);
    EXPECT_STRNE(record.in_flight, "");
    names.insert(record.name);
  }
  EXPECT_EQ(names, (std::set<std::string>{"grouped", "interleaved", "sequential"}));
  EXPECT_EQ(schedules().size(), std::size(kSchedules));
}

// The advice on memory relies on it.
TEST(PipelineSchedule, LaterRecordsHoldNoMore) {
  int before = std::numeric_limits<int>::max();
  for (const ScheduleRecord& record : schedules()) {
    const PipelineShape shape{.schedule = record.schedule, .stages = 4, .micro_batches = 8};
    const int held = held_micro_batches(shape, 0);
    EXPECT_LT(held, before) << record.name;
    EXPECT_EQ(held == 1, record.one_at_a_time) << record.name;
    before = held;
  }
}

TEST(Timeline, Grouped) {
  const PipelineShape shape{.schedule = PipelineSchedule::grouped, .stages = 2, .micro_batches = 4};
  EXPECT_EQ(words_of(timeline_text(shape)), words_of("dev0 F0  F1  F2   B0F3 B1   B2  B3\n"
                                                     "dev1 .   F0  B0F1 B1F2 B2F3 B3  .\n"));
  EXPECT_EQ(time_steps(shape), 7);
}

TEST(Timeline, Interleaved) {
  PipelineShape shape{.schedule = PipelineSchedule::interleaved, .stages = 2, .micro_batches = 4};
  EXPECT_EQ(timeline_text(shape),
            "dev0 F0 .  F1 B0 F2 B1 F3 B2 .  B3\n"
            "dev1 .  F0 B0 F1 B1 F2 B2 F3 B3 .\n");
  EXPECT_EQ(time_steps(shape), 10);
  shape.stages = 4;
  shape.micro_batches = 8;
  EXPECT_EQ(time_steps(shape), 22);
  Words rows = words_of(timeline_text(shape));
  for (auto& row : rows) row.resize(13);
  EXPECT_EQ(rows, words_of("dev0 F0 .  F1 .  F2 .  F3 B0 F4 B1 F5 B2\n"
                           "dev1 .  F0 .  F1 .  F2 B0 F3 B1 F4 B2 F5\n"
                           "dev2 .  .  F0 .  F1 B0 F2 B1 F3 B2 F4 B3\n"
                           "dev3 .  .  .  F0 B0 F1 B1 F2 B2 F3 B3 F4\n"));
}

TEST(Timeline, Sequential) {
  const PipelineShape shape{
      .schedule = PipelineSchedule::sequential, .stages = 2, .micro_batches = 2};
  EXPECT_EQ(timeline_text(shape),
            "dev0 F0 .  .  B0 F1 .  .  B1\n"
            "dev1 .  F0 B0 .  .  F1 B1 .\n");
}

TEST(Timeline, InferenceHasOnlyForwardVisits) {
  PipelineShape shape{.stages = 2, .micro_batches = 3, .training = false};
  const char* flowing =
      "dev0 F0 F1 F2 .\n"
      "dev1 .  F0 F1 F2\n";
  EXPECT_EQ(timeline_text(shape), flowing);
  shape.schedule = PipelineSchedule::interleaved;
  EXPECT_EQ(timeline_text(shape), flowing);
  shape.schedule = PipelineSchedule::sequential;
  EXPECT_EQ(timeline_text(shape),
            "dev0 F0 .  F1 .  F2 .\n"
            "dev1 .  F0 .  F1 .  F2\n");
}

TEST(Timeline, NamesStagesThatShareADevice) {
  const PipelineShape shape{.stages = 3, .micro_batches = 2, .device_of_stage = {0, 1, 0}};
  EXPECT_EQ(timeline_text(shape),
            "dev0 F0@0 F1@0 F0@2 B0@2F1@2 B1@2 B0@0 B1@0\n"
            "dev1 .    F0@1 F1@1 .        B0@1 B1@1 .\n");
}

TEST(Timeline, ColumnsAreAlignedWithTwoDigits) {
  const PipelineShape shape{.schedule = PipelineSchedule::sequential,
                            .stages = 2,
                            .micro_batches = 11,
                            .training = false};
  const std::vector<std::string> rows = split(timeline_text(shape), '\n');
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_TRUE(rows[0].ends_with(" F8 .  F9 .  F10 .")) << rows[0];
  EXPECT_TRUE(rows[1].ends_with(" .  F8 .  F9 .   F10")) << rows[1];
}

// The stages a, b, c, d of one pipeline: for each time step the stages that run, in their order.
// They fill from the left and empty to the right.
std::string trace_of(const PipelineShape& shape) {
  std::vector<std::string> steps(static_cast<size_t>(shape.micro_batches + 2 * shape.stages));
  for (const StageVisit& visit : device_order(shape, 0)) {
    const int index = visit.backward ? 2 * shape.stages - 1 - visit.stage : visit.stage;
    steps[static_cast<size_t>(time_step(shape, visit))] += static_cast<char>('a' + index);
  }
  for (size_t t = 0; t < steps.size(); ++t) {
    const std::string dots(static_cast<size_t>(2 * shape.stages) - steps[t].size(), '.');
    const bool filling = t < static_cast<size_t>(shape.micro_batches);
    steps[t] = filling ? steps[t] + dots : dots + steps[t];
  }
  return join(steps, " ");
}

TEST(DeviceOrder, GroupedTraceFillsAndEmpties) {
  const PipelineShape shape{.stages = 2, .micro_batches = 8, .device_of_stage = {0, 0}};
  EXPECT_EQ(trace_of(shape),
            "a... ba.. cba. dcba "
            "dcba dcba dcba dcba "
            ".dcb ..dc ...d ....");
}

TEST(DeviceOrder, FollowsTheFormulas) {
  const int S = 4;
  for (const int N : {1, 3, 8, 13}) {
    for (int s = 0; s < S; ++s) {
      for (int m = 0; m < N; ++m) {
        PipelineShape shape{.schedule = PipelineSchedule::grouped, .stages = S, .micro_batches = N};
        EXPECT_EQ(time_step(shape, {s, false, m}), m + s);
        EXPECT_EQ(time_step(shape, {s, true, m}), m + 2 * S - 1 - s);
        EXPECT_EQ(time_steps(shape), N + 2 * S - 1);
        shape.schedule = PipelineSchedule::interleaved;
        EXPECT_EQ(time_step(shape, {s, false, m}), 2 * m + s);
        EXPECT_EQ(time_step(shape, {s, true, m}), 2 * m + 2 * S - 1 - s);
        EXPECT_EQ(time_steps(shape), 2 * (N - 1) + 2 * S);
        shape.schedule = PipelineSchedule::sequential;
        EXPECT_EQ(time_step(shape, {s, false, m}), m * 2 * S + s);
        EXPECT_EQ(time_step(shape, {s, true, m}), m * 2 * S + 2 * S - 1 - s);
        EXPECT_EQ(time_steps(shape), N * 2 * S);
      }
    }
  }
}

TEST(DeviceOrder, InterleavedDevicesOfTheirOwnDoOneThingPerTimeStep) {
  for (int count = 1; count <= 8; ++count) {
    const PipelineShape shape{
        .schedule = PipelineSchedule::interleaved, .stages = count, .micro_batches = 3 * count + 1};
    for (int d = 0; d < count; ++d) {
      std::set<int64_t> steps;
      const std::vector<StageVisit> order = device_order(shape, d);
      for (const StageVisit& visit : order) steps.insert(time_step(shape, visit));
      EXPECT_EQ(steps.size(), order.size()) << count << " stages, device " << d;
    }
  }
}

TEST(HeldMicroBatches, AsManyAsTheScheduleSays) {
  for (int count = 1; count <= 8; ++count) {
    for (const bool shared : {false, true}) {
      for (int s = 0; s < count; ++s) {
        PipelineShape shape{.stages = count, .micro_batches = 40};
        if (shared) shape.device_of_stage.assign(static_cast<size_t>(count), 0);
        shape.schedule = PipelineSchedule::grouped;
        EXPECT_EQ(held_micro_batches(shape, s), 2 * (count - 1 - s) + 1) << count << ' ' << s;
        shape.schedule = PipelineSchedule::interleaved;
        EXPECT_EQ(held_micro_batches(shape, s), count - s) << count << ' ' << s;
        shape.schedule = PipelineSchedule::sequential;
        EXPECT_EQ(held_micro_batches(shape, s), 1) << count << ' ' << s;
      }
    }
  }
}

TEST(HeldMicroBatches, NeverMoreThanThereAre) {
  PipelineShape shape{.stages = 4, .micro_batches = 3};
  EXPECT_EQ(held_micro_batches(shape, 0), 3);
  EXPECT_EQ(held_micro_batches(shape, 2), 3);
  EXPECT_EQ(held_micro_batches(shape, 3), 1);
  shape.training = false;
  EXPECT_EQ(held_micro_batches(shape, 0), 1);
}

TEST(Play, RandomPipelinesRunEveryVisitOnce) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    const PipelineShape shape = random_shape(random);
    std::vector<StageSeconds> stages(static_cast<size_t>(shape.stages));
    for (StageSeconds& stage : stages) {
      stage = {static_cast<double>(random() % 9), static_cast<double>(random() % 9)};
    }
    const std::map<VisitKey, double> ends = run_by_data(shape, stages);
    const size_t visits = (shape.training ? 2u : 1u) * stages.size();
    ASSERT_EQ(ends.size(), visits * static_cast<size_t>(shape.micro_batches))
        << timeline_text(shape);
    double last = 0;
    for (const auto& [key, end] : ends) last = std::max(last, end);
    const Playback playback = play(shape, stages);
    EXPECT_EQ(playback.seconds, last) << timeline_text(shape);
    double work = 0;
    for (const StageSeconds& stage : stages) {
      work += (stage.forward + (shape.training ? stage.backward : 0)) * shape.micro_batches;
    }
    EXPECT_EQ(std::accumulate(playback.busy.begin(), playback.busy.end(), 0.0), work);
    if (shape.schedule == PipelineSchedule::sequential) {
      EXPECT_EQ(playback.seconds, work);
    }
  }
}

// Worked out by hand for forward 1 and backward 2 at both stages.
TEST(Play, DevicesWaitOnlyForData) {
  const std::vector<StageSeconds> even = {{1, 2}, {1, 2}};
  PipelineShape shape{.schedule = PipelineSchedule::grouped, .stages = 2, .micro_batches = 2};
  // dev0: F0 0-1, F1 1-2, B0 4-6, B1 7-9. dev1: F0 1-2, B0 2-4, F1 4-5, B1 5-7.
  EXPECT_EQ(play(shape, even).seconds, 9);
  EXPECT_EQ(play(shape, even).busy, (std::vector<double>{6, 6}));
  EXPECT_EQ(play(shape, even).stage_ends, (std::vector<double>{9, 7}));
  EXPECT_DOUBLE_EQ(play(shape, even).idle_share(), 1.0 / 3);
  shape.schedule = PipelineSchedule::sequential;
  EXPECT_EQ(play(shape, even).seconds, 12);
  EXPECT_DOUBLE_EQ(play(shape, even).idle_share(), 0.5);
  shape.schedule = PipelineSchedule::interleaved;
  shape.micro_batches = 3;
  // dev0: F0 0-1, F1 1-2, B0 4-6, F2 6-7, B1 7-9, B2 10-12.
  // dev1: F0 1-2, B0 2-4, F1 4-5, B1 5-7, F2 7-8, B2 8-10.
  EXPECT_EQ(play(shape, even).seconds, 12);
}

TEST(Play, OneDeviceIsNeverIdle) {
  const PipelineShape shape{.stages = 2, .micro_batches = 5, .device_of_stage = {0, 0}};
  const Playback playback = play(shape, {{1, 2}, {3, 4}});
  EXPECT_EQ(playback.seconds, 50);
  EXPECT_EQ(playback.idle_share(), 0);
}

TEST(Play, SequentialInferenceKeepsToOneMicroBatch) {
  PipelineShape shape{
      .schedule = PipelineSchedule::sequential, .stages = 2, .micro_batches = 3, .training = false};
  EXPECT_EQ(play(shape, {{1, 0}, {2, 0}}).seconds, 9);
  shape.schedule = PipelineSchedule::grouped;
  EXPECT_EQ(play(shape, {{1, 0}, {2, 0}}).seconds, 7);
}

TEST(Play, NoWorkIsNotIdle) {
  EXPECT_EQ(play({.stages = 2, .micro_batches = 1}, {{0, 0}, {0, 0}}).idle_share(), 0);
}

TEST(PipelineShape, CountsAndMappingsAreChecked) {
  const auto mapping = [](std::vector<int> devices) {
    return error_of(
        [&] { check({.stages = 3, .micro_batches = 1, .device_of_stage = std::move(devices)}); });
  };
  check({.stages = 3, .micro_batches = 1, .device_of_stage = {0, 0, 1}});
  EXPECT_SAYS(mapping({0, 1}), "device mapping [0, 1]: ", "3 stages", "got 2");
  EXPECT_SAYS(mapping({0, 1, 3}), "device mapping [0, 1, 3]: ", "device 2 has no stage", "0 to 3");
  EXPECT_SAYS(mapping({1, 1, 2}), "device mapping [1, 1, 2]: ", "device 0 has no stage", "0 to 2");
  EXPECT_SAYS(mapping({0, -1, 1}), "device mapping [0, -1, 1]: ", "from 0", "got -1");
  EXPECT_SAYS(error_of([] { check({.stages = 0}); }), "pipeline: ", "1 stage", "got 0");
  EXPECT_SAYS(error_of([] { check({.stages = 1, .micro_batches = 0}); }),
              "pipeline: ", "1 micro-batch", "got 0");
}

TEST(PipelineShape, WhatIsOutsideIsRefused) {
  const PipelineShape shape{.stages = 2, .micro_batches = 3, .training = false};
  EXPECT_SAYS(error_of([&] { device_order(shape, 2); }), "device", "0 to 1", "got 2");
  EXPECT_SAYS(error_of([&] { held_micro_batches(shape, -1); }), "stage", "0 to 1", "got -1");
  EXPECT_SAYS(error_of([&] { time_step(shape, {0, false, 3}); }), "micro-batch", "0 to 2", "got 3");
  EXPECT_SAYS(error_of([&] { time_step(shape, {0, true, 0}); }), "backward", "training");
  EXPECT_SAYS(error_of([&] { play(shape, {{1, 1}}); }), "2 stages", "got 1");
  EXPECT_SAYS(error_of([&] { play(shape, {{1, 1}, {-1, 0}}); }), "stage 1", "got -1");
}

TEST(BalanceStages, HandMadeCases) {
  EXPECT_EQ(balance_stages({1, 1, 1, 1}, 2), std::vector<int>{2});
  EXPECT_EQ(balance_stages({5, 1, 1, 1}, 2), std::vector<int>{1});
  EXPECT_EQ(balance_stages({1, 1, 1, 5}, 2), std::vector<int>{3});
  EXPECT_EQ(balance_stages({3, 1, 2}, 1), std::vector<int>{});
  EXPECT_EQ(balance_stages({3, 1, 2}, 3), (std::vector<int>{1, 2}));
  // The longest stage is 9 in every cut; the others are made even nevertheless.
  EXPECT_EQ(balance_stages({9, 1, 1, 1, 1}, 3), (std::vector<int>{1, 3}));
  EXPECT_EQ(balance_stages({0, 0, 0}, 2).size(), 1u);
}

// The shortest possible longest stage, found by trying every cut.
double shortest_longest(const std::vector<double>& layers, size_t begin, int stages) {
  const auto sum = [&](size_t end) {
    return std::accumulate(layers.begin() + static_cast<std::ptrdiff_t>(begin),
                           layers.begin() + static_cast<std::ptrdiff_t>(end), 0.0);
  };
  if (stages == 1) return sum(layers.size());
  double best = 1e300;
  for (size_t end = begin + 1; end + static_cast<size_t>(stages) - 1 <= layers.size(); ++end) {
    best = std::min(best, std::max(sum(end), shortest_longest(layers, end, stages - 1)));
  }
  return best;
}

TEST(BalanceStages, IsAsGoodAsTryingEveryCut) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> layers(1 + random() % 10);
    for (double& seconds : layers) seconds = static_cast<double>(random() % 20);
    const int stages = 1 + static_cast<int>(random() % layers.size());
    std::vector<int> firsts = balance_stages(layers, stages);
    ASSERT_EQ(firsts.size(), static_cast<size_t>(stages) - 1);
    firsts.push_back(static_cast<int>(layers.size()));
    double longest = 0;
    int begin = 0;
    for (const int end : firsts) {
      ASSERT_GT(end, begin);
      longest =
          std::max(longest, std::accumulate(layers.begin() + begin, layers.begin() + end, 0.0));
      begin = end;
    }
    EXPECT_EQ(longest, shortest_longest(layers, 0, stages));
  }
}

TEST(BalanceStages, RefusesWhatCannotBeCut) {
  EXPECT_SAYS(error_of([] { balance_stages({1, 2}, 3); }), "3 stages", "2 layers", "fewer stages");
  EXPECT_SAYS(error_of([] { balance_stages({1, 2}, 0); }), "1 stage", "got 0");
  EXPECT_SAYS(error_of([] { balance_stages({1, -2}, 1); }), "layer 1", "got -2");
}

}  // namespace
}  // namespace pando::runtime
