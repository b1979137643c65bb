// SPDX-License-Identifier: MIT
#include "tests/onnx/conformance.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <set>

#include "pando/base/error.h"
#include "pando/onnx/constant.h"
#include "tests/onnx/imported_model.h"

namespace pando::onnx {
namespace {

namespace fs = std::filesystem;

constexpr double kTolerance = 1e-5;

double tolerance_of(const ConformanceCase& test) {
  const auto found = special_cases().find(test.name);
  return found == special_cases().end() ? kTolerance : found->second.tolerance;
}

std::shared_ptr<const std::vector<uint8_t>> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  return std::make_shared<const std::vector<uint8_t>>(text.begin(), text.end());
}

std::vector<TensorProto> tensors_of(const std::string& folder, const std::string& stem) {
  std::vector<TensorProto> tensors;
  for (int i = 0;; ++i) {
    const std::string path = concat(folder, "/", stem, "_", i, ".pb");
    if (!fs::exists(path)) return tensors;
    tensors.push_back(parse_tensor(bytes_of(path), path));
  }
}

// bfloat16 is stored as uint16 in the test data.
void correct_types(const std::vector<ValueInfoProto>& values, std::vector<TensorProto>& tensors) {
  for (size_t i = 0; i < tensors.size() && i < values.size(); ++i) {
    const bool is_short = tensors[i].type == ElementType::u16;
    if (is_short && values[i].type == ElementType::bf16) tensors[i].type = ElementType::bf16;
  }
}

// The difference of two lists relative to the largest number; infinite if one of them differs.
double difference(const std::vector<double>& expected, const std::vector<double>& found) {
  const double infinite = std::numeric_limits<double>::infinity();
  if (expected.size() != found.size()) return infinite;
  double largest = 0, error = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i]) != std::isnan(found[i])) return infinite;
    if (std::isnan(expected[i]) || expected[i] == found[i]) continue;
    if (std::isinf(expected[i]) || std::isinf(found[i])) return infinite;
    error = std::max(error, std::abs(expected[i] - found[i]));
  }
  for (const double value : expected) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  return error == 0 ? 0 : error / std::max(largest, 1e-30);
}

std::vector<double> numbers_of(const Constant& constant) {
  std::vector<double> numbers;
  for (size_t i = 0; i < static_cast<size_t>(constant.elements()); ++i) {
    numbers.push_back(constant.number(i));
  }
  return numbers;
}

// The model with some inputs as constants, and the extents of the others as the case has them.
ModelProto bound(const ConformanceCase& test, const std::function<bool(size_t)>& is_constant) {
  ModelProto model = test.model;
  size_t given = 0;
  for (ValueInfoProto& input : model.graph.inputs) {
    const bool has_value = std::ranges::any_of(
        model.graph.initializers, [&](const TensorProto& t) { return t.name == input.name; });
    if (has_value || given >= test.inputs.size()) continue;
    TensorProto value = test.inputs[given];
    value.name = input.name;
    input.shape.assign(value.dims.size(), {});
    for (size_t i = 0; i < value.dims.size(); ++i) input.shape[i].value = value.dims[i];
    input.has_shape = true;
    if (is_constant(given)) model.graph.initializers.push_back(std::move(value));
    ++given;
  }
  return model;
}

Tensor tensor_of(const TensorProto& value, Batch batch) {
  std::vector<int64_t> dims = value.dims;
  if (batch == Batch::none) dims.insert(dims.begin(), 1);
  const std::vector<float> numbers = value.floats();
  Tensor tensor(DType::f32, Shape(dims));
  std::ranges::copy(numbers, tensor.f32().begin());
  return tensor;
}

// The result of a network, compared with what the case expects.
Outcome compared(const ConformanceCase& test, const ImportedNetwork& imported,
                 const std::vector<Tensor>& results, Batch batch) {
  Outcome outcome{.verdict = Verdict::kernels};
  for (size_t i = 0; i < test.outputs.size(); ++i) {
    const TensorProto& expected = test.outputs[i];
    const Tensor y = with_axes(results.at(i), inverse(imported.output_orders.at(i)));
    std::vector<int64_t> dims = expected.dims;
    if (batch == Batch::none) dims.insert(dims.begin(), 1);
    if (y.shape() != Shape(dims)) {
      return {Verdict::wrong,
              concat("output ", i, ": expected ", Shape(dims), ", got ", y.shape())};
    }
    const std::vector<float> numbers = expected.floats();
    outcome.error = std::max(outcome.error, difference({numbers.begin(), numbers.end()},
                                                       {y.f32().begin(), y.f32().end()}));
  }
  if (!(outcome.error <= tolerance_of(test))) {
    return {Verdict::wrong, concat("the results differ by ", outcome.error), outcome.error};
  }
  return outcome;
}

Outcome run_network(const ConformanceCase& test, const std::function<bool(size_t)>& is_constant,
                    Batch batch) {
  for (const TensorProto& output : test.outputs) {
    if (output.type != ElementType::f32 && output.type != ElementType::f64) {
      return {Verdict::not_ours, concat("an output: expected float, got ", to_string(output.type))};
    }
  }
  const ImportedNetwork imported =
      import_network(bound(test, is_constant), {.extents = {}, .batch = batch});
  std::vector<std::pair<std::string, Tensor>> feeds;
  int64_t samples = batch == Batch::none ? 1 : -1;
  for (size_t i = 0, fed = 0; i < test.inputs.size(); ++i) {
    if (is_constant(i)) continue;
    const TensorProto& value = test.inputs[i];
    if (batch == Batch::first_axis && samples >= 0 && samples != value.dims.at(0)) {
      return {Verdict::not_ours, "inputs with different numbers of samples"};
    }
    if (batch == Batch::first_axis) samples = value.dims.at(0);
    feeds.emplace_back(imported.network.inputs().at(fed).name,
                       with_axes(tensor_of(value, batch), imported.input_orders.at(fed)));
    ++fed;
  }
  Model model = model_of(imported);
  const std::vector<Tensor> results =
      model.predict_all(Dataset::from_fields(feeds), {.batch_size = samples});
  return compared(test, imported, results, batch);
}

Outcome run_folder(const ConformanceCase& test) {
  const std::vector<Constant> found = constant_outputs(bound(test, [](size_t) { return true; }));
  Outcome outcome{.verdict = Verdict::folded};
  for (size_t i = 0; i < test.outputs.size(); ++i) {
    const Constant expected = Constant::of(test.outputs[i]);
    if (found.at(i).dims != expected.dims) {
      return {Verdict::wrong, concat("output ", i, ": expected shape ", Shape(expected.dims),
                                     ", got ", Shape(found[i].dims))};
    }
    outcome.error = std::max(outcome.error, difference(numbers_of(expected), numbers_of(found[i])));
  }
  if (!(outcome.error <= tolerance_of(test))) {
    return {Verdict::wrong, concat("the constants differ by ", outcome.error), outcome.error};
  }
  return outcome;
}

Outcome refused_or(const std::function<Outcome()>& run) {
  try {
    return run();
  } catch (const Unsupported& error) {
    return {Verdict::not_ours, error.what()};
  } catch (const std::exception& error) {
    return {Verdict::wrong, error.what()};
  }
}

}  // namespace

std::vector<std::string> conformance_cases(const std::string& folder, const std::string& group) {
  std::vector<std::string> names;
  if (!fs::is_directory(folder + "/" + group)) return names;
  for (const auto& entry : fs::directory_iterator(folder + "/" + group)) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

ConformanceCase read_case(const std::string& folder, const std::string& group,
                          const std::string& name) {
  const std::string place = concat(folder, "/", group, "/", name);
  ConformanceCase test{.group = group, .name = name};
  if (test.name.starts_with("test_")) test.name.erase(0, 5);
  try {
    test.model = read_model(place + "/model.onnx");
  } catch (const Error& error) {
    test.unreadable = error.what();
    return test;
  }
  const auto is_tensor = [](const ValueInfoProto& value) {
    return value.is_tensor && value.type != ElementType::text;
  };
  test.has_only_tensors = std::ranges::all_of(test.model.graph.inputs, is_tensor) &&
                          std::ranges::all_of(test.model.graph.outputs, is_tensor);
  if (!test.has_only_tensors) return test;
  test.inputs = tensors_of(place + "/test_data_set_0", "input");
  test.outputs = tensors_of(place + "/test_data_set_0", "output");
  correct_types(test.model.graph.inputs, test.inputs);
  correct_types(test.model.graph.outputs, test.outputs);
  return test;
}

const std::map<std::string, SpecialCase>& special_cases() {
  static const std::map<std::string, SpecialCase> cases = [] {
    std::map<std::string, SpecialCase> all = {
        {"cast_FLOAT_to_BFLOAT16", {0, "the published numbers are cut off, ours rounded"}},
        {"castlike_FLOAT_to_BFLOAT16_expanded",
         {0, "the published numbers are cut off, ours rounded"}},
        {"resize_downsample_scales_linear_align_corners",
         {0, "published with an extent of 2.4 pixels; ours is whole"}}};
    for (const std::string window : {"blackman", "hamming", "hann"}) {
      for (const std::string kind : {"", "_symmetric"}) {
        all[window + "window" + kind + "_expanded"] = {1e-4,
                                                       "within 1e-4: the file has 2 pi as 6.28319"};
      }
    }
    return all;
  }();
  return cases;
}

Outcome run_case(const ConformanceCase& test) {
  const auto special = special_cases().find(test.name);
  if (special != special_cases().end() && special->second.tolerance == 0) {
    return {Verdict::not_ours, "data: " + special->second.reason};
  }
  if (!test.unreadable.empty()) return {Verdict::not_ours, test.unreadable};
  const std::vector<std::string> unknown = unknown_ops(test.model);
  if (!test.has_only_tensors) {
    return {Verdict::not_ours, "expected float, got texts, sequences or optional values"};
  }
  const auto whole_numbers = [&](size_t i) { return !is_floating(test.inputs[i].type); };
  const auto first = std::ranges::find_if(
      test.inputs, [](const TensorProto& input) { return is_floating(input.type); });
  const auto all_but_first = [&](size_t i) {
    return static_cast<std::ptrdiff_t>(i) != first - test.inputs.begin();
  };
  std::vector<std::function<Outcome()>> attempts;
  if (first != test.inputs.end() && unknown.empty()) {
    std::vector<Batch> batches = {Batch::none, Batch::first_axis};
    if (test.group.starts_with("pytorch")) std::ranges::reverse(batches);
    for (const Batch batch : batches) {
      attempts.emplace_back([=, &test] { return run_network(test, whole_numbers, batch); });
      attempts.emplace_back([=, &test] { return run_network(test, all_but_first, batch); });
    }
  }
  attempts.emplace_back([&] { return run_folder(test); });
  std::optional<Outcome> refusal, wrong;
  for (const auto& attempt : attempts) {
    const Outcome outcome = refused_or(attempt);
    if (outcome.verdict == Verdict::kernels || outcome.verdict == Verdict::folded) return outcome;
    const bool of_folder = &attempt == &attempts.back();
    if (outcome.verdict == Verdict::wrong) wrong = outcome;
    if (outcome.verdict == Verdict::not_ours && !(of_folder && refusal)) refusal = outcome;
  }
  if (wrong) return *wrong;
  if (!unknown.empty()) {
    return {Verdict::not_ours, concat("these nodes cannot be imported: ", join(unknown, "; "))};
  }
  return *refusal;
}

std::string kind_of_reason(const std::string& reason) {
  const auto has = [&](const char* words) { return reason.find(words) != std::string::npos; };
  if (reason.starts_with("data: ")) return "data";
  if (has("of ONNX: expected 6 to 21")) return "opset";
  if (has("cannot be imported")) return "op";
  if (has("expected float")) return "element type";
  if (has("rank: expected")) return "rank";
  if (has("is computed; expected a constant")) return "computed operand";
  return "form";
}

std::string op_of(const ConformanceCase& test) {
  if (test.group != "node") return test.group;
  std::set<std::string> ops;
  for (const NodeProto& node : test.model.graph.nodes) {
    ops.insert(node.domain.empty() ? node.op_type : node.domain + "." + node.op_type);
  }
  return ops.size() == 1 ? *ops.begin() : "several ops";
}

}  // namespace pando::onnx
