// Who makes batches ready, and how often.
// SPDX-License-Identifier: MIT
#include "tests/train/train_support.h"

namespace pando {
namespace {

TEST(DataWorkers, DoNotChangeTheResult) {
  Model one = compiled(small_cnn(), classifier());
  Model many = compiled(small_cnn(), classifier());
  one.fit(image_data(30), {.epochs = 2, .batch_size = 4, .data_workers = 1, .verbose = 0});
  many.fit(image_data(30), {.epochs = 2, .batch_size = 4, .data_workers = 5, .verbose = 0});
  EXPECT_TRUE(same_weights(one, many));
  EXPECT_SAYS(error_of([&] { one.fit(image_data(8), {.data_workers = -1}); }),
              "data_workers is -1");
}

TEST(DataWorkers, OneBatchCanServeAllSteps) {
  const Dataset data = image_data(30);
  FitOptions options{
      .epochs = 2, .batch_size = 8, .shuffle = false, .carry_remainder = true, .verbose = 0};
  Model repeated = compiled(small_cnn(), classifier());  // 3 updates of an epoch, the same 8
  repeated.fit(data.take(8).repeat(3), options);
  options.same_batch = true;
  Model same = compiled(small_cnn(), classifier());
  same.fit(data, options);
  EXPECT_TRUE(same_weights(repeated, same));
  EXPECT_SAYS(error_of([&] { same.fit(data, {.same_batch = true}); }),
              "same_batch wants carry_remainder or drop_remainder");
}

}  // namespace
}  // namespace pando
