#include "pando/data/dataset.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/data/counting.h"

namespace pando {
namespace {

using Labels = std::vector<int32_t>;

TEST(Dataset, GivesSamplesAndFields) {
  const Dataset set = counting(5);
  EXPECT_EQ(set.get(3).x().f32()[1], 30.0f);
  EXPECT_EQ(set.field_index("y"), 1u);
  EXPECT_THROW(set.field_index("z"), InvalidArgument);
  EXPECT_THROW(set.get(5), InvalidArgument);
  EXPECT_THROW(set.get(-1), InvalidArgument);
  EXPECT_THROW(set.get(0, -1), InvalidArgument);
  EXPECT_THROW(Dataset(nullptr), InvalidArgument);
}

TEST(Dataset, GathersIntoTheFirstRows) {
  std::vector<Tensor> to;
  to.emplace_back(DType::f32, Shape{3, 2});
  to.emplace_back(DType::i32, Shape{3});
  const std::vector<int64_t> indices = {4, 1};
  counting(5).gather(indices, to);
  EXPECT_EQ(to[1].i32()[0], 4);
  EXPECT_EQ(to[1].i32()[1], 1);
  EXPECT_EQ(to[0].f32()[3], 10.0f);
  EXPECT_EQ(to[1].i32()[2], 0);
}

TEST(Dataset, GatherChecksWhatItIsGiven) {
  const Dataset set = counting(5);
  const std::vector<int64_t> indices = {4, 1};
  std::vector<Tensor> to;
  to.emplace_back(DType::f32, Shape{2, 2});
  EXPECT_THROW(set.gather(indices, to), InvalidArgument);
  to.emplace_back(DType::f32, Shape{2});
  EXPECT_THROW(set.gather(indices, to), InvalidArgument);
  to[1] = Tensor(DType::i32, {1});
  EXPECT_THROW(set.gather(indices, to), InvalidArgument);
  to[1] = Tensor(DType::i32, {2, 1});
  EXPECT_THROW(set.gather(indices, to), InvalidArgument);
  to[1] = Tensor(DType::i32, {2});
  EXPECT_NO_THROW(set.gather(indices, to));
  EXPECT_THROW(set.gather(std::vector<int64_t>{5}, to), InvalidArgument);
  EXPECT_THROW(set.gather(indices, to, -1), InvalidArgument);
}

TEST(Dataset, ShuffleIsAFunctionOfSeedAndEpoch) {
  const Dataset set = counting(100).shuffle({.seed = 7});
  const Labels second = labels(set, 1);
  const Labels first = labels(set, 0);
  EXPECT_NE(first, second);
  EXPECT_EQ(labels(set, 1), second);
  labels(set, 5);
  EXPECT_EQ(labels(set, 0), first);
  EXPECT_EQ(labels(counting(100).shuffle({.seed = 7}), 1), second);
  EXPECT_NE(labels(counting(100).shuffle({.seed = 8}), 1), second);
  Labels sorted = first;
  std::ranges::sort(sorted);
  EXPECT_EQ(sorted, up_to(100));
}

TEST(Dataset, ShuffleOnceKeepsItsOrder) {
  const Dataset set = counting(100).shuffle({.seed = 7, .each_epoch = false});
  EXPECT_NE(labels(set), up_to(100));
  EXPECT_EQ(labels(set, 0), labels(set, 3));
  EXPECT_THROW(counting(3).repeat().shuffle(), InvalidArgument);
}

TEST(Dataset, ShardsTakeEveryNth) {
  const Dataset set = counting(7);
  EXPECT_EQ(labels(set.shard(3, 0)), (Labels{0, 3, 6}));
  EXPECT_EQ(labels(set.shard(3, 2)), (Labels{2, 5}));
  EXPECT_EQ(set.shard(9, 8).size(), 0);
  EXPECT_EQ(labels(set.shard(1, 0)), up_to(7));
  EXPECT_THROW(set.shard(0, 0), InvalidArgument);
  EXPECT_THROW(set.shard(3, 3), InvalidArgument);
  EXPECT_THROW(set.shard(3, -1), InvalidArgument);
}

// Batches of 4 in two shards together form the global batches of 8, in turn.
TEST(Dataset, ShardsOfOneShuffleDivideEveryGlobalBatch) {
  const Dataset all = counting(24).shuffle({.seed = 3});
  const Labels order = labels(all);
  auto even = all.shard(2, 0).batch(4);
  auto odd = all.shard(2, 1).batch(4);
  for (size_t global = 0; global < 24; global += 8) {
    const Labels first = labels(*even.next());
    const Labels second = labels(*odd.next());
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(first[i], order[global + 2 * i]);
      EXPECT_EQ(second[i], order[global + 2 * i + 1]);
    }
  }
}

TEST(Dataset, SelectsByIndex) {
  const Dataset set = counting(5).select({4, 0, 4});
  EXPECT_EQ(set.size(), 3);
  EXPECT_EQ(set.get(0).y().i32()[0], 4);
  EXPECT_EQ(set.get(1).y().i32()[0], 0);
  EXPECT_EQ(counting(5).select({}).size(), 0);
  EXPECT_THROW(counting(5).select({5}), InvalidArgument);
  EXPECT_THROW(counting(5).select({-1}), InvalidArgument);
}

TEST(Dataset, TakesAndSkips) {
  EXPECT_EQ(labels(counting(5).take(2)), (Labels{0, 1}));
  EXPECT_EQ(labels(counting(5).skip(3)), (Labels{3, 4}));
  EXPECT_EQ(counting(5).take(9).size(), 5);
  EXPECT_EQ(counting(5).skip(9).size(), 0);
  EXPECT_THROW(counting(5).take(-1), InvalidArgument);
  EXPECT_THROW(counting(5).skip(-1), InvalidArgument);
}

TEST(Dataset, RepeatsWithAnotherOrderEachTime) {
  const Dataset once = counting(3);
  EXPECT_EQ(labels(once.repeat(2)), (Labels{0, 1, 2, 0, 1, 2}));
  const Dataset shuffled = counting(20).shuffle({.seed = 1});
  Labels expected = labels(shuffled, 2);
  for (const int32_t label : labels(shuffled, 3)) expected.push_back(label);
  EXPECT_EQ(labels(shuffled.repeat(2), 1), expected);
  EXPECT_THROW(once.repeat(0), InvalidArgument);
}

TEST(Dataset, RepeatsWithoutEnd) {
  const Dataset endless = counting(3).repeat();
  EXPECT_EQ(endless.size(), kEndless);
  EXPECT_EQ(labels(endless.skip(3'000'000'001).take(4)), (Labels{1, 2, 0, 1}));
  EXPECT_EQ(labels(endless.shard(2, 1).take(3)), (Labels{1, 0, 2}));
  EXPECT_EQ(counting(0).repeat().size(), 0);
}

TEST(Dataset, Concatenates) {
  const Dataset both = counting(2).concat(counting(3));
  EXPECT_EQ(labels(both), (Labels{0, 1, 0, 1, 2}));
  auto stream = both.shuffle({.seed = 5}).batch(5);
  Labels all = rest_of(stream);
  EXPECT_EQ(all, labels(both.shuffle({.seed = 5})));
  EXPECT_THROW(both.concat(one_hot(both, 3)), InvalidArgument);
  EXPECT_THROW(both.concat(both.repeat()), InvalidArgument);
}

TEST(Dataset, SplitsOffTheLastSamples) {
  const auto [train, validation] = counting(10).split(0.25);
  EXPECT_EQ(labels(train), up_to(7));
  EXPECT_EQ(labels(validation), (Labels{7, 8, 9}));
  EXPECT_THROW(counting(10).split(0), InvalidArgument);
  EXPECT_THROW(counting(10).split(1), InvalidArgument);
  EXPECT_THROW(counting(1).split(0.5), InvalidArgument);
}

TEST(Dataset, SplitMustComeBeforeShuffle) {
  const Dataset shuffled = counting(10).shuffle();
  EXPECT_THROW(shuffled.split(0.5), InvalidArgument);
  const auto same = [](const SampleView&) {};
  const auto copy = [](const SampleView&, const SampleView& to) { to.i32(0)[0] = 0; };
  EXPECT_THROW(shuffled.take(8).split(0.5), InvalidArgument);
  EXPECT_THROW(shuffled.repeat(2).split(0.5), InvalidArgument);
  EXPECT_THROW(counting(4).concat(shuffled).split(0.5), InvalidArgument);
  EXPECT_THROW(shuffled.map([](Sample sample) { return sample; }).split(0.5), InvalidArgument);
  EXPECT_THROW(shuffled.map_in_place(same).split(0.5), InvalidArgument);
  EXPECT_THROW(shuffled.map_field("y", {"y", DType::i32, {}}, copy).split(0.5), InvalidArgument);
  EXPECT_NO_THROW(counting(10).shuffle({.each_epoch = false}).split(0.5));
}

TEST(Dataset, MapsSamplesToOtherShapes) {
  const Dataset set = counting(4).map([](Sample sample) {
    const float sum = sample.x().f32()[0] + sample.x().f32()[1];
    return Sample{{Tensor::of_f32({1, 1}, {sum}), sample.y()}};
  });
  EXPECT_EQ(to_string(set.fields()), "x f32[1,1], y i32[]");
  EXPECT_EQ(set.get(3).x().f32()[0], 33.0f);
  EXPECT_EQ(labels(set), up_to(4));
  EXPECT_EQ(counting(0).map([](Sample sample) { return sample; }).size(), 0);
}

TEST(Dataset, MappedSamplesMustAgree) {
  const Dataset set = counting(4).map([](Sample sample) {
    if (sample.y().i32()[0] == 2) sample.fields.pop_back();
    return sample;
  });
  EXPECT_NO_THROW(set.get(1));
  EXPECT_THROW(set.get(2), InvalidArgument);
}

TEST(Dataset, MapsInPlaceWithEpochAndIndex) {
  const Dataset set = counting(6).skip(2).map_in_place([](const SampleView& sample) {
    sample.f32(0)[0] = static_cast<float>(100 * sample.epoch() + sample.index());
    sample.f32(0)[1] += 1;
  });
  const Sample sample = set.get(3, 2);
  EXPECT_EQ(sample.x().f32()[0], 203.0f);
  EXPECT_EQ(sample.x().f32()[1], 51.0f);
}

TEST(Dataset, AddsAFieldWithEpochAndIndex) {
  const Dataset set =
      counting(6).skip(2).add_field({"more", DType::i32, {2}}, [](const SampleView& sample) {
        sample.i32(0)[0] = static_cast<int32_t>(sample.epoch());
        sample.i32(0)[1] = static_cast<int32_t>(sample.index());
      });
  EXPECT_EQ(to_string(set.fields()), "x f32[2], y i32[], more i32[2]");
  auto stream = set.repeat(2).batch(6);
  const auto batch = stream.next();
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(batch->x().f32()[2 * i], static_cast<float>(2 + i % 4));
    EXPECT_EQ(batch->fields[2].i32()[2 * i], static_cast<int32_t>(i / 4));
    EXPECT_EQ(batch->fields[2].i32()[2 * i + 1], static_cast<int32_t>(i % 4));
  }
  EXPECT_THROW(set.add_field({"x", DType::u8, {}}, [](const SampleView&) {}), InvalidArgument);
}

TEST(Dataset, OneHotLabels) {
  const Dataset set = one_hot(counting(4), 3);
  EXPECT_EQ(to_string(set.fields()), "x f32[2], y f32[3]");
  const Sample sample = set.get(2);
  EXPECT_EQ(sample.x().f32()[1], 20.0f);
  EXPECT_EQ(std::vector<float>(sample.y().f32().begin(), sample.y().f32().end()),
            (std::vector<float>{0, 0, 1}));
  EXPECT_THROW(set.get(3), InvalidArgument);
  EXPECT_THROW(one_hot(set, 3), InvalidArgument);
  EXPECT_THROW(one_hot(set, 0), InvalidArgument);
  const Dataset bytes = Dataset::from_tensors(Tensor(DType::f32, {2}), Tensor(DType::u8, {2, 1}));
  EXPECT_EQ(one_hot(bytes, 2).get(1).y().f32()[0], 1.0f);
}

// A batch across the seam of a repeated set is gathered in two runs, each into its own rows.
TEST(Dataset, FieldMapWorksBelowRunsOfRows) {
  const Dataset set = one_hot(counting(3), 3).repeat(2);
  auto stream = set.batch(6);
  const auto batch = stream.next();
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(batch->y().f32()[3 * i + i % 3], 1.0f);
    EXPECT_EQ(batch->x().f32()[2 * i], static_cast<float>(i % 3));
  }
}

}  // namespace
}  // namespace pando
