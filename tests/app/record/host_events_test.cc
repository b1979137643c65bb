#include "pando/app/record/host_events.h"

#include <cmath>
#include <limits>

#include "pando/app/flags/batch_configuration.h"
#include "pando/app/job/exit_code.h"
#include "tests/app/test_folder.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

TEST(ClosestDivisor, Table) {
  EXPECT_EQ(closest_divisor(12, 5), 6);
  EXPECT_EQ(closest_divisor(12, 3.5), 3);
  EXPECT_EQ(closest_divisor(390, 4), 3);
  EXPECT_EQ(closest_divisor(6, 2.5), 2);
  EXPECT_EQ(closest_divisor(1, 1), 1);
  EXPECT_EQ(closest_divisor(1, 100), 1);
  EXPECT_EQ(closest_divisor(781, 2), 1);
  EXPECT_EQ(closest_divisor(781, 10), 11);
  EXPECT_EQ(closest_divisor(781, 1e9), 781);
  EXPECT_EQ(closest_divisor(781, 0), 1);
  EXPECT_EQ(closest_divisor(781, -5), 1);
}

TEST(ClosestDivisor, ConsidersSquareRoots) {
  EXPECT_EQ(closest_divisor(4, 2), 2);
  EXPECT_EQ(closest_divisor(9, 3), 3);
  EXPECT_EQ(closest_divisor(16, 4), 4);
  EXPECT_EQ(closest_divisor(36, 6), 6);
  EXPECT_EQ(closest_divisor(100, 10), 10);
}

TEST(ClosestDivisor, IsTheNearestAndTiesGoToTheOuterPair) {
  for (int64_t a = 1; a <= 300; ++a) {
    for (double b = 0; b <= static_cast<double>(a) + 2; b += 0.5) {
      const int64_t found = closest_divisor(a, b);
      ASSERT_EQ(a % found, 0);
      for (int64_t other = 1; other <= a; ++other) {
        if (a % other != 0 || other == found) continue;
        const double gain =
            std::abs(static_cast<double>(found) - b) - std::abs(static_cast<double>(other) - b);
        ASSERT_LE(gain, 0) << a << " " << b;
        if (gain != 0) continue;
        const std::pair<int64_t, int64_t> mine(std::min(found, a / found), found);
        const std::pair<int64_t, int64_t> its(std::min(other, a / other), other);
        ASSERT_LT(mine, its) << a << " " << b;
      }
    }
  }
}

TEST(ClosestDivisor, ChecksItsCaller) {
  EXPECT_THROW(closest_divisor(0, 1), InternalError);
  EXPECT_THROW(closest_divisor(-4, 1), InternalError);
  EXPECT_THROW(closest_divisor(4, std::nan("")), InternalError);
  EXPECT_THROW(closest_divisor(4, std::numeric_limits<double>::infinity()), InternalError);
}

// The updates at which a run stops, logs and writes checkpoints if it follows next_execution().
struct Played {
  std::vector<int64_t> stops;
  std::vector<int64_t> logs;
  std::vector<int64_t> checkpoints;
};

bool logs_at(const HostEvents& events, int64_t done) {
  return events.log_period > 0 && done > 0 && done % events.log_period == 0;
}

Played play(const HostEvents& events) {
  Played played;
  int64_t done = 0;
  while (const int64_t length = events.next_execution(done)) {
    done += length;
    played.stops.push_back(done);
    if (logs_at(events, done)) played.logs.push_back(done);
    if (events.checkpoints_at(done)) played.checkpoints.push_back(done);
  }
  return played;
}

// cifar_resnet8 on CIFAR-10 with micro-batch 8 and accumulation 8, as in the README.
HostEventRequest readme(const std::string& logs, int64_t epochs) {
  const BatchConfiguration batch =
      make_batch_configuration({.micro_batch_size = 8, .gradient_accumulation_count = 8});
  return {.updates_per_epoch = updates_per_epoch(50000, batch.global_batch_size, -1),
          .epochs = epochs,
          .logs_per_epoch = parse_fraction(logs).value()};
}

TEST(ReadmeLogs, OncePerEpoch) {
  const HostEvents events = plan_host_events(readme("1", 6));
  EXPECT_EQ(events.total, 4686);
  EXPECT_EQ(events.log_period, 781);
  EXPECT_EQ(events.execution, 781);
  EXPECT_EQ(events.checkpoint_period, 0);
  EXPECT_TRUE(events.warnings.empty());
  EXPECT_EQ(play(events).logs.size(), 6u);
}

TEST(ReadmeLogs, TwiceBecomesOnce) {
  const HostEvents events = plan_host_events(readme("2", 6));
  EXPECT_EQ(events.execution, 781);
  EXPECT_EQ(events.log_period, 781);
  ASSERT_EQ(events.warnings.size(), 1u);
  EXPECT_SAYS(events.warnings.front(), "--logs-per-epoch 2: ", "781 weight updates of 1 epoch",
              "The closest possible frequency is 1, every 781 weight updates");
}

TEST(ReadmeLogs, TenTimesBecomesEleven) {
  const HostEvents events = plan_host_events(readme("10", 6));
  EXPECT_EQ(events.execution, 71);
  EXPECT_EQ(events.log_period, 71);
  ASSERT_EQ(events.warnings.size(), 1u);
  EXPECT_SAYS(events.warnings.front(), "The closest possible frequency is 11, ");
  EXPECT_EQ(play(events).logs.size(), 66u);
}

TEST(ReadmeLogs, EverySecondEpoch) {
  for (const char* text : {"1/2", "0.5"}) {
    const HostEvents events = plan_host_events(readme(text, 6));
    EXPECT_EQ(events.execution, 2 * 781);
    EXPECT_TRUE(events.warnings.empty());
    EXPECT_EQ(play(events).stops, (std::vector<int64_t>{1562, 3124, 4686}));
    EXPECT_EQ(play(events).logs, play(events).stops);
  }
}

TEST(ReadmeLogs, EveryThirdEpoch) {
  const HostEvents events = plan_host_events(readme("1/3", 6));
  EXPECT_EQ(events.execution, 3 * 781);
  EXPECT_TRUE(events.warnings.empty());
  EXPECT_EQ(play(events).stops, (std::vector<int64_t>{2343, 4686}));
}

TEST(ReadmeLogs, EverySecondEpochOfFiveIsAnError) {
  EXPECT_SAYS(message_of<UsageError>([] { plan_host_events(readme("1/2", 5)); }),
              "--logs-per-epoch 1/2: it is not possible to log 2 epochs at a time for 5 epochs",
              "multiple of 2", "--num-epochs");
}

TEST(ReadmeLogs, NoneIsOneExecution) {
  const HostEvents events = plan_host_events(readme("0", 6));
  EXPECT_EQ(events.execution, 4686);
  EXPECT_EQ(events.log_period, 0);
  ASSERT_EQ(events.warnings.size(), 1u);
  EXPECT_SAYS(events.warnings.front(),
              "--logs-per-epoch 0: nothing is logged before the end of the run",
              "4686 weight updates");
  EXPECT_EQ(play(events).stops, (std::vector<int64_t>{4686}));
  EXPECT_TRUE(play(events).logs.empty());
}

TEST(Logs, AQuarterOfSixEpochsIsAnError) {
  EXPECT_SAYS(message_of<UsageError>([] { plan_host_events(readme("0.25", 6)); }),
              "--logs-per-epoch 1/4: it is not possible to log 4 epochs at a time");
  EXPECT_SAYS(message_of<UsageError>([] { plan_host_events(readme("2/3", 1)); }),
              "--logs-per-epoch 2/3: it is not possible to log 3/2 epochs at a time for 1 epoch",
              "multiple of 3", "--num-epochs");
}

TEST(Logs, ARarePeriodNeedNotBeWholeEpochs) {
  const HostEvents events =
      plan_host_events({.updates_per_epoch = 4, .epochs = 6, .logs_per_epoch = Fraction(2, 3)});
  EXPECT_EQ(events.log_period, 6);
  EXPECT_TRUE(events.warnings.empty());
  EXPECT_EQ(play(events).logs, (std::vector<int64_t>{6, 12, 18, 24}));
}

TEST(Logs, ARareFrequencyIsReportedPerEpoch) {
  const HostEvents events = plan_host_events(readme("2/3", 6));
  EXPECT_EQ(events.log_period, 1562);
  ASSERT_EQ(events.warnings.size(), 1u);
  EXPECT_SAYS(events.warnings.front(), "--logs-per-epoch 2/3: ", "4686 weight updates of 6 epochs",
              "The closest possible frequency is 1/2, every 1562 weight updates");
}

TEST(Logs, ABrokenFrequencyAboveOneIsNeverMet) {
  const HostEvents events =
      plan_host_events({.updates_per_epoch = 6, .epochs = 2, .logs_per_epoch = Fraction(5, 2)});
  EXPECT_EQ(events.log_period, 3);
  ASSERT_EQ(events.warnings.size(), 1u);
  EXPECT_SAYS(events.warnings.front(),
              "--logs-per-epoch 5/2: ", "The closest possible frequency is 2, ");
}

TEST(Logs, MoreThanUpdatesIsOnePerUpdate) {
  const HostEvents events = plan_host_events(
      {.updates_per_epoch = 3, .epochs = 2, .logs_per_epoch = Fraction(2147483647)});
  EXPECT_EQ(events.log_period, 1);
  ASSERT_EQ(events.warnings.size(), 1u);
  EXPECT_SAYS(events.warnings.front(), "frequency is 3, every 1 weight update");
}

void expect_stops_at_every_event(const HostEventRequest& request) {
  const HostEvents events = plan_host_events(request);
  const Played played = play(events);
  size_t logs_due = 0;
  size_t checkpoints_due = 0;
  for (int64_t done = 0; done <= events.total; ++done) {
    if (logs_at(events, done)) ++logs_due;
    if (events.checkpoints_at(done)) ++checkpoints_due;
  }
  EXPECT_EQ(played.stops.back(), request.epochs * request.updates_per_epoch);
  EXPECT_EQ(played.logs.size(), logs_due);
  EXPECT_EQ(played.checkpoints.size(), checkpoints_due);
  EXPECT_EQ(logs_due == 0, request.logs_per_epoch == Fraction(0));
  EXPECT_EQ(checkpoints_due == 0, request.checkpoint->per_epoch == Fraction(0));
  EXPECT_TRUE(played.logs.empty() || played.logs.back() == events.total);
  for (const int64_t stop : played.stops) {
    EXPECT_LE(events.next_execution(stop), events.execution);
  }
}

TEST(HostEvents, EverySmallRunStopsAtEveryEvent) {
  const std::vector<Fraction> frequencies = {Fraction(0),    Fraction(1, 3), Fraction(1, 2),
                                             Fraction(2, 3), Fraction(1),    Fraction(3, 2),
                                             Fraction(2),    Fraction(4),    Fraction(100)};
  const std::vector<Fraction> firsts = {Fraction(0), Fraction(1, 3), Fraction(1), Fraction(5, 2),
                                        Fraction(6)};
  for (int64_t updates = 1; updates <= 12; ++updates) {
    for (const Fraction& logs : frequencies) {
      for (const Fraction& checkpoints : frequencies) {
        for (const Fraction& first : firsts) {
          SCOPED_TRACE(concat(updates, ", logs ", to_string(logs), ", checkpoints ",
                              to_string(checkpoints), " from ", to_string(first)));
          expect_stops_at_every_event({.updates_per_epoch = updates,
                                       .epochs = 6,
                                       .logs_per_epoch = logs,
                                       .checkpoint = CheckpointRequest{checkpoints, first}});
        }
      }
    }
  }
}

HostEvents plan_checkpoints(int64_t updates, int64_t epochs, const CheckpointRequest& checkpoint) {
  return plan_host_events(
      {.updates_per_epoch = updates, .epochs = epochs, .checkpoint = checkpoint});
}

TEST(Checkpoints, OncePerEpoch) {
  const HostEvents events = plan_checkpoints(10, 3, {});
  EXPECT_EQ(events.checkpoint_period, 10);
  EXPECT_EQ(play(events).checkpoints, (std::vector<int64_t>{10, 20, 30}));
  EXPECT_TRUE(events.warnings.empty());
}

TEST(Checkpoints, EveryThirdEpochFromTheSecond) {
  const HostEvents events = plan_checkpoints(781, 5, {Fraction(1, 3), Fraction(2)});
  EXPECT_EQ(events.checkpoint_period, 3 * 781);
  EXPECT_EQ(events.first_checkpoint, 2 * 781);
  EXPECT_EQ(play(events).checkpoints, (std::vector<int64_t>{2 * 781, 5 * 781}));
  EXPECT_TRUE(events.warnings.empty());
}

TEST(Checkpoints, TheFirstMayBeLaterThanOnePeriod) {
  const HostEvents events = plan_checkpoints(10, 4, {Fraction(2), Fraction(3)});
  EXPECT_EQ(play(events).checkpoints, (std::vector<int64_t>{30, 35, 40}));
}

TEST(Checkpoints, TheFirstMayFallInsideAnEpoch) {
  const HostEvents events = plan_checkpoints(10, 3, {Fraction(1), Fraction(1, 4)});
  EXPECT_EQ(events.first_checkpoint, 3);  // 2.5, halves are rounded up
  EXPECT_EQ(events.execution, 10);
  EXPECT_EQ(play(events).checkpoints, (std::vector<int64_t>{3, 13, 23}));
  EXPECT_EQ(play(events).stops, (std::vector<int64_t>{3, 10, 13, 20, 23, 30}));
  EXPECT_EQ(plan_checkpoints(10, 3, {Fraction(1), Fraction(6, 25)}).first_checkpoint, 2);  // 2.4
}

TEST(Checkpoints, AFirstBeforeTheFirstUpdateIsOnePeriodIn) {
  const HostEvents events = plan_checkpoints(10, 2, {Fraction(1), Fraction(1, 1000)});
  EXPECT_EQ(play(events).checkpoints, (std::vector<int64_t>{10, 20}));
}

TEST(Checkpoints, OnlyTheFirstWhenNoEpochFollows) {
  const HostEvents at_end = plan_checkpoints(10, 3, {Fraction(1, 2), Fraction(3)});
  EXPECT_EQ(play(at_end).checkpoints, (std::vector<int64_t>{30}));
  EXPECT_TRUE(at_end.warnings.empty());
  const HostEvents before = plan_checkpoints(10, 3, {Fraction(1, 2), Fraction(5, 2)});
  EXPECT_EQ(play(before).checkpoints, (std::vector<int64_t>{25}));
  EXPECT_TRUE(before.warnings.empty());
  const HostEvents often = plan_checkpoints(10, 3, {Fraction(2), Fraction(5, 2)});
  EXPECT_EQ(play(often).checkpoints, (std::vector<int64_t>{25, 30}));
}

TEST(Checkpoints, AFirstAfterTheEndIsAWarning) {
  const HostEvents events = plan_checkpoints(10, 3, {Fraction(1), Fraction(7, 2)});
  EXPECT_EQ(events.checkpoint_period, 0);
  EXPECT_EQ(events.execution, 10);
  ASSERT_EQ(events.warnings.size(), 1u);
  EXPECT_SAYS(events.warnings.front(), "--first-ckpt-epoch 7/2: ", "3 epochs", "checkpoint");
  EXPECT_TRUE(play(events).checkpoints.empty());
}

TEST(Checkpoints, RareOnesNeedNotDivideTheEpochs) {
  const HostEvents events = plan_checkpoints(4, 5, {Fraction(1, 2), Fraction(0)});
  EXPECT_EQ(events.checkpoint_period, 10);
  ASSERT_EQ(events.warnings.size(), 1u);
  EXPECT_SAYS(events.warnings.front(), "--ckpts-per-epoch 1/2: ", "20 weight updates of 5 ",
              "closest possible frequency is 2/5, every 10 ");
  const HostEvents rarer = plan_checkpoints(4, 2, {Fraction(1, 3), Fraction(0)});
  EXPECT_EQ(play(rarer).checkpoints, (std::vector<int64_t>{8}));
  EXPECT_EQ(rarer.warnings.size(), 1u);
}

TEST(Checkpoints, TheExecutionDividesBothPeriods) {
  const HostEvents events = plan_host_events({.updates_per_epoch = 12,
                                              .epochs = 2,
                                              .logs_per_epoch = Fraction(2),
                                              .checkpoint = CheckpointRequest{Fraction(3), {}}});
  EXPECT_EQ(events.log_period, 6);
  EXPECT_EQ(events.checkpoint_period, 4);
  EXPECT_EQ(events.execution, 2);
}

TEST(Checkpoints, EndExecutionsWithoutLogs) {
  const HostEvents events = plan_host_events({.updates_per_epoch = 10,
                                              .epochs = 5,
                                              .logs_per_epoch = Fraction(0),
                                              .checkpoint = CheckpointRequest{}});
  EXPECT_EQ(events.execution, 10);
  ASSERT_EQ(events.warnings.size(), 1u);
  EXPECT_SAYS(events.warnings.front(),
              "--logs-per-epoch 0: nothing is logged before the end of the run",
              "50 weight updates", "checkpoints, after 10 weight updates");
}

TEST(Checkpoints, ASingleOneInsideTheRunEndsAnExecutionWithoutLogs) {
  const HostEvents events =
      plan_host_events({.updates_per_epoch = 10,
                        .epochs = 3,
                        .logs_per_epoch = Fraction(0),
                        .checkpoint = CheckpointRequest{Fraction(1, 2), Fraction(5, 2)}});
  EXPECT_EQ(play(events).stops, (std::vector<int64_t>{25, 30}));
  ASSERT_EQ(events.warnings.size(), 1u);
  EXPECT_EQ(events.warnings.front().find("one execution"), std::string::npos);
}

TEST(Checkpoints, ZeroIsNone) {
  const HostEvents events = plan_checkpoints(10, 3, {Fraction(0), Fraction(7)});
  EXPECT_EQ(events.checkpoint_period, 0);
  EXPECT_EQ(events.execution, 10);
  EXPECT_TRUE(events.warnings.empty());
}

TEST(HostEvents, NoEpochsNoEvents) {
  const HostEvents events =
      plan_host_events({.updates_per_epoch = 10, .epochs = 0, .checkpoint = CheckpointRequest{}});
  EXPECT_EQ(events.total, 0);
  EXPECT_EQ(events.execution, 0);
  EXPECT_EQ(events.next_execution(0), 0);
  EXPECT_TRUE(events.warnings.empty());
}

TEST(HostEvents, ErrorsNameTheFlag) {
  const auto error = [](const HostEventRequest& request) {
    return message_of<UsageError>([&] { plan_host_events(request); });
  };
  EXPECT_SAYS(error({.logs_per_epoch = Fraction(-1, 2)}), "--logs-per-epoch: ", "0 or more",
              "-1/2");
  EXPECT_SAYS(error({.logs_per_epoch = Fraction(kFractionLimit)}),
              "--logs-per-epoch: ", "below 2^31", "got 2147483648");
  EXPECT_SAYS(error({.logs_per_epoch = Fraction(1, kFractionLimit)}),
              "--logs-per-epoch: ", "below 2^31", "got 1/2147483648");
  EXPECT_SAYS(error({.checkpoint = CheckpointRequest{Fraction(-1), {}}}),
              "--ckpts-per-epoch: ", "0 or more", "-1");
  EXPECT_SAYS(error({.checkpoint = CheckpointRequest{Fraction(1), Fraction(-1)}}),
              "--first-ckpt-epoch: ", "0 or more", "-1");
  EXPECT_SAYS(error({.epochs = -1}), "--num-epochs: ", "0 or more", "-1");
  EXPECT_SAYS(error({.updates_per_epoch = 0}), "--weight-updates-per-epoch: ", "at least 1",
              "got 0");
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(error({.updates_per_epoch = 2, .epochs = kHuge}).rfind("--num-epochs: ", 0), 0u);
  EXPECT_SAYS(error({.updates_per_epoch = 1, .epochs = (int64_t{1} << 53) + 1}),
              "--num-epochs: ", "2^53 weight updates", "9007199254740993 epochs");
}

TEST(HostEvents, LargeNumbersDoNotOverflow) {
  const HostEvents late =
      plan_checkpoints(int64_t{1} << 40, 8192, {Fraction(1), Fraction(2147483647, 1 << 20)});
  EXPECT_EQ(late.first_checkpoint, int64_t{2147483647} << 20);
  EXPECT_EQ(late.checkpoint_period, int64_t{1} << 40);
  const HostEvents many =
      plan_checkpoints(1, int64_t{1} << 33, {Fraction(1431655766, 2147483647), Fraction(0)});
  EXPECT_EQ(many.checkpoint_period, 2);  // 2/3: a half is nearer than all
}

TEST(HostEvents, ChecksItsCaller) {
  const HostEvents events = plan_host_events({.updates_per_epoch = 10});
  EXPECT_THROW(events.next_execution(-1), InternalError);
  EXPECT_THROW(events.next_execution(11), InternalError);
  EXPECT_FALSE(events.checkpoints_at(20));
}

}  // namespace
}  // namespace pando::app
