#include <atomic>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "tests/data/counting.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

// The data set counting(size) that counts how often each sample is read.
struct Counted {
  explicit Counted(int64_t size)
      : reads(std::make_shared<std::vector<std::atomic<int>>>(static_cast<size_t>(size))),
        data(counting(size).map_in_place([reads = reads](const SampleView& sample) {
          ++(*reads)[static_cast<size_t>(sample.index())];
        })) {}

  std::shared_ptr<std::vector<std::atomic<int>>> reads;
  Dataset data;
};

TEST(Cache, ReadsEachSampleOnce) {
  const Counted counted(30);
  const Dataset cached = counted.data.cache();
  EXPECT_EQ(cached.fields(), counted.data.fields());
  for (int64_t epoch = 0; epoch < 3; ++epoch) EXPECT_EQ(labels(cached, epoch), up_to(30));
  EXPECT_EQ(cached.get(7).x().f32()[1], 70);
  for (const auto& reads : *counted.reads) EXPECT_EQ(reads, 1);
}

TEST(Cache, OnlyWhatIsUsed) {
  const Counted counted(10);
  const Dataset cached = counted.data.cache();
  cached.get(3);
  cached.get(3);
  EXPECT_EQ((*counted.reads)[3], 1);
  EXPECT_EQ((*counted.reads)[4], 0);
}

// New and cached samples alternate, and one occurs twice in a batch.
TEST(Cache, BatchesOfNewAndKeptSamples) {
  const Counted counted(20);
  const Dataset cached = counted.data.cache();
  cached.get(2);
  cached.get(5);
  std::vector<Tensor> batch = {Tensor(DType::f32, {7, 2}), Tensor(DType::i32, {7})};
  const std::vector<int64_t> wanted = {9, 2, 7, 7, 5, 9, 0};
  cached.gather(wanted, batch);
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(batch[1].i32()[i], wanted[i]);
    EXPECT_EQ(batch[0].f32()[2 * i + 1], static_cast<float>(10 * wanted[i]));
  }
  for (const size_t i : {0u, 2u, 5u, 7u, 9u}) EXPECT_EQ((*counted.reads)[i], 1);
}

TEST(Cache, SeveralThreadsReadEachSampleOnce) {
  const Counted counted(200);
  const Dataset cached = counted.data.cache();
  BatchStream stream = cached.shuffle({.seed = 1}).batch(7).repeat(4).prefetch(8, {.workers = 5});
  BatchStream plain = counting(200).shuffle({.seed = 1}).batch(7).repeat(4);
  EXPECT_EQ(rest_of(stream), rest_of(plain));
  for (const auto& reads : *counted.reads) EXPECT_EQ(reads, 1);
}

TEST(Cache, ThreadsThatWantTheSameSamplesWaitForEachOther) {
  const Counted counted(50);
  const Dataset cached = counted.data.cache();
  {
    std::vector<std::jthread> threads;
    for (int64_t t = 0; t < 4; ++t) {
      threads.emplace_back([&cached, t] {
        std::vector<Tensor> batch = {Tensor(DType::f32, {50, 2}), Tensor(DType::i32, {50})};
        std::vector<int64_t> order;
        for (int64_t i = 0; i < 50; ++i) order.push_back(t % 2 == 0 ? i : 49 - i);
        cached.gather(order, batch);
        for (size_t i = 0; i < 50; ++i) EXPECT_EQ(batch[1].i32()[i], order[i]);
      });
    }
  }
  for (const auto& reads : *counted.reads) EXPECT_EQ(reads, 1);
}

TEST(Cache, KeepsTheSampleOfEpochZero) {
  const Dataset cached =
      Dataset::generate(4, {{"x", DType::i32, {}}}, [](const SampleView& sample) {
        sample.i32(0)[0] = static_cast<int32_t>(sample.epoch());
      }).cache();
  EXPECT_EQ(cached.get(1, 5).x().i32()[0], 0);
  EXPECT_EQ(cached.get(1, 0).x().i32()[0], 0);
}

TEST(Cache, AFailureIsNotKept) {
  std::atomic<int> calls = 0;
  const Dataset cached =
      Dataset::generate(3, {{"x", DType::i32, {}}}, [&](const SampleView& sample) {
        if (sample.index() == 1 && ++calls == 1) throw IoError("first time");
        sample.i32(0)[0] = 8;
      }).cache();
  std::vector<Tensor> batch = {Tensor(DType::i32, {3})};
  const std::vector<int64_t> all = {0, 1, 2};
  EXPECT_SAYS(error_of<IoError>([&] { cached.gather(all, batch); }), "first time");
  cached.gather(all, batch);
  EXPECT_EQ(batch[0].i32()[1], 8);
  EXPECT_EQ(calls, 2);
}

TEST(Cache, TheLimitIsCheckedAtOnce) {
  const Dataset data = counting(100);  // 12 bytes each
  EXPECT_EQ(data.cache({.most_bytes = 1200}).size(), 100);
  const std::string error = error_of<ResourceError>([&] { data.cache({.most_bytes = 1199}); });
  EXPECT_SAYS(error, "cache", "100 samples", "12 bytes", "at most 1.2 KiB");
  EXPECT_SAYS(error, "most_bytes");
}

TEST(Cache, OrdersThatVaryAreRefused) {
  EXPECT_SAYS(error_of([] { counting(5).shuffle().cache(); }), "cache before shuffle");
  EXPECT_SAYS(error_of([] { counting(5).repeat().cache(); }), "cache before repeat");
  EXPECT_EQ(counting(5).shuffle({.each_epoch = false}).cache().size(), 5);
}

TEST(Cache, OfNothing) { EXPECT_EQ(counting(5).take(0).cache().size(), 0); }

}  // namespace
}  // namespace pando
