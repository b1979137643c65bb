// SPDX-License-Identifier: MIT
#include "pando/keras/optimizer_slots.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "pando/base/error.h"

namespace pando::keras {
namespace {

struct SlotWords {
  std::string ours;
  std::string early;  // until 2.10
  std::string late;   // since 2.11
};

struct RuleWords {
  std::string ours;
  std::string keras;
  std::vector<SlotWords> slots;
};

const std::vector<RuleWords>& known_rules() {
  static const std::vector<RuleWords> rules = {
      {"sgd", "SGD", {{"momentum", "momentum", "m"}}},
      {"adam", "Adam", {{"m", "m", "m"}, {"v", "v", "v"}}},
      {"adamw", "AdamW", {{"m", "m", "m"}, {"v", "v", "v"}}},
      {"rmsprop", "RMSprop", {{"rms", "rms", "velocity"}, {"momentum", "momentum", "momentum"}}},
      {"adagrad", "Adagrad", {{"accumulator", "accumulator", "accumulator"}}},
      {"adadelta",
       "Adadelta",
       {{"accum_grad", "accum_grad", "accumulated_grad"},
        {"accum_var", "accum_var", "accumulated_delta_var"}}}};
  return rules;
}

// The parts of a name without ":0" and without scopes of training.
std::vector<std::string> parts_of(const std::string& name) {
  std::vector<std::string> parts = split(name.substr(0, name.rfind(':')), '/');
  if (parts.size() > 1 && parts[0] == "training") parts.erase(parts.begin());
  return parts;
}

const RuleWords& rule_of(const NamedTensors& weights, const Json& training) {
  std::string name;
  if (const Json* config = training.is_object() ? training.find("optimizer_config") : nullptr) {
    // Since 2.11 optimizers are registered with a package: "Custom>Adam".
    name = config->get<std::string>("class_name", "");
    name.erase(0, name.rfind('>') + 1);
  }
  for (const auto& [weight, tensor] : weights) {
    const std::vector<std::string> parts = parts_of(weight);
    if (name.empty() && parts.size() > 1) name = parts[0];
  }
  for (const RuleWords& rule : known_rules()) {
    if (rule.keras == name) return rule;
  }
  throw Unsupported("optimizer_weights: the optimizer '", name.substr(0, 80),
                    "' is not one of Pando's");
}

// The slot for a word in the name of a weight; null: the word does not name a slot.
const SlotWords* slot_of(const RuleWords& rule, const std::string& word, bool early) {
  for (const SlotWords& slot : rule.slots) {
    if (word == (early ? slot.early : slot.late)) return &slot;
  }
  return nullptr;
}

int64_t count_in(const Tensor& tensor, const std::string& name) {
  constexpr float kMostCount = 1e15f;  // far from the ends of int64_t
  if (tensor.dtype() == DType::i32) return std::max<int64_t>(tensor.i32()[0], 0);
  const float count = cast(tensor, DType::f32).f32()[0];
  if (count >= 0 && count <= kMostCount) return static_cast<int64_t>(count);
  throw Unsupported("optimizer_weights: '", name.substr(0, 200),
                    "': expected a number of weight updates, got ", count);
}

bool is_count(const std::string& word) {
  return word == "iter" || word == "iterations" || word == "iteration";
}

}  // namespace

OptimizerSlots optimizer_slots(const NamedTensors& weights, const Json& training) {
  const RuleWords& rule = rule_of(weights, training);
  OptimizerSlots found{.rule = rule.ours, .slots = {}};
  for (const auto& [name, tensor] : weights) {
    std::vector<std::string> parts = parts_of(name);
    if (is_count(parts.back()) && tensor.elements() == 1) {
      found.iteration = count_in(tensor, name);
      continue;
    }
    if (tensor.elements() == 1 && parts.size() <= 2) continue;  // a rate or a decay
    if (parts[0] == rule.keras) parts.erase(parts.begin());
    const SlotWords* slot = parts.size() < 2 ? nullptr : slot_of(rule, parts.back(), true);
    if (slot != nullptr) {
      parts.pop_back();
    } else if (parts.size() > 1 && (slot = slot_of(rule, parts.front(), false)) != nullptr) {
      parts.erase(parts.begin());
    }
    if (slot == nullptr) {
      throw Unsupported("optimizer_weights: '", name.substr(0, 200), "' is not a slot of Pando's ",
                        rule.ours);
    }
    found.slots[slot->ours].emplace(join(parts, "/"), cast(tensor, DType::f32));
  }
  return found;
}

NamedTensors optimizer_weights(const OptimizerSlots& slots) {
  const auto rule = std::ranges::find(known_rules(), slots.rule, &RuleWords::ours);
  if (rule == known_rules().end()) {
    throw Unsupported("the optimizer ", slots.rule, " does not exist in Keras");
  }
  Tensor count(DType::i32, {});
  count.i32()[0] =
      static_cast<int32_t>(std::min<int64_t>(slots.iteration, std::numeric_limits<int32_t>::max()));
  NamedTensors weights = {{"iteration:0", count}};
  for (const SlotWords& words : rule->slots) {
    const auto found = slots.slots.find(words.ours);
    if (found == slots.slots.end()) continue;
    for (const auto& [weight, tensor] : found->second) {
      weights.emplace_back(concat(rule->keras, "/", words.late, "/", weight, ":0"), tensor);
    }
  }
  return weights;
}

}  // namespace pando::keras
