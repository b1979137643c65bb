#include <map>

#include <gtest/gtest.h>

#include "pando/data/batch_stream.h"
#include "tests/data/counting.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;
using Labels = std::vector<int32_t>;
using Place = std::pair<int64_t, int64_t>;  // epoch, first sample

struct Division {
  int64_t size = 0;
  int64_t batch = 1;
  int64_t total = 1;
  int64_t count = 1;  // replicas of an instance
};

std::ostream& operator<<(std::ostream& out, const Division& division) {
  return out << division.size << " samples in batches of " << division.batch << " for "
             << division.total << " replicas, " << division.count << " per instance";
}

std::vector<Division> divisions() {
  std::vector<Division> result;
  for (const int64_t size : {1, 7, 24, 25, 40}) {
    for (const int64_t batch : {1, 3, 4, 50}) {
      for (const auto& [total, count] : {std::pair{1, 1}, {2, 1}, {4, 2}, {6, 2}, {6, 3}, {8, 1}}) {
        result.push_back({size, batch, total, count});
      }
    }
  }
  return result;
}

BatchStream part(BatchStream stream, const Division& division, int64_t instance) {
  return std::move(stream).share({division.total, instance * division.count, division.count});
}

// Collects the batches of a stream by their place; each place must occur once.
void collect(BatchStream& stream, std::map<Place, Labels>& into) {
  Batch batch;
  Place last{-1, -1};
  while (stream.next(batch)) {
    const Place place{batch.epoch, batch.first_sample};
    EXPECT_LT(last, place);
    last = place;
    EXPECT_TRUE(into.emplace(place, labels(batch)).second) << "twice: " << batch.first_sample;
  }
}

template <typename Make>
void expect_whole(const Make& make, const Division& division) {
  std::map<Place, Labels> expected;
  BatchStream whole = make();
  collect(whole, expected);
  std::map<Place, Labels> found;
  for (int64_t instance = 0; instance < division.total / division.count; ++instance) {
    BatchStream stream = part(make(), division, instance);
    collect(stream, found);
  }
  EXPECT_EQ(found, expected) << division;
}

TEST(BatchShare, TheSharesOfAllInstancesAreTheWholeStream) {
  for (const Division& division : divisions()) {
    const Dataset set = counting(division.size).shuffle({.seed = 3});
    for (const bool drop : {false, true}) {
      expect_whole([&] { return set.batch(division.batch, {.drop_remainder = drop}).repeat(3); },
                   division);
    }
    expect_whole([&] { return set.repeat(3).batch(division.batch); }, division);
    expect_whole([&] { return set.batch(division.batch).repeat(3).prefetch(3, {.workers = 2}); },
                 division);
  }
}

TEST(BatchShare, ABatchBelongsToTheInstanceOfItsReplica) {
  BatchStream stream = counting(22).batch(2).repeat(2).share({.total = 4, .first = 1, .count = 2});
  std::vector<Place> places;
  while (const auto batch = stream.next()) places.emplace_back(batch->epoch, batch->first_sample);
  EXPECT_EQ(places, (std::vector<Place>{{0, 2},
                                        {0, 4},
                                        {0, 10},
                                        {0, 12},
                                        {0, 18},
                                        {0, 20},
                                        {1, 2},
                                        {1, 4},
                                        {1, 10},
                                        {1, 12},
                                        {1, 18},
                                        {1, 20}}));
}

TEST(BatchShare, SamplesOfOthersAreNotRead) {
  std::map<int64_t, int> read;
  const Dataset set =
      counting(10).map_in_place([&](const SampleView& sample) { ++read[sample.index()]; });
  BatchStream stream = set.batch(2).share({.total = 2, .first = 1, .count = 1});
  EXPECT_EQ(rest_of(stream), (Labels{2, 3, 6, 7}));
  EXPECT_EQ(read, (std::map<int64_t, int>{{2, 1}, {3, 1}, {6, 1}, {7, 1}}));
}

TEST(BatchShare, AnInstanceWithoutABatchGetsNone) {
  BatchStream stream = counting(5).batch(3).repeat().share({.total = 4, .first = 2, .count = 2});
  EXPECT_FALSE(stream.next());
  EXPECT_EQ(stream.batches_per_epoch(), 2);
}

TEST(BatchShare, AllInstancesAreAtTheSamePlaceAfterARound) {
  for (const int64_t instance : {0, 1}) {
    BatchStream stream =
        counting(20).batch(2).share({.total = 4, .first = 2 * instance, .count = 2});
    EXPECT_EQ(stream.state(), StreamState{});
    stream.next();
    EXPECT_EQ(stream.state(), (StreamState{.sample = 4 * instance + 2}));
    stream.next();
    EXPECT_EQ(stream.state(), (StreamState{.sample = 8}));
  }
}

// After `rounds` with `division`, a stream continues with the same samples whatever the number of
// instances, for the order of one epoch and for remainders that are carried over.
TEST(BatchShare, GoesOnWithAnotherNumberOfInstances) {
  const Dataset set = counting(50).shuffle({.seed = 8});
  for (const bool carried : {false, true}) {
    const auto make = [&] { return carried ? set.repeat(2).batch(3) : set.batch(3).repeat(2); };
    const Division before{50, 3, 4, 1};
    for (int64_t rounds = 0; rounds <= 5; ++rounds) {
      BatchStream first = part(make(), before, 0);
      for (int64_t i = 0; i < rounds; ++i) ASSERT_TRUE(first.next());
      const StreamState saved = first.state();
      const auto go_on = [&] {
        BatchStream stream = make();
        stream.restore(saved);
        return stream;
      };
      for (const int64_t count : {1, 2, 4}) expect_whole(go_on, {50, 3, 4, count});
      for (const int64_t total : {3, 5, 6}) expect_whole(go_on, {50, 3, total, 1});
    }
  }
}

// A run that is resumed with another global batch starts a round where it stopped.
TEST(BatchShare, ARestoredStreamBeginsWithARound) {
  for (const int64_t instance : {0, 1}) {
    BatchStream stream = counting(30).batch(2).share({.total = 2, .first = instance, .count = 1});
    stream.restore({.sample = 5});
    EXPECT_EQ(stream.next()->first_sample, 5 + 2 * instance);
    EXPECT_EQ(stream.next()->first_sample, 9 + 2 * instance);
    EXPECT_EQ(stream.state(), (StreamState{.sample = 13}));
  }
}

TEST(BatchShare, RefusesAPartThatIsNotThere) {
  for (const BatchShare share : {BatchShare{2, -1, 1}, {2, 0, 0}, {2, 1, 2}, {0, 0, 1}}) {
    EXPECT_THROW(counting(5).batch(1).share(share), InvalidArgument);
  }
  const std::string text = error_of<InvalidArgument>(
      [] { counting(5).batch(1).share({.total = 4, .first = 3, .count = 2}); });
  EXPECT_SAYS(text, "2 batches", "number 3");
}

}  // namespace
}  // namespace pando
