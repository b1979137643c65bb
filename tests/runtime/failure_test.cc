// Failures on one device stop all of them and leave the weights of the last whole update.
#include <filesystem>
#include <limits>
#include <thread>

#include <gtest/gtest.h>

#include "tests/runtime/trainee.h"
#include "tests/support/expect_error.h"

namespace pando::runtime {
namespace {

using testing_support::error_of;

size_t threads_of_process() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    ++count;
  }
  return count;
}

// The kernel takes a moment to remove a thread that was joined.
void expect_threads(size_t count) {
  for (int tries = 0; tries < 1000 && threads_of_process() != count; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(threads_of_process(), count);
}

struct FailureCase {
  const char* name = nullptr;
  int replicas = 1;
  std::vector<std::string> splits;
  int slices = 1;
  int prefetch = 1;
  bool batch_norm = false;
  int statistics_group = 1;
};

// An optimizer without a count of updates, so that a failed update leaves no trace.
const Optimizer kRule = SGD({.learning_rate = 0.01, .momentum = 0.9});

// Updates of six elements for each replica; the source fails within the third update.
class Failure : public testing::TestWithParam<FailureCase> {
 protected:
  Failure() {
    options_.workers = 2;
    options_.slices = GetParam().slices;
    options_.batch = 2;
    options_.placement = {.replicas = GetParam().replicas,
                          .micro_batches = 6,
                          .statistics_group = GetParam().statistics_group};
    options_.shares_cores = true;  // the machine may have fewer
    options_.prefetch = GetParam().prefetch;
    if (GetParam().splits.empty()) return;
    network_.network = network_.network.with_splits(GetParam().splits);
    options_.compiling.pipelined = true;
  }

  int64_t update() const { return 2LL * 6 * GetParam().replicas; }

  TestNetwork network_ = GetParam().batch_norm ? test_network("toy_model_bn", {32, 32, 3})
                                               : test_network("mnist_cnn", {12, 12, 1});
  TraineeOptions options_;
  Samples samples_{training_fields(network_), 4 * 2 * 6 * 3, 10};
};

TEST_P(Failure, OfTheInfeedReachesTheCallerOnce) {
  std::thread([] {}).join();  // a sanitizer's own thread starts with the first
  const size_t threads = threads_of_process();
  const int64_t first_element = 2 * update() / 2;  // of the third update
  for (const int64_t at : {int64_t{0}, int64_t{1}, update() / 4, update() / 2 - 1}) {
    Trainee trainee(network_, options_, kRule);
    const Feed good = samples_.feed(2, 0, 4 * update());
    int64_t calls = 0;
    int thrown = 0;
    InfeedQueue infeed(
        [&](Batch& batch) {
          if (calls++ == first_element + at) {
            ++thrown;
            throw IoError("element ", first_element + at, " is bad");
          }
          return good.source(batch);
        },
        options_.prefetch);
    EXPECT_SAYS(error_of<IoError>([&] { trainee.run(trainee.plans(4 * update()), infeed); }),
                concat("element ", first_element + at, " is bad"));
    EXPECT_EQ(thrown, 1);
    Trainee whole(network_, options_, kRule);
    whole.run(samples_.feed(2, 0, 2 * update()));
    EXPECT_TRUE(trainee.state() == whole.state());
    // A later run continues from there, with the same queue or with another.
    whole.run(samples_.feed(2, 0, update()));
    EXPECT_EQ(trainee.run(samples_.feed(2, 0, update())).updates, 1);
    EXPECT_TRUE(trainee.state() == whole.state());
    EXPECT_EQ(trainee.run(trainee.plans(2), infeed).all.samples, 2);
  }
  expect_threads(threads);
}

TEST_P(Failure, OfALossThatIsNoNumberLeavesTheLastWholeUpdate) {
  Trainee until_then(network_, options_, kRule);
  until_then.run(samples_.feed(2, 0, 2 * update()));
  // In the middle of the third update.
  Tensor& x = samples_.field(0);
  const int64_t bad = 2 * update() + update() / 2;
  x.f32()[static_cast<size_t>(bad * (x.elements() / samples_.count()))] =
      std::numeric_limits<float>::quiet_NaN();
  Trainee trainee(network_, options_, kRule);
  const ExecutionTotals totals = trainee.run(samples_.feed(2, 0, 4 * update()));
  EXPECT_FALSE(totals.finite);
  EXPECT_EQ(totals.updates, 2);
  EXPECT_EQ(totals.elements, update());
  EXPECT_TRUE(trainee.state() == until_then.state());
}

TEST_P(Failure, OfTheQuestionWhetherToStop) {
  Trainee trainee(network_, options_, kRule);
  int asked = 0;
  EXPECT_SAYS(error_of<Unsupported>([&] {
                trainee.run(samples_.feed(2, 0, 3 * update()), {.stop = [&]() -> bool {
                              if (++asked == 2) throw Unsupported("no answer");
                              return false;
                            }});
              }),
              "no answer");
  Trainee whole(network_, options_, kRule);
  whole.run(samples_.feed(2, 0, update()));
  EXPECT_TRUE(trainee.state() == whole.state());
}

INSTANTIATE_TEST_SUITE_P(
    Placements, Failure,
    testing::Values(
        FailureCase{.name = "OneReplica", .slices = 2, .prefetch = 2},
        FailureCase{.name = "TwoReplicas", .replicas = 2, .slices = 2},
        FailureCase{.name = "ThreeReplicas", .replicas = 3},
        FailureCase{
            .name = "ThreeStages", .splits = {"conv2d_1", "dense"}, .slices = 2, .prefetch = 2},
        FailureCase{
            .name = "TwoReplicasOfTwoStages", .replicas = 2, .splits = {"flatten"}, .prefetch = 4},
        FailureCase{.name = "SlicesThatWait", .slices = 2, .batch_norm = true},
        FailureCase{
            .name = "StagesThatWait", .splits = {"conv2d_1"}, .slices = 2, .batch_norm = true},
        FailureCase{
            .name = "ReplicasThatWait", .replicas = 2, .batch_norm = true, .statistics_group = 2}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace pando::runtime
