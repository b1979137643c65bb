// The weights of a model on their way to and from files and users.
// SPDX-License-Identifier: MIT
#include <cmath>

#include "pando/base/error.h"
#include "pando/store/assign.h"
#include "pando/store/weights_file.h"
#include "pando/train/model_impl.h"

namespace pando {

namespace {

constexpr float kMostF16 = 65504;
constexpr const char* kAverageDecay = "pando_ema_decay";  // an attribute of files of averages

// A warning about numbers that become the largest number of f16; empty: there are none.
std::string beyond_f16(const std::string& name, const Tensor& value) {
  Tensor wide(DType::f32, value.shape());
  runtime::assign_numbers(value, wide);
  int64_t count = 0;
  float most = 0;
  for (const float number : wide.f32()) {
    if (!(std::abs(number) > kMostF16)) continue;
    ++count;
    if (std::abs(number) > std::abs(most)) most = number;
  }
  if (count == 0) return "";
  return concat(count, count == 1 ? " weight of '" : " weights of '", name,
                count == 1 ? "' is" : "' are", " beyond the range of f16, up to ", most,
                ", and became ", most < 0 ? "-" : "", kMostF16);
}

}  // namespace

// Values are overwritten in place: programs hold their addresses.
void Model::Impl::assign(runtime::Variable& variable, const Tensor& value, LoadReport& report) {
  if (variable.value.dtype() == DType::f16 && value.dtype() != DType::f16) {
    std::string beyond = beyond_f16(variable.name, value);
    if (!beyond.empty()) report.out_of_range.push_back(std::move(beyond));
  }
  runtime::assign_numbers(value, variable.value);
  if (Tensor* average = variables.average_of(variable)) runtime::assign_numbers(value, *average);
}

Shape Model::Impl::file_shape(const std::string& name) const {
  for (const LayerInfo& layer : network.layers()) {
    for (const nn::WeightSpec& weight : layer.weights) {
      if (concat(layer.name, "/", weight.name) == name) return weight.file_shape();
    }
  }
  throw InternalError("no layer has the weight '", name, "'");
}

store::WeightsFile Model::Impl::weights_file() const {
  store::WeightsFile file;
  for (const LayerInfo& layer : network.layers()) {
    store::LayerWeights entry{.layer = layer.name};
    for (const nn::WeightSpec& weight : layer.weights) {
      const Tensor& value = variables.shown(variables.get(layer.name + "/" + weight.name));
      entry.weights.push_back({weight.name, value.reshaped(weight.file_shape())});
    }
    file.layers.push_back(std::move(entry));
  }
  if (variables.has_averages()) {
    file.attributes[kAverageDecay] = concat(compile_options->optimizer.rule->average_decay());
  }
  return file;
}

LoadReport Model::Impl::assign_weights(const store::WeightsFile& file, const LoadOptions& load) {
  std::vector<store::ExpectedWeight> expected;
  for (const LayerInfo& layer : network.layers()) {
    if (load.except.contains(layer.name)) continue;
    for (const nn::WeightSpec& weight : layer.weights) {
      expected.push_back({layer.name, weight.name, weight.file_shape()});
    }
  }
  if (!load.by_name && !load.except.empty()) {
    throw InvalidArgument("load_weights: except requires by_name");
  }
  const store::AssignOptions how = {
      .mode = load.by_name ? store::MatchMode::by_name : store::MatchMode::strict,
      .skip_mismatch = load.skip_mismatch};
  const store::Assignment plan = store::plan_assignment(expected, file, how);
  size_t loaded = 0;
  for (size_t i = 0; i < expected.size(); ++i) loaded += plan.sources[i] != nullptr ? 1 : 0;
  if (loaded == 0 && !expected.empty()) {
    throw InvalidArgument(file.path, ": no layer of the file matches a layer of model '",
                          options.name, "'",
                          plan.skipped.empty() ? "" : "; " + join(plan.skipped, "; "));
  }
  LoadReport report{.skipped = plan.skipped, .unused = plan.unused};
  if (const auto decay = file.attributes.find(kAverageDecay); decay != file.attributes.end()) {
    report.average_decay = decay->second;
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    if (plan.sources[i] == nullptr) continue;
    runtime::Variable& variable = variables.get(expected[i].layer + "/" + expected[i].name);
    assign(variable, plan.sources[i]->reshaped(variable.value.shape()), report);
  }
  return report;
}

}  // namespace pando
