// Buckets of gradients: each is announced once per weight update, when all lanes are done with it.
#include <mutex>

#include <gtest/gtest.h>

#include "tests/runtime/trainee.h"

namespace pando::runtime {
namespace {

// What the hook saw: buckets in the order of the calls, and the gradients of all lanes.
struct Announced {
  std::vector<int> buckets;
  std::vector<std::string> bytes;
};

std::string bytes_of(const BoundProgram& bound, int bucket) {
  const compiler::Bucket& at = bound.program().memory().buckets[static_cast<size_t>(bucket)];
  const compiler::Operand operand{{compiler::Region::gradients, at.stage, at.begin}, nullptr};
  std::string bytes;
  for (int lane = 0; lane < bound.lanes(); ++lane) {
    bytes.append(reinterpret_cast<const char*>(bound.address(operand, lane)), at.end - at.begin);
  }
  return bytes;
}

void expect_buckets(TestNetwork network, const std::vector<std::string>& splits, int slices,
                    const Placement& placement) {
  TraineeOptions options{.workers = 2, .slices = slices, .batch = 2, .placement = placement};
  options.compiling.bucket_bytes = 1;  // one for each layer
  if (!splits.empty()) {
    network.network = network.network.with_splits(splits);
    options.compiling.pipelined = true;
  }
  Trainee trainee(network, options);
  BoundProgram& bound = trainee.executor().bound();
  const size_t buckets = trainee.program().memory().buckets.size();
  EXPECT_EQ(buckets, 3u);

  std::mutex mutex;
  Announced announced;
  bound.set_bucket_hook([&](int bucket) {
    const std::lock_guard lock(mutex);
    announced.buckets.push_back(bucket);
    announced.bytes.push_back(bytes_of(bound, bucket));
  });
  const int64_t update = 2LL * placement.replicas * placement.micro_batches;
  Samples samples(training_fields(network), 3 * update, 10);
  for (const int64_t count : {3 * update, update - 2}) {  // the last execution has fewer elements
    announced = {};
    const int64_t updates = trainee.run(samples.feed(2, 0, count)).updates;
    std::vector<int> wanted;
    for (int64_t i = 0; i < updates; ++i) {
      for (size_t bucket = 0; bucket < buckets; ++bucket)
        wanted.push_back(static_cast<int>(bucket));
    }
    EXPECT_EQ(announced.buckets, wanted);
    // Nothing was added afterwards.
    for (size_t bucket = 0; bucket < buckets; ++bucket) {
      const std::string& seen = announced.bytes[announced.bytes.size() - buckets + bucket];
      EXPECT_TRUE(seen == bytes_of(bound, static_cast<int>(bucket))) << bucket;
    }
  }
}

TEST(Buckets, AreAnnouncedOncePerUpdateInTheOrderOfBackward) {
  const TestNetwork network = test_network("mnist_cnn", {12, 12, 1});
  expect_buckets(network, {}, 1, {.replicas = 2});
  expect_buckets(network, {}, 2, {.replicas = 2, .micro_batches = 3});
  expect_buckets(network, {"conv2d_1", "dense"}, 2, {.replicas = 2, .micro_batches = 3});
}

// The order of buckets in memory is the order in which backward completes them.
TEST(Buckets, LieBehindEachOther) {
  const TestNetwork network = test_network("mnist_cnn", {12, 12, 1});
  TraineeOptions options;
  options.compiling.bucket_bytes = 1 << 12;
  const Trainee trainee(network, options);
  const compiler::MemoryPlan& memory = trainee.program().memory();
  ASSERT_GT(memory.buckets.size(), 1u);
  size_t end = 0;
  for (const compiler::Bucket& bucket : memory.buckets) {
    EXPECT_EQ(bucket.begin, end);
    EXPECT_GT(bucket.end, bucket.begin);
    end = bucket.end;
  }
  EXPECT_EQ(end, memory.stages[0].gradients);
}

}  // namespace
}  // namespace pando::runtime
