// SPDX-License-Identifier: MIT
#include "pando/comm/mpi.h"

#include <cstring>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/comm/collectives.h"
#include "pando/comm/job.h"
#include "tests/support/expect_error.h"

namespace pando::comm {
namespace {

using std::chrono::milliseconds;
using testing_support::error_of;

template <typename T>
std::span<std::byte> bytes_of(std::vector<T>& values) {
  return std::as_writable_bytes(std::span<T>(values));
}

// Each test has a communicator of its own. They need several processes.
class Mpi : public ::testing::Test {
 protected:
  void SetUp() override {
    if (current_job().communicator == nullptr) GTEST_SKIP() << "this process is alone";
    self_ = join_mpi();
    next_ = (self_->rank() + 1) % self_->size();
    previous_ = (self_->rank() + self_->size() - 1) % self_->size();
  }

  // Sends numbers to the next instance and returns those of the previous one.
  std::vector<int> shifted(Communicator& communicator, size_t count, int tag) {
    std::vector<int> own(count);
    std::iota(own.begin(), own.end(), 1000 * communicator.rank());
    std::vector<int> got(count);
    const auto messages =
        communicator.prepare({{next_, tag, bytes_of(own)}}, {{previous_, tag, bytes_of(got)}});
    for (int round = 0; round < 3; ++round) {
      std::fill(got.begin(), got.end(), -1);
      messages->start();
      wait_for(*messages);
    }
    return got;
  }

  std::vector<int> expected(size_t count) const {
    std::vector<int> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 1000 * previous_);
    return numbers;
  }

  std::shared_ptr<MpiInstance> self_;
  int next_ = 0;
  int previous_ = 0;
};

TEST_F(Mpi, KnowsThisMachine) {
  EXPECT_EQ(self_->local_count(), self_->size());
  EXPECT_EQ(self_->local_index(), self_->rank());
  EXPECT_NE(mpi_library(), "none");
  EXPECT_EQ(mpi_library().find_first_of("\n\t,"), std::string::npos);
}

TEST_F(Mpi, MessagesOfAllSizesAgainAndAgain) {
  for (const size_t count : {0, 1, 1000, 100000, 3000000}) {
    EXPECT_EQ(shifted(*self_, count, 3), expected(count)) << count;
  }
  EXPECT_EQ(shifted(*self_, 5, Communicator::kTags - 1), expected(5));
}

TEST_F(Mpi, LongMessagesGoInPieces) {
  const auto pieces = join_mpi({.largest_piece = 1000});
  for (const size_t count : {0, 249, 250, 251, 1000, 12345}) {
    EXPECT_EQ(shifted(*pieces, count, 3), expected(count)) << count;
  }
  EXPECT_TRUE(pieces->finalize(std::nullopt));
}

TEST_F(Mpi, ProgressTakesNoMessageAway) {
  std::vector<int> own = {7};
  std::vector<int> got = {0};
  const auto messages =
      self_->prepare({{next_, 2, bytes_of(own)}}, {{previous_, 2, bytes_of(got)}});
  messages->start();
  for (int i = 0; i < 100; ++i) self_->progress();
  wait_for(*messages);
  EXPECT_EQ(got, own);
}

TEST_F(Mpi, AnInstanceMaySendToItself) {
  std::vector<int> own = {self_->rank()};
  std::vector<int> got = {-1};
  const auto messages =
      self_->prepare({{self_->rank(), 0, bytes_of(own)}}, {{self_->rank(), 0, bytes_of(got)}});
  EXPECT_TRUE(messages->done()) << "nothing is under way";
  messages->start();
  wait_for(*messages);
  EXPECT_EQ(got, own);
  EXPECT_TRUE(messages->done());
}

TEST_F(Mpi, MessagesOfOneTagArriveInTheirOrder) {
  std::vector<std::vector<int>> sent;
  std::vector<std::vector<int>> got;
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  for (int i = 0; i < 20; ++i) {
    sent.emplace_back(1 + 9000 * (i % 3), i);  // short ones may not overtake long ones
    got.emplace_back(sent.back().size());
  }
  for (size_t i = 0; i < sent.size(); ++i) {
    outgoing.push_back({next_, 7, bytes_of(sent[i])});
    incoming.push_back({previous_, 7, bytes_of(got[i])});
  }
  const auto messages = self_->prepare(outgoing, incoming);
  messages->start();
  wait_for(*messages);
  EXPECT_EQ(got, sent);
}

TEST_F(Mpi, ThreadsMayWaitAtOnce) {
  std::vector<std::vector<int>> got(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < got.size(); ++i) {
    threads.emplace_back([&, i] { got[i] = shifted(*self_, 1 + 40000 * i, static_cast<int>(i)); });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], expected(1 + 40000 * i));
}

TEST_F(Mpi, TellsOfMessagesOfTheWrongLength) {
  for (const size_t wrong : {9, 11}) {
    std::vector<int> own(10);
    std::vector<int> got(wrong);
    const auto messages =
        self_->prepare({{next_, 0, bytes_of(own)}}, {{previous_, 0, bytes_of(got)}});
    messages->start();
    const std::string message = error_of<CommError>([&] { wait_for(*messages); });
    EXPECT_SAYS(message, concat("instance ", previous_));
    EXPECT_SAYS(message, concat(wrong * sizeof(int)));  // MPI libraries say the rest differently
    barrier(*self_);
  }
}

TEST_F(Mpi, TellsOfAPeerThatDoesNotExist) {
  std::vector<int> own(1);
  EXPECT_SAYS(error_of<CommError>([&] {
                self_->prepare({{self_->size(), 0, bytes_of(own)}}, {});
              }),
              concat("instance ", self_->size()));
  EXPECT_SAYS(error_of<CommError>([&] {
                self_->prepare({}, {{-7, 0, bytes_of(own)}});
              }),
              "instance -7");
}

TEST_F(Mpi, StartsOnlyWhatHasArrived) {
  std::vector<int> own(1);
  const auto messages = self_->prepare({}, {{previous_, 0, bytes_of(own)}});
  messages->start();
  EXPECT_SAYS(error_of<InternalError>([&] { messages->start(); }), "not arrived yet");
}

TEST_F(Mpi, MessagesUnderWayCanBeDropped) {
  std::vector<int> small(1);
  std::vector<int> large(1000000);
  {
    const auto received =
        self_->prepare({}, {{previous_, 1, bytes_of(small)}, {previous_, 2, bytes_of(large)}});
    received->start();
    EXPECT_FALSE(received->done());
  }
  barrier(*self_);  // dropped messages take nothing away from others
  EXPECT_EQ(shifted(*self_, 3, 1), expected(3));
}

TEST_F(Mpi, AFailureEndsTheWait) {
  std::vector<int> got(1);
  const auto received = self_->prepare({}, {{previous_, 0, bytes_of(got)}});
  received->start();
  std::thread monitor([&] {
    std::this_thread::sleep_for(milliseconds(20));
    self_->fail("instance 9 died");
  });
  EXPECT_SAYS(error_of<CommError>([&] { wait_for(*received); }), "instance 9 died");
  monitor.join();
  EXPECT_SAYS(error_of<CommError>([&] { received->start(); }), "instance 9 died");
  EXPECT_SAYS(error_of<CommError>([&] { self_->finalize(std::nullopt); }), "instance 9 died");
}

TEST_F(Mpi, AfterTheEndNothingIsSent) {
  std::vector<int> got(1);
  const auto early = self_->prepare({}, {{previous_, 0, bytes_of(got)}});
  EXPECT_TRUE(self_->finalize(milliseconds(60000)));
  EXPECT_SAYS(error_of<CommError>([&] { early->start(); }), "after the end of the job");
  const auto late = self_->prepare({}, {{previous_, 0, bytes_of(got)}});
  EXPECT_SAYS(error_of<CommError>([&] { late->start(); }), "after the end of the job");
  self_->progress();
  EXPECT_TRUE(self_->finalize(std::nullopt)) << "again";
}

TEST_F(Mpi, DoesNotWaitForeverForTheEndOfOthers) {
  Communicator& all = *current_job().communicator;
  if (self_->rank() == 0) {
    EXPECT_FALSE(self_->finalize(milliseconds(30)));
  }
  barrier(all);
  if (self_->rank() != 0) {
    EXPECT_TRUE(self_->finalize(milliseconds(60000)));
  }
}

}  // namespace
}  // namespace pando::comm
