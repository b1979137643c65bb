// The table of optimizers: checks that every record is complete.
#include "pando/optim/optimizers.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "pando/base/error.h"

namespace pando::optim {
namespace {

TEST(Optimizers, EveryRecordMakesWhatItIsCalled) {
  for (const OptimizerRecord& record : optimizers()) {
    ASSERT_FALSE(record.forms.empty()) << record.name;
    EXPECT_TRUE(record.forms.front().key.empty()) << record.name;
    const Optimizer made = make_optimizer(record.name);
    EXPECT_EQ(made.rule->name(), record.name);
    EXPECT_EQ(made.learning_rate.at(0), record.learning_rate);
    EXPECT_EQ(&optimizer_record(record.name), &record);
  }
}

TEST(Optimizers, AFormIsChosenByOneOfItsOptions) {
  for (const OptimizerRecord& record : optimizers()) {
    for (const OptimizerForm& form : record.forms) {
      if (form.key.empty()) continue;
      EXPECT_NE(std::ranges::find(form.options, form.key, &OptimizerOption::name),
                form.options.end())
          << record.name;
    }
  }
}

TEST(Optimizers, WhatDecaysItselfNamesOneThatDoesNot) {
  for (const OptimizerRecord& record : optimizers()) {
    EXPECT_EQ(make_optimizer(record.name).rule->decays_weights(), !record.without_decay.empty());
    if (record.without_decay.empty()) continue;
    EXPECT_TRUE(optimizer_record(record.without_decay).without_decay.empty());
  }
}

TEST(Optimizers, SlotsHaveNamesOfTheirOwn) {
  for (const OptimizerRecord& record : optimizers()) {
    std::set<std::string> names;
    for (const SlotSpec& slot : make_optimizer(record.name).rule->slots()) {
      EXPECT_TRUE(names.insert(slot.name).second) << record.name << " " << slot.name;
    }
  }
}

TEST(Optimizers, UnknownNamesSuggest) {
  try {
    optimizer_record("adma");
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'adam'?"), std::string::npos);
  }
}

}  // namespace
}  // namespace pando::optim
