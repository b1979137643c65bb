// SPDX-License-Identifier: MIT
#include "tests/support/in_process.h"

#include <numeric>
#include <thread>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/thread_instances.h"

namespace pando::comm {
namespace {

using testing_support::error_of;
using testing_support::on_instances;

template <typename T>
std::span<std::byte> bytes_of(std::vector<T>& values) {
  return std::as_writable_bytes(std::span<T>(values));
}

TEST(InProcess, KnowsItsPlace) {
  const auto instances = in_process_instances(3);
  ASSERT_EQ(instances.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(instances[static_cast<size_t>(i)]->rank(), i);
    EXPECT_EQ(instances[static_cast<size_t>(i)]->size(), 3);
  }
}

TEST(InProcess, MessagesOfOneTagArriveInTheirOrder) {
  const auto instances = in_process_instances(2);
  std::vector<int> numbers = {0};
  const auto sender = instances[0]->prepare({{1, 5, bytes_of(numbers)}}, {});
  for (int i = 0; i < 4; ++i) {
    numbers[0] = i;
    sender->start();
    EXPECT_TRUE(sender->done());
  }
  std::vector<int> first(1);
  std::vector<int> second(1);
  const auto receiver =
      instances[1]->prepare({}, {{0, 5, bytes_of(first)}, {0, 5, bytes_of(second)}});
  receiver->start();
  ASSERT_TRUE(receiver->done());
  EXPECT_EQ(first[0], 0);
  EXPECT_EQ(second[0], 1);
  receiver->start();
  ASSERT_TRUE(receiver->done());
  EXPECT_EQ(second[0], 3);
  receiver->start();
  EXPECT_FALSE(receiver->done());
}

TEST(InProcess, TagsAndSendersAreKeptApart) {
  const auto instances = in_process_instances(3);
  std::vector<int> numbers = {10, 20, 30};
  const auto all = bytes_of(numbers);
  const auto sent =
      instances[0]->prepare({{2, 1, all.subspan(0, 4)}, {2, 2, all.subspan(4, 4)}}, {});
  const auto more = instances[1]->prepare({{2, 1, all.subspan(8, 4)}}, {});
  sent->start();
  more->start();
  std::vector<int> got(3);
  const auto into = bytes_of(got);
  const auto received = instances[2]->prepare(
      {}, {{1, 1, into.subspan(8, 4)}, {0, 2, into.subspan(4, 4)}, {0, 1, into.subspan(0, 4)}});
  received->start();
  EXPECT_TRUE(received->done());
  EXPECT_EQ(got, numbers);
}

TEST(InProcess, AnInstanceMaySendToItselfAndNothingAtAll) {
  const auto instances = in_process_instances(1);
  std::vector<int> numbers = {7};
  std::vector<int> got = {0};
  const auto messages = instances[0]->prepare({{0, 1, bytes_of(numbers)}, {0, 2, {}}},
                                              {{0, 1, bytes_of(got)}, {0, 2, {}}});
  EXPECT_TRUE(messages->done()) << "nothing is under way";
  messages->start();
  EXPECT_TRUE(messages->done());
  EXPECT_EQ(got[0], 7);
}

TEST(InProcess, SizesMustAgree) {
  const auto instances = in_process_instances(2);
  std::vector<int> numbers(2);
  const auto sent = instances[0]->prepare({{1, 0, bytes_of(numbers)}}, {});
  sent->start();
  const auto received = instances[1]->prepare({}, {{0, 0, bytes_of(numbers).subspan(4)}});
  received->start();
  const std::string message = error_of<InternalError>([&] { received->done(); });
  for (const char* token : {"instance 0", "8 bytes", "instance 1", "4"}) {
    EXPECT_SAYS(message, token);
  }
}

TEST(InProcess, AFailureEndsAWaitFromAnotherThread) {
  const auto instances = in_process_instances(2);
  std::vector<int> numbers(1);
  const auto received = instances[1]->prepare({}, {{0, 0, bytes_of(numbers)}});
  received->start();
  std::thread monitor([&] { instances[1]->fail("instance 0 died"); });
  EXPECT_SAYS(error_of<CommError>([&] {
                while (!received->done()) std::this_thread::yield();
              }),
              "instance 0 died");
  monitor.join();
  EXPECT_SAYS(error_of<CommError>([&] { received->start(); }), "instance 0 died");
}

TEST(InProcess, LongMessagesBetweenAllAtOnce) {
  on_instances(3, [](Communicator& self) {
    std::vector<int> own(100000);
    std::iota(own.begin(), own.end(), self.rank());
    std::vector<std::vector<int>> from(3, std::vector<int>(own.size()));
    std::vector<Outgoing> sent;
    std::vector<Incoming> received;
    for (int other = 0; other < 3; ++other) {
      sent.push_back({other, 9, bytes_of(own)});
      received.push_back({other, 9, bytes_of(from[static_cast<size_t>(other)])});
    }
    const auto messages = self.prepare(sent, received);
    for (int round = 0; round < 5; ++round) {
      messages->start();
      while (!messages->done()) std::this_thread::yield();
    }
    for (int other = 0; other < 3; ++other) {
      EXPECT_EQ(from[static_cast<size_t>(other)][99999], other + 99999);
    }
  });
}

}  // namespace
}  // namespace pando::comm
