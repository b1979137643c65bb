#include "pando/data/batch_stream.h"

#include <gtest/gtest.h>

#include "tests/data/counting.h"

namespace pando {
namespace {

using Labels = std::vector<int32_t>;

TEST(BatchStream, PadsTheLastBatchWithZeros) {
  auto stream = counting(5).batch(3);
  EXPECT_EQ(stream.batches_per_epoch(), 2);
  EXPECT_EQ(stream.samples_per_epoch(), 5);
  EXPECT_EQ(stream.batch_size(), 3);
  Batch batch;
  ASSERT_TRUE(stream.next(batch));
  EXPECT_EQ(batch.x().shape(), (Shape{3, 2}));
  EXPECT_EQ(batch.y().shape(), (Shape{3}));
  EXPECT_EQ(labels(batch), (Labels{0, 1, 2}));
  ASSERT_TRUE(stream.next(batch));
  EXPECT_EQ(batch.valid, 2);
  EXPECT_EQ(batch.first_sample, 3);
  EXPECT_EQ(labels(batch), (Labels{3, 4}));
  EXPECT_EQ(batch.y().i32()[2], 0);
  EXPECT_EQ(batch.x().f32()[4], 0.0f);
  EXPECT_EQ(batch.x().f32()[5], 0.0f);
  EXPECT_FALSE(stream.next(batch));
  EXPECT_EQ(batch.valid, 2);
  EXPECT_FALSE(stream.next());
}

TEST(BatchStream, DropsTheRemainderOnlyWhenAsked) {
  auto stream = counting(5).batch(3, {.drop_remainder = true});
  EXPECT_EQ(stream.batches_per_epoch(), 1);
  EXPECT_EQ(rest_of(stream), up_to(3));
  auto none = counting(2).batch(3, {.drop_remainder = true}).repeat();
  EXPECT_EQ(none.batches_per_epoch(), 0);
  EXPECT_FALSE(none.next());
  auto empty = counting(0).batch(3).repeat();
  EXPECT_FALSE(empty.next());
}

TEST(BatchStream, RefusesBadSizes) {
  EXPECT_THROW(counting(5).batch(0), InvalidArgument);
  EXPECT_THROW(counting(5).batch(1).repeat(0), InvalidArgument);
  EXPECT_THROW(counting(5).batch(1).prefetch(-1), InvalidArgument);
  EXPECT_THROW(counting(5).batch(1).prefetch(1, {.workers = 0}), InvalidArgument);
}

TEST(BatchStream, RepeatedEpochsHaveTheirOwnOrder) {
  const Dataset set = counting(20).shuffle({.seed = 9});
  auto stream = set.batch(8).repeat(2);
  Labels expected = labels(set, 0);
  for (const int32_t label : labels(set, 1)) expected.push_back(label);
  EXPECT_EQ(rest_of(stream), expected);
  auto product = counting(2).batch(2).repeat(2).repeat(3);
  EXPECT_EQ(rest_of(product).size(), 12u);
}

TEST(BatchStream, ARepeatedSetFillsBatchesAcrossTheSeam) {
  auto stream = counting(3).repeat(2).batch(4);
  EXPECT_EQ(labels(*stream.next()), (Labels{0, 1, 2, 0}));
  EXPECT_EQ(labels(*stream.next()), (Labels{1, 2}));
}

TEST(BatchStream, EndlessRepetitionCountsEpochs) {
  auto stream = counting(3).batch(2).repeat();
  Batch batch;
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(stream.next(batch));
  EXPECT_EQ(batch.epoch, 49);
  EXPECT_EQ(stream.state(), (StreamState{.epoch = 50, .sample = 0}));
}

// After an interruption at any batch, the stream continues as if it had not been interrupted.
TEST(BatchStream, GoesOnFromASavedPosition) {
  const Dataset set = counting(10).shuffle({.seed = 4});
  auto whole = set.batch(4).repeat(3);
  const Labels expected = rest_of(whole);
  for (int before = 0; before <= 9; ++before) {
    auto stream = set.batch(4).repeat(3);
    Labels seen;
    Batch batch;
    for (int i = 0; i < before; ++i) {
      ASSERT_TRUE(stream.next(batch));
      for (const int32_t label : labels(batch)) seen.push_back(label);
    }
    auto resumed = set.batch(4).repeat(3);
    resumed.restore(stream.state());
    for (const int32_t label : rest_of(resumed)) seen.push_back(label);
    EXPECT_EQ(seen, expected) << "after " << before << " batches";
  }
}

TEST(BatchStream, ResumesWithAnotherBatchSize) {
  auto stream = counting(10).batch(5).repeat(2);
  stream.restore({.epoch = 0, .sample = 3});
  EXPECT_EQ(labels(*stream.next()), (Labels{3, 4, 5, 6, 7}));
  EXPECT_EQ(labels(*stream.next()), (Labels{8, 9}));
  EXPECT_EQ(stream.state(), (StreamState{.epoch = 1, .sample = 0}));
}

TEST(BatchStream, RestoreChecksThePosition) {
  auto stream = counting(10).batch(4);
  EXPECT_THROW(stream.restore({.epoch = -1}), InvalidArgument);
  EXPECT_THROW(stream.restore({.sample = -1}), InvalidArgument);
  EXPECT_THROW(stream.restore({.sample = 11}), InvalidArgument);
  stream.restore({.epoch = 0, .sample = 10});
  EXPECT_EQ(stream.state(), (StreamState{.epoch = 1, .sample = 0}));
  EXPECT_FALSE(stream.next());
}

TEST(BatchStream, RecycledBuffersAreUsedAgain) {
  auto stream = counting(10).batch(4).repeat();
  auto first = stream.next();
  const std::byte* buffer = first->x().data();
  stream.recycle(std::move(*first));
  EXPECT_EQ(stream.next()->x().data(), buffer);
  Batch batch;
  ASSERT_TRUE(stream.next(batch));
  buffer = batch.x().data();
  ASSERT_TRUE(stream.next(batch));
  EXPECT_EQ(batch.x().data(), buffer);
}

TEST(BatchStream, ReplacesBuffersThatDoNotFit) {
  Batch batch;
  batch.fields.emplace_back(DType::i32, Shape{4, 2});
  auto stream = counting(10).batch(4);
  ASSERT_TRUE(stream.next(batch));
  EXPECT_EQ(batch.x().dtype(), DType::f32);
  auto longer = counting(10).batch(5);
  ASSERT_TRUE(longer.next(batch));
  EXPECT_EQ(batch.x().shape(), (Shape{5, 2}));
}

TEST(BatchStream, AFailedBatchCanBeTriedAgain) {
  auto tries = std::make_shared<int>(0);
  const Dataset set = counting(6).map_in_place([tries](const SampleView& sample) {
    if (sample.index() == 2 && ++*tries == 1) throw IoError("disk");
  });
  auto stream = set.batch(2);
  EXPECT_EQ(labels(*stream.next()), (Labels{0, 1}));
  EXPECT_THROW(stream.next(), IoError);
  EXPECT_EQ(rest_of(stream), (Labels{2, 3, 4, 5}));
}

}  // namespace
}  // namespace pando
