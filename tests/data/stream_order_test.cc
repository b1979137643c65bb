#include "pando/data/stream_order.h"

#include <algorithm>
#include <deque>
#include <set>

#include <gtest/gtest.h>

#include "pando/base/random.h"
#include "tests/data/counting.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using data::stream_order;
using testing_support::error_of;

const std::vector<int64_t> kFiles = {13, 0, 40, 1, 7, 25, 25, 9, 3, 60};  // 183 records

RecordDataset records_of(const std::vector<int64_t>& files) {
  int64_t total = 0;
  for (const int64_t count : files) total += count;
  return {counting(total), {}, files};
}

std::vector<int64_t> sorted(std::vector<int64_t> order) {
  std::ranges::sort(order);
  return order;
}

std::vector<int64_t> range(int64_t first, int64_t end) {
  std::vector<int64_t> all;
  for (int64_t i = first; i < end; ++i) all.push_back(i);
  return all;
}

// Interleaves files, represented by queues of records.
std::vector<int64_t> simulated_interleave(std::deque<std::deque<int64_t>> files, size_t cycle,
                                          int64_t block) {
  std::vector<std::deque<int64_t>> open(cycle);
  std::vector<int64_t> result;
  const auto anything_left = [&] {
    return !files.empty() || std::ranges::any_of(open, [](const auto& f) { return !f.empty(); });
  };
  while (anything_left()) {
    for (auto& file : open) {
      while (file.empty() && !files.empty()) {
        file = files.front();
        files.pop_front();
      }
      for (int64_t i = 0; i < block && !file.empty(); ++i) {
        result.push_back(file.front());
        file.pop_front();
      }
    }
  }
  return result;
}

// Simulates a streaming program: the shard's files, their order, the cycle and the buffer.
std::vector<int64_t> simulate(const std::vector<int64_t>& files, const StreamOptions& options,
                              int64_t epoch) {
  std::vector<std::deque<int64_t>> mine;
  int64_t first = 0;
  for (size_t i = 0; i < files.size(); ++i) {
    const auto all = range(first, first + files[i]);
    first += files[i];
    if (static_cast<int64_t>(i) % options.shards == options.shard) {
      mine.emplace_back(all.begin(), all.end());
    }
  }
  const auto key = [&](const char* purpose) {
    return mix_keys(mix_keys(hash_name(purpose), options.seed), static_cast<uint64_t>(epoch));
  };
  std::deque<std::deque<int64_t>> in_order;
  if (options.shuffle) {
    for (const int64_t i : random_permutation(std::ssize(mine), key("files"))) {
      in_order.push_back(mine[static_cast<size_t>(i)]);
    }
  } else {
    in_order.assign(mine.begin(), mine.end());
  }
  auto records = simulated_interleave(in_order, static_cast<size_t>(options.cycle), options.block);
  if (!options.shuffle) return records;
  RandomStream random(key("buffer"));
  std::deque<int64_t> rest(records.begin(), records.end());
  std::vector<int64_t> buffer;
  std::vector<int64_t> result;
  while (!rest.empty() || !buffer.empty()) {
    while (!rest.empty() && std::ssize(buffer) < options.buffer) {
      buffer.push_back(rest.front());
      rest.pop_front();
    }
    const size_t at = random.next_below(buffer.size());
    result.push_back(buffer[at]);
    if (!rest.empty()) {
      buffer[at] = rest.front();
      rest.pop_front();
    } else {
      buffer[at] = buffer.back();
      buffer.pop_back();
    }
  }
  return result;
}

TEST(StreamOrder, IsWhatAStreamWouldGive) {
  for (const int64_t cycle : {1, 2, 4, 20}) {
    for (const int64_t block : {1, 4, 100}) {
      for (const int64_t buffer : {1, 7, 50, 10000}) {
        for (const bool shuffle : {false, true}) {
          for (const int64_t shard : {0, 2}) {
            const StreamOptions options{.seed = 5,
                                        .shuffle = shuffle,
                                        .cycle = cycle,
                                        .block = block,
                                        .buffer = buffer,
                                        .shards = 3,
                                        .shard = shard};
            EXPECT_EQ(stream_order(kFiles, options, 1), simulate(kFiles, options, 1));
          }
        }
      }
    }
  }
}

TEST(StreamOrder, FilesTakeTurns) {
  EXPECT_EQ(stream_order({3, 5, 1, 2}, {.shuffle = false, .cycle = 2, .block = 2}, 0),
            (std::vector<int64_t>{0, 1, 3, 4, 2, 5, 6, 8, 7, 9, 10}));
}

TEST(StreamOrder, EachRecordOncePerEpochInAnotherOrder) {
  std::set<std::vector<int64_t>> orders;
  for (int64_t epoch = 0; epoch < 4; ++epoch) {
    const auto order = stream_order(kFiles, {.buffer = 20}, epoch);
    EXPECT_EQ(sorted(order), range(0, 183));
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 4u);
  EXPECT_NE(stream_order(kFiles, {.seed = 1}, 0), stream_order(kFiles, {.seed = 2}, 0));
}

TEST(StreamOrder, NoRecordComesMoreThanTheBufferTooEarly) {
  const std::vector<int64_t> one_file = {5000};
  for (const int64_t buffer : {1, 10, 100}) {
    const auto order = stream_order(one_file, {.seed = 3, .buffer = buffer}, 2);
    int64_t furthest = 0;
    for (int64_t place = 0; place < std::ssize(order); ++place) {
      furthest = std::max(furthest, order[static_cast<size_t>(place)] - place);
    }
    EXPECT_LT(furthest, buffer);
    EXPECT_GE(furthest, buffer - 1 - buffer / 5);  // and the buffer is used
  }
}

TEST(StreamOrder, DeterministicWithoutShuffle) {
  const StreamOptions plain{.shuffle = false, .cycle = 1, .block = 1};
  EXPECT_EQ(stream_order(kFiles, plain, 0), range(0, 183));
  const Dataset stream = stream_records(records_of(kFiles), plain);
  EXPECT_FALSE(stream.source()->order_varies());
  EXPECT_EQ(labels(stream, 5), up_to(183));
}

TEST(StreamRecords, OneOrderForAllEpochsWhenAsked) {
  const Dataset same = stream_records(records_of(kFiles), {.each_epoch = false});
  EXPECT_FALSE(same.source()->order_varies());
  EXPECT_EQ(labels(same, 0), labels(same, 3));
  const Dataset varying = stream_records(records_of(kFiles));
  EXPECT_TRUE(varying.source()->order_varies());
  EXPECT_NE(labels(varying, 0), labels(varying, 3));
  EXPECT_EQ(labels(varying, 0), labels(same, 0));
}

TEST(StreamRecords, ShardsShareNoRecordAndHaveAll) {
  for (const int64_t shards : {1, 2, 3, 10}) {
    std::vector<int64_t> all;
    for (int64_t shard = 0; shard < shards; ++shard) {
      const StreamOptions options{.buffer = 30, .shards = shards, .shard = shard};
      const Dataset stream = stream_records(records_of(kFiles), options);
      const auto mine = labels(stream, 1);
      EXPECT_EQ(std::ssize(mine), stream.size());
      all.insert(all.end(), mine.begin(), mine.end());
    }
    EXPECT_EQ(sorted(all), range(0, 183));
  }
}

TEST(StreamRecords, TheSampleKeepsItsIndexForAugmentations) {
  RecordDataset records = records_of(kFiles);
  records.data = records.data.map_in_place(
      [](const SampleView& sample) { EXPECT_EQ(sample.index(), sample.i32(1)[0]); });
  labels(stream_records(records), 2);
}

TEST(StreamRecords, GoesOnInTheMiddleOfAnEpoch) {
  const Dataset stream = stream_records(records_of(kFiles), {.seed = 9, .buffer = 25});
  BatchStream whole = stream.batch(8).repeat(3);
  Batch batch;
  for (int i = 0; i < 31; ++i) ASSERT_TRUE(whole.next(batch));  // in the second epoch
  const StreamState state = whole.state();
  EXPECT_EQ(state.epoch, 1);
  EXPECT_GT(state.sample, 0);
  const Dataset again = stream_records(records_of(kFiles), {.seed = 9, .buffer = 25});
  BatchStream resumed = again.batch(8).repeat(3);
  resumed.restore(state);
  EXPECT_EQ(rest_of(resumed), rest_of(whole));
}

TEST(StreamRecords, SameForAnyNumberOfWorkers) {
  const Dataset stream = stream_records(records_of(kFiles), {.seed = 4, .buffer = 40});
  BatchStream alone = stream.batch(5).repeat(3);
  const auto wanted = rest_of(alone);
  EXPECT_EQ(wanted.size(), 3u * 183u);
  for (const int workers : {1, 2, 5}) {
    BatchStream stream_of_workers = stream.batch(5).repeat(3).prefetch(6, {.workers = workers});
    EXPECT_EQ(rest_of(stream_of_workers), wanted);
  }
}

TEST(StreamRecords, OptionsThatDescribeNoStream) {
  const RecordDataset records = records_of(kFiles);
  const auto error = [&](const StreamOptions& options) {
    return error_of([&] { stream_records(records, options); });
  };
  EXPECT_SAYS(error({.cycle = 0}), "stream", "cycle 0", "at least 1");
  EXPECT_SAYS(error({.block = -1}), "stream: block -1");
  EXPECT_SAYS(error({.buffer = 0}), "stream: buffer 0");
  EXPECT_SAYS(error({.shards = 0}), "stream: shards 0");
  EXPECT_SAYS(error({.shards = 2, .shard = 2}), "stream", "shard 2", "0 to 1");
  EXPECT_SAYS(error({.shard = -1}), "stream", "shard -1");
  EXPECT_SAYS(error({.shards = 11}), "stream", "11 shards", "10 files");
}

TEST(StreamRecords, FilesMustAddUp) {
  RecordDataset records = records_of(kFiles);
  ++records.records_per_file[0];
  EXPECT_SAYS(error_of([&] { stream_records(records); }), "10 files", "184 records", "183");
  records.records_per_file = {184, -1};
  EXPECT_THROW(stream_records(records), InvalidArgument);
}

}  // namespace
}  // namespace pando
