// SPDX-License-Identifier: MIT
#include "pando/comm/collectives.h"

#include <atomic>
#include <vector>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/comm/core_share.h"
#include "tests/support/expect_error.h"
#include "tests/support/thread_instances.h"

namespace pando::comm {
namespace {

using testing_support::error_of;
using testing_support::on_instances;

class Collectives : public ::testing::TestWithParam<int> {};

TEST_P(Collectives, GathersWhatEachHas) {
  on_instances(GetParam(), [](Communicator& self) {
    const std::string own(static_cast<size_t>(3 * self.rank()),
                          static_cast<char>('a' + self.rank()));
    const std::vector<std::string> all = all_gather(self, own);
    ASSERT_EQ(all.size(), static_cast<size_t>(self.size()));
    for (int i = 0; i < self.size(); ++i) {
      const std::string expected(static_cast<size_t>(3 * i), static_cast<char>('a' + i));
      EXPECT_EQ(all[static_cast<size_t>(i)], expected);
    }
  });
}

TEST_P(Collectives, BroadcastsFromAnyInstance) {
  on_instances(GetParam(), [](Communicator& self) {
    for (int root = 0; root < self.size(); ++root) {
      const std::string own =
          concat("from ", self.rank(), std::string(static_cast<size_t>(root), '.'));
      EXPECT_EQ(broadcast_text(self, own, root),
                concat("from ", root, std::string(static_cast<size_t>(root), '.')));
    }
    EXPECT_EQ(broadcast_text(self, self.rank() == 0 ? "" : "not this"), "");
  });
}

TEST_P(Collectives, AddsAndAsks) {
  on_instances(GetParam(), [](Communicator& self) {
    const std::vector<double> own = {1, static_cast<double>(self.rank())};
    const std::vector<double> sums = all_reduce(self, own);
    EXPECT_EQ(sums[0], self.size());
    EXPECT_EQ(sums[1], self.size() * (self.size() - 1) / 2);
    EXPECT_TRUE(all_reduce(self, {}).empty());
    EXPECT_FALSE(any(self, false));
    EXPECT_TRUE(any(self, self.rank() == self.size() - 1));
  });
}

TEST_P(Collectives, NobodyLeavesABarrierBeforeAllHaveCome) {
  std::atomic<int> arrived{0};
  on_instances(GetParam(), [&](Communicator& self) {
    ++arrived;
    barrier(self);
    EXPECT_EQ(arrived, self.size());
  });
}

INSTANTIATE_TEST_SUITE_P(All, Collectives, ::testing::Values(1, 2, 3, 4, 7));

TEST(CoreShare, IsAmongThoseWithTheSameCores) {
  on_instances(4, [](Communicator& self) {
    const CoreShare share = core_share(self, self.rank() == 1 ? "b: 0 1" : "a: 0 1");
    EXPECT_EQ(share.count, self.rank() == 1 ? 1 : 3);
    const int expected[] = {0, 0, 1, 2};
    EXPECT_EQ(share.index, expected[self.rank()]);
  });
  EXPECT_NE(usable_cores_text().find(": "), std::string::npos);
}

TEST(CollectivesErrors, AFailureEndsTheWait) {
  EXPECT_SAYS(error_of<CommError>([] {
                on_instances(2, [](Communicator& self) {
                  if (self.rank() == 1) throw CommError("instance 1 is gone");
                  barrier(self);
                });
              }),
              "instance 1 is gone");
}

TEST(CollectivesErrors, TheFirstCauseStays) {
  const auto instances = in_process_instances(1);
  EXPECT_FALSE(instances[0]->failed());
  instances[0]->fail("the first");
  instances[0]->fail("the second");
  EXPECT_TRUE(instances[0]->failed());
  EXPECT_SAYS(error_of<CommError>([&] { instances[0]->check(); }), "the first");
}

TEST(CollectivesErrors, SumsOfDifferentLengths) {
  on_instances(2, [](Communicator& self) {
    const std::vector<double> own(static_cast<size_t>(1 + self.rank()));
    EXPECT_SAYS(error_of<InvalidArgument>([&] { all_reduce(self, own); }),
                self.rank() == 0 ? "gives 1 numbers" : "gives 2 numbers");
  });
}

}  // namespace
}  // namespace pando::comm
