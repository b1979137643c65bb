#include "pando/app/flags/batch_configuration.h"

#include <cmath>
#include <limits>

#include "pando/app/job/exit_code.h"
#include "tests/app/test_folder.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

std::string request_error(const BatchRequest& request) {
  return message_of<UsageError>([&] { make_batch_configuration(request); });
}

TEST(BatchConfiguration, CountDecidesTheGlobalBatch) {
  const auto batch = make_batch_configuration(
      {.micro_batch_size = 8, .num_replicas = 2, .gradient_accumulation_count = 4});
  EXPECT_EQ(batch.micro_batch_size, 8);
  EXPECT_EQ(batch.replicas, 2);
  EXPECT_EQ(batch.gradient_accumulation_count, 4);
  EXPECT_EQ(batch.global_batch_size, 64);
  EXPECT_EQ(batch.warning, std::nullopt);
}

TEST(BatchConfiguration, NeitherGivenMeansNoAccumulation) {
  const auto batch = make_batch_configuration({.micro_batch_size = 8, .num_replicas = 3});
  EXPECT_EQ(batch.gradient_accumulation_count, 1);
  EXPECT_EQ(batch.global_batch_size, 24);
  EXPECT_EQ(batch.warning, std::nullopt);
}

TEST(BatchConfiguration, AnExactGlobalBatchDecidesTheCount) {
  const auto batch =
      make_batch_configuration({.micro_batch_size = 4, .num_replicas = 2, .global_batch_size = 40});
  EXPECT_EQ(batch.gradient_accumulation_count, 5);
  EXPECT_EQ(batch.global_batch_size, 40);
  EXPECT_EQ(batch.warning, std::nullopt);
}

TEST(BatchConfiguration, AnInexactGlobalBatchIsRoundedWithAWarning) {
  const auto batch =
      make_batch_configuration({.micro_batch_size = 3, .num_replicas = 2, .global_batch_size = 10});
  EXPECT_EQ(batch.gradient_accumulation_count, 2);
  EXPECT_EQ(batch.global_batch_size, 12);
  EXPECT_SAYS(batch.warning.value_or(""), "--global-batch-size 10", "multiple of 6",
              "(--micro-batch-size 3 x --num-replicas 2)", "to 12", "count of 2");
}

TEST(BatchConfiguration, AHalfGoesToTheEvenCountAndNeverBelowOne) {
  const auto count = [](int64_t micro, int64_t global) {
    return make_batch_configuration({.micro_batch_size = micro, .global_batch_size = global})
        .gradient_accumulation_count;
  };
  EXPECT_EQ(count(2, 3), 2);    // 1.5
  EXPECT_EQ(count(2, 5), 2);    // 2.5
  EXPECT_EQ(count(2, 7), 4);    // 3.5
  EXPECT_EQ(count(2, 9), 4);    // 4.5
  EXPECT_EQ(count(2, 1), 1);    // 0.5
  EXPECT_EQ(count(100, 1), 1);  // 0.01
  // A half that a double cannot represent.
  const int64_t large = (int64_t{1} << 60) + 1;
  EXPECT_EQ(count(2, 2 * large + 1), large + 1);
}

TEST(BatchConfiguration, EverySmallRequestIsTheNearestPossible) {
  for (int64_t micro = 1; micro <= 7; ++micro) {
    for (int64_t replicas = 1; replicas <= 6; ++replicas) {
      for (int64_t global = 1; global <= 200; ++global) {
        const auto batch = make_batch_configuration(
            {.micro_batch_size = micro, .num_replicas = replicas, .global_batch_size = global});
        // The default rounding mode is half to even.
        const double quotient = static_cast<double>(global) / static_cast<double>(micro * replicas);
        const auto nearest = std::max<int64_t>(1, std::llrint(quotient));
        ASSERT_EQ(batch.gradient_accumulation_count, nearest) << micro << replicas << global;
        ASSERT_EQ(batch.global_batch_size, micro * replicas * nearest);
        ASSERT_EQ(batch.warning.has_value(), global % (micro * replicas) != 0);
      }
    }
  }
}

TEST(BatchConfiguration, BothGivenIsAnError) {
  EXPECT_SAYS(request_error({.gradient_accumulation_count = 2, .global_batch_size = 8}),
              "--gradient-accumulation-count 2", "--global-batch-size 8", "remove one");
}

TEST(BatchConfiguration, RangesAreChecked) {
  for (const int64_t wrong : {int64_t{0}, int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
    const std::string got = concat("got ", wrong);
    const auto says = [&](const BatchRequest& request, const char* flag) {
      EXPECT_SAYS(request_error(request), concat(flag, ": "), "at least 1", got);
    };
    says({.micro_batch_size = wrong}, "--micro-batch-size");
    says({.num_replicas = wrong}, "--num-replicas");
    says({.gradient_accumulation_count = wrong}, "--gradient-accumulation-count");
    says({.global_batch_size = wrong}, "--global-batch-size");
  }
}

TEST(BatchConfiguration, TooLargeAProductNamesTheFlags) {
  EXPECT_EQ(request_error({.micro_batch_size = kHuge, .num_replicas = 2})
                .rfind("--micro-batch-size and --num-replicas: the global batch of ", 0),
            0u);
  EXPECT_EQ(request_error({.micro_batch_size = 2, .gradient_accumulation_count = kHuge})
                .rfind("--gradient-accumulation-count: the global batch of 2 x ", 0),
            0u);
  // It becomes too large by rounding up.
  EXPECT_EQ(request_error({.micro_batch_size = 2, .global_batch_size = kHuge})
                .rfind("--global-batch-size: the global batch of 2 x ", 0),
            0u);
  EXPECT_EQ(request_error({.micro_batch_size = kHuge}), "");
}

TEST(UpdatesPerEpoch, AreTheWholeGlobalBatchesOfTheDataSet) {
  EXPECT_EQ(updates_per_epoch(50000, 64, -1), 781);
  EXPECT_EQ(updates_per_epoch(64, 64, -1), 1);
  EXPECT_EQ(updates_per_epoch(127, 64, -1), 1);
  EXPECT_EQ(updates_per_epoch(128, 64, -1), 2);
}

TEST(UpdatesPerEpoch, MayBeGiven) {
  EXPECT_EQ(updates_per_epoch(50000, 64, 1), 1);
  EXPECT_EQ(updates_per_epoch(50000, 64, 781), 781);
  EXPECT_EQ(updates_per_epoch(50000, 64, 10000), 10000);
}

TEST(UpdatesPerEpoch, RefusesOtherNumbers) {
  for (const int64_t wrong : {0, -2, -100}) {
    EXPECT_SAYS(message_of<UsageError>([&] { updates_per_epoch(100, 10, wrong); }),
                "--weight-updates-per-epoch: ", "at least 1", concat("got ", wrong));
  }
}

TEST(UpdatesPerEpoch, RefusesADataSetBelowOneGlobalBatch) {
  for (const int64_t wanted : {-1, 5}) {
    EXPECT_SAYS(message_of<UsageError>([&] { updates_per_epoch(63, 64, wanted); }), "63 samples",
                "global batch of 64", "--micro-batch-size", "--num-replicas",
                "--gradient-accumulation-count", "--global-batch-size");
  }
  EXPECT_THROW(updates_per_epoch(0, 1, -1), UsageError);
}

TEST(UpdatesPerEpoch, ChecksItsCaller) {
  EXPECT_THROW(updates_per_epoch(-1, 1, -1), InternalError);
  EXPECT_THROW(updates_per_epoch(1, 0, -1), InternalError);
}

}  // namespace
}  // namespace pando::app
