#include "pando/runtime/update_plan.h"

#include <set>

#include <gtest/gtest.h>

#include "tests/support/in_process.h"

namespace pando::runtime {
namespace {

TEST(UpdateDivision, OneReplicaTakesEverything) {
  const UpdateDivision division({.replicas = 1}, 4);
  const UpdatePlan plan{.elements = 3, .samples = 10};
  EXPECT_EQ(division.steps_of(plan), 3);
  EXPECT_EQ(division.own_elements(plan), 3);
  EXPECT_EQ(division.element_of(2, 0), 2);
  EXPECT_EQ(division.valid_of(plan, 1), 4);
  EXPECT_EQ(division.valid_of(plan, 2), 2);
  EXPECT_EQ(division.valid_of(plan, 3), 0);
}

TEST(UpdateDivision, EveryElementHasOneReplicaOnOneInstance) {
  const auto communicators = comm::in_process_instances(3);
  for (int64_t elements = 1; elements <= 13; ++elements) {
    const UpdatePlan plan{.elements = elements, .samples = 4 * elements - 1};
    std::set<int64_t> taken;
    int64_t own = 0;
    int64_t samples = 0;
    for (const auto& communicator : communicators) {
      const UpdateDivision division({.replicas = 2, .communicator = communicator}, 4);
      std::set<int64_t> places;
      for (int step = 0; step < division.steps_of(plan); ++step) {
        for (const int replica : {0, 1}) {
          const int64_t element = division.element_of(step, replica);
          samples += division.valid_of(plan, element);
          if (element >= elements) continue;
          EXPECT_TRUE(taken.insert(element).second) << element;
          places.insert(division.own_place_of(step, replica));
        }
      }
      // An instance gets its elements from its infeed in order, without gaps.
      EXPECT_EQ(static_cast<int64_t>(places.size()), division.own_elements(plan));
      if (!places.empty()) {
        EXPECT_EQ(*places.rbegin() + 1, division.own_elements(plan));
      }
      own += division.own_elements(plan);
    }
    EXPECT_EQ(static_cast<int64_t>(taken.size()), elements);
    EXPECT_EQ(own, elements);
    EXPECT_EQ(samples, plan.samples);
  }
}

}  // namespace
}  // namespace pando::runtime
