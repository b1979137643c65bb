// Data sets whose samples come one after the other, without a known number.
// SPDX-License-Identifier: MIT
#include "pando/data/sources/generator.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

// Numbers pass * 1000 + 0, 1, ..., and how often a pass was begun.
struct CountedPasses {
  std::shared_ptr<int> begun = std::make_shared<int>(0);

  GeneratorStart of(int64_t size) const {
    return [size, begun = begun](int64_t pass) -> Generator {
      ++*begun;
      return [=, next = int64_t{0}]() mutable -> std::optional<Sample> {
        if (next == size) return std::nullopt;
        return Sample{{Tensor::of_i32({}, {static_cast<int32_t>(pass * 1000 + next++)})}};
      };
    };
  }
};

std::vector<int> read(BatchStream stream, size_t most = 1000) {
  std::vector<int> values;
  while (values.size() < most) {
    const auto batch = stream.next();
    if (!batch) break;
    const auto x = batch->x().i32();
    values.insert(values.end(), x.begin(), x.begin() + batch->valid);
  }
  return values;
}

std::vector<int> numbers(int first, int count) {
  std::vector<int> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), first);
  return values;
}

TEST(Generator, IsCountedOnceAndReadInOrder) {
  const CountedPasses passes;
  const Dataset data = Dataset::from_generator(passes.of(10));
  EXPECT_EQ(data.size(), 10);
  EXPECT_EQ(to_string(data.fields()), "x i32[]");
  EXPECT_EQ(*passes.begun, 1);
  EXPECT_EQ(read(data.batch(4)), numbers(0, 10));
  EXPECT_EQ(*passes.begun, 2);
  // Epochs are passes, and prefetching keeps the order.
  std::vector<int> two = numbers(0, 10);
  for (const int value : numbers(1000, 10)) two.push_back(value);
  EXPECT_EQ(read(data.batch(3).repeat(2).prefetch(4, {.workers = 3})), two);
  EXPECT_EQ(*passes.begun, 4);
}

TEST(Generator, AKnownSizeNeedsNoCount) {
  const CountedPasses passes;
  const Dataset data = Dataset::from_generator(passes.of(10), {.size = 8});
  EXPECT_EQ(read(data.batch(4)), numbers(0, 8));
  EXPECT_EQ(*passes.begun, 2);
  const Dataset more = Dataset::from_generator(passes.of(10), {.size = 12});
  EXPECT_SAYS(error_of<InvalidArgument>([&] { read(more.batch(4)); }), "pass 0",
              "ended after 10 samples", "expected 12");
}

TEST(Generator, WithoutEndPassesFollowEachOther) {
  const Dataset data = Dataset::from_generator(CountedPasses().of(3), {.size = kEndless});
  EXPECT_EQ(data.size(), kEndless);
  EXPECT_EQ(read(data.batch(4).prefetch(2), 8),
            (std::vector<int>{0, 1, 2, 1000, 1001, 1002, 2000, 2001}));
  EXPECT_EQ(data.skip(4).size(), kEndless);
  EXPECT_EQ(read(data.skip(4).take(2).batch(4)), (std::vector<int>{1001, 1002}));
}

TEST(Generator, AStreamContinuesAnywhere) {
  const Dataset data = Dataset::from_generator(CountedPasses().of(10));
  BatchStream stream = data.batch(4).repeat(2);
  stream.restore({1, 4});
  EXPECT_EQ(read(std::move(stream)), numbers(1004, 6));
  EXPECT_EQ(data.get(7).x().i32()[0], 7);
  EXPECT_EQ(data.get(2).x().i32()[0], 2);
}

TEST(Generator, SharesAndShardsTogetherAreTheWhole) {
  const CountedPasses passes;
  const Dataset data = Dataset::from_generator(passes.of(10));
  std::vector<int> all;
  for (const int64_t i : {0, 1}) {
    for (const int value : read(data.batch(2).share({.total = 2, .first = i})))
      all.push_back(value);
  }
  std::ranges::sort(all);
  EXPECT_EQ(all, numbers(0, 10));
  EXPECT_EQ(read(data.shard(3, 1).batch(2)), (std::vector<int>{1, 4, 7}));
  // Two streams at once do not make each other begin again.
  const int before = *passes.begun;
  BatchStream one = data.batch(2), other = data.batch(2);
  while (one.next() && other.next()) {
  }
  EXPECT_LE(*passes.begun, before + 2);
}

TEST(Generator, ShufflesInGroups) {
  const CountedPasses passes;
  const Dataset data = Dataset::from_generator(passes.of(10));
  const Dataset mixed = data.shuffle({.seed = 3, .buffer = 4});
  const int before = *passes.begun;
  const std::vector<int> order = read(mixed.batch(3));
  EXPECT_EQ(*passes.begun, before + 1);
  EXPECT_NE(order, numbers(0, 10));
  std::vector<int> sorted = order;
  for (const size_t first : {0, 4, 8}) {
    std::sort(sorted.begin() + first, sorted.begin() + std::min<size_t>(first + 4, 10));
  }
  EXPECT_EQ(sorted, numbers(0, 10));
  BatchStream rest = mixed.batch(3);
  rest.restore({0, 6});
  EXPECT_EQ(read(std::move(rest)), (std::vector<int>(order.begin() + 6, order.end())));
  EXPECT_SAYS(error_of<InvalidArgument>([&] { data.shuffle({.buffer = 0}); }), "buffer", "got 0");
  // Once cached, the data are shuffled as a whole, after one pass.
  const int counted = *passes.begun;
  std::vector<int> whole = read(data.cache().shuffle({.seed = 3}).batch(3));
  EXPECT_EQ(*passes.begun, counted + 1);
  EXPECT_NE(whole, numbers(0, 10));
  std::ranges::sort(whole);
  EXPECT_EQ(whole, numbers(0, 10));
}

TEST(Generator, RefusesWhatMakesNoData) {
  const auto says = [](GeneratorStart begin, GeneratorOptions options = {}) {
    return error_of<InvalidArgument>([&] { Dataset::from_generator(std::move(begin), options); });
  };
  EXPECT_SAYS(says(nullptr), "expected a function");
  EXPECT_SAYS(says([](int64_t) { return Generator(); }), "pass 0", "expected a generator");
  EXPECT_SAYS(says(CountedPasses().of(0)), "pass 0 has no sample");
  EXPECT_SAYS(says(CountedPasses().of(3), {.size = 0}), "size", "got 0");
  EXPECT_SAYS(says(CountedPasses().of(3), {.size = -7}), "size", "got -7");
  const Dataset differing = Dataset::from_generator(CountedPasses().of(3), {.passes_differ = true});
  EXPECT_SAYS(error_of<InvalidArgument>([&] { differing.cache(); }), "order");
}

TEST(Generator, AnExceptionEndsItsRunOnly) {
  const auto failing = std::make_shared<bool>(true);
  const Dataset data = Dataset::from_generator(
      [=](int64_t) -> Generator {
        return [=, next = 0]() mutable -> std::optional<Sample> {
          if (next == 3 && *failing) throw IoError("broken pipe");
          if (next == 5) return std::nullopt;
          return Sample{{Tensor::of_i32({}, {next++})}};
        };
      },
      {.size = 5});
  EXPECT_SAYS(error_of<IoError>([&] { read(data.batch(2).prefetch(2)); }), "broken pipe");
  *failing = false;
  EXPECT_EQ(read(data.batch(2)), numbers(0, 5));
}

}  // namespace
}  // namespace pando
