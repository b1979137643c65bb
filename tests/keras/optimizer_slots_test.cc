#include "pando/keras/optimizer_slots.h"

#include <limits>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "tests/support/expect_error.h"

namespace pando::keras {
namespace {

using testing_support::error_of;

Tensor count_of(int32_t value) {
  Tensor count(DType::i32, {});
  count.i32()[0] = value;
  return count;
}

Json config_of(const std::string& class_name) {
  return Json::parse(R"({"optimizer_config": {"class_name": ")" + class_name + R"("}})");
}

TEST(KerasOptimizerSlots, NamesOfAllVersions) {
  const Tensor m = Tensor::of_f32({2}, {1, 2}), v = Tensor::of_f32({2}, {3, 4});
  const std::vector<NamedTensors> files = {
      {{"training/Adam/iterations:0", count_of(7)},
       {"training/Adam/a/conv/kernel/m:0", m},
       {"training/Adam/a/conv/kernel/v:0", v}},
      {{"Adam/iter:0", count_of(7)}, {"Adam/a/conv/kernel/m:0", m}, {"Adam/a/conv/kernel/v:0", v}},
      {{"iteration:0", count_of(7)},
       {"learning_rate:0", Tensor::of_f32({}, {0.5f})},
       {"Adam/m/a/conv/kernel:0", m},
       {"Adam/v/a/conv/kernel:0", v}}};
  for (const NamedTensors& file : files) {
    for (const Json& training : {Json(), config_of("Adam"), config_of("Custom>Adam")}) {
      const OptimizerSlots found = optimizer_slots(file, training);
      EXPECT_EQ(found.rule, "adam");
      EXPECT_EQ(found.iteration, 7);
      ASSERT_EQ(found.slots.size(), 2);
      EXPECT_EQ(found.slots.at("m").at("a/conv/kernel").f32()[1], 2);
      EXPECT_EQ(found.slots.at("v").at("a/conv/kernel").f32()[0], 3);
    }
  }
  // An optimizer that was built before it was used has no scope of its own.
  const OptimizerSlots unscoped = optimizer_slots(
      {{"iteration:0", count_of(7)}, {"m/conv/kernel:0", m}, {"v/conv/kernel:0", v}},
      config_of("Custom>AdamW"));
  EXPECT_EQ(unscoped.rule, "adamw");
  EXPECT_EQ(unscoped.slots.at("v").at("conv/kernel").f32()[1], 4);
  const OptimizerSlots moved = optimizer_slots(
      {{"SGD/dense/bias/momentum:0", m}, {"SGD/iter:0", count_of(1)}}, config_of("SGD"));
  EXPECT_TRUE(moved.slots.at("momentum").contains("dense/bias"));
}

// The words of Keras 2.11 to 2.15 (keras/optimizers), each as a file has it.
TEST(KerasOptimizerSlots, SlotsSinceVersion211) {
  struct Case {
    const char *rule, *theirs, *ours;
  };
  for (const auto& [rule, theirs, ours] :
       std::vector<Case>{{"SGD", "m", "momentum"},
                         {"RMSprop", "velocity", "rms"},
                         {"RMSprop", "momentum", "momentum"},
                         {"Adagrad", "accumulator", "accumulator"},
                         {"Adadelta", "accumulated_grad", "accum_grad"},
                         {"Adadelta", "accumulated_delta_var", "accum_var"}}) {
    const std::string name = concat(rule, "/", theirs, "/d/kernel:0");
    const OptimizerSlots found =
        optimizer_slots({{name, Tensor::of_f32({2}, {5, 6})}}, config_of(concat("Custom>", rule)));
    EXPECT_EQ(found.slots.at(ours).at("d/kernel").f32()[1], 6) << name;
  }
}

TEST(KerasOptimizerSlots, ComeBackInTheNamesOfTheLastVersion) {
  for (const char* rule : {"sgd", "rmsprop", "adagrad", "adadelta", "adamw"}) {
    OptimizerSlots slots{.rule = rule, .iteration = 3, .slots = {}};
    const std::string slot = std::string(rule) == "sgd"       ? "momentum"
                             : std::string(rule) == "rmsprop" ? "rms"
                             : std::string(rule) == "adagrad" ? "accumulator"
                             : std::string(rule) == "adamw"   ? "v"
                                                              : "accum_var";
    slots.slots[slot]["d/kernel"] = Tensor::of_f32({2}, {5, 6});
    const OptimizerSlots again = optimizer_slots(optimizer_weights(slots), Json());
    EXPECT_EQ(again.rule, rule);
    EXPECT_EQ(again.iteration, 3);
    EXPECT_EQ(again.slots.at(slot).at("d/kernel").f32()[1], 6) << rule;
  }
}

TEST(KerasOptimizerSlots, RefuseCountsThatAreNone) {
  for (const float count : {-1.0f, 1e30f, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_SAYS(error_of<Unsupported>([&] {
                  optimizer_slots({{"Adam/iter:0", Tensor::of_f32({}, {count})}}, Json());
                }),
                "Adam/iter:0", "weight updates");
  }
  EXPECT_EQ(optimizer_slots({{"Adam/iter:0", Tensor::of_f32({}, {12})}}, Json()).iteration, 12);
}

TEST(KerasOptimizerSlots, SayWhatIsNotOurs) {
  EXPECT_SAYS(error_of<Unsupported>([] { optimizer_slots({}, config_of("Ftrl")); }), "'Ftrl'");
  EXPECT_SAYS(
      error_of<Unsupported>([] {
        optimizer_slots({{"Adam/d/kernel/vhat:0", Tensor::of_f32({2}, {1, 2})}}, config_of("Adam"));
      }),
      "vhat", "adam");
  EXPECT_SAYS(error_of<Unsupported>([] { optimizer_weights({.rule = "lars", .slots = {}}); }),
              "lars", "Keras");
}

}  // namespace
}  // namespace pando::keras
