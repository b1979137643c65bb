// SPDX-License-Identifier: MIT
#include "pando/compiler/kernel_choices.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "pando/base/error.h"
#include "pando/base/strings.h"

namespace pando {

std::string to_string(Tuning tuning) {
  switch (tuning) {
    case Tuning::off: return "off";
    case Tuning::quick: return "quick";
    case Tuning::full: return "full";
  }
  PANDO_CHECK(false, static_cast<int>(tuning));
}

std::vector<std::string> to_texts(const KernelChoices& choices) {
  std::vector<std::string> texts;
  for (const auto& [key, candidate] : choices) texts.push_back(concat(key, "=", candidate));
  return texts;
}

KernelChoices parse_kernel_choices(const std::vector<std::string>& texts) {
  KernelChoices choices;
  for (const std::string& text : texts) {
    const size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      throw InvalidArgument("kernel choice '", text,
                            "': expected LAYER=KERNEL as config.yml of a tuned run has it");
    }
    choices[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return choices;
}

namespace compiler {
namespace {

std::string by(const std::vector<int64_t>& numbers) {
  std::vector<std::string> texts;
  for (const int64_t number : numbers) texts.push_back(std::to_string(number));
  return join(texts, "x");
}

std::string text_of(const ir::TensorType& type) {
  const std::string extents = by({type.shape.begin(), type.shape.end()});
  return type.dtype == DType::f32 ? extents : concat(to_string(type.dtype), ":", extents);
}

std::string text_of(const ir::Attribute& attribute) {
  if (const auto* ints = std::get_if<ir::Ints>(&attribute)) return by(*ints);
  if (const auto* text = std::get_if<std::string>(&attribute)) return *text;
  return ir::to_text(attribute);
}

}  // namespace

const KernelTime* KernelDecision::time_of(std::string_view name) const {
  const auto found = std::ranges::find(times, name, &KernelTime::candidate);
  return found == times.end() ? nullptr : &*found;
}

Decide decide_by(KernelChoices choices) {
  if (choices.empty()) return nullptr;
  return [choices = std::move(choices), last = std::make_shared<KernelDecision>()](
             const TunableLayer& layer) -> const KernelDecision* {
    const auto found = choices.find(layer.key);
    if (found == choices.end()) return nullptr;
    *last = {.candidate = found->second, .table = layer.table, .times = {}};
    return last.get();
  };
}

// Streams of random numbers differ from layer to layer and cost the same.
std::string layer_key(const ir::Node& node, std::string_view limits) {
  std::vector<std::string> parts = {node.op()};
  for (const ir::Value* value : node.inputs()) parts.push_back(text_of(value->type()));
  if (node.num_outputs() > 1) parts.push_back(concat("outputs:", node.num_outputs()));
  for (const auto& [name, value] : node.attributes().values()) {
    if (name != "half_stream") parts.push_back(concat(name, ":", text_of(value)));
  }
  if (!limits.empty()) parts.emplace_back(limits);
  return join(parts, "/");
}

}  // namespace compiler
}  // namespace pando
