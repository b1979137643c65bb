// ONNX's own test data: cases of a model with inputs and the outputs that it should give.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pando/onnx/proto.h"

namespace pando::onnx {

struct ConformanceCase {
  std::string group;  // "node", "simple", ...
  std::string name;   // without "test_"
  ModelProto model;
  std::vector<TensorProto> inputs;
  std::vector<TensorProto> outputs;
  bool has_only_tensors = true;
  std::string unreadable;  // why the reader refused the model; empty: it did not
};

// The names of the cases of a group; empty if the folder is not there.
std::vector<std::string> conformance_cases(const std::string& folder, const std::string& group);
ConformanceCase read_case(const std::string& folder, const std::string& group,
                          const std::string& name);

enum class Verdict {
  kernels,   // a network of ours computed it
  folded,    // it was computed while importing
  not_ours,  // refused
  wrong,
};

struct Outcome {
  Verdict verdict = Verdict::not_ours;
  std::string reason;  // of a refusal or a wrong result
  double error = 0;    // the largest difference, relative to the largest number of the output
};

Outcome run_case(const ConformanceCase& test);

// Cases with a tolerance of their own, or none at all because the published numbers are doubtful.
struct SpecialCase {
  double tolerance = 0;  // 0: is not compared
  std::string reason;
};
const std::map<std::string, SpecialCase>& special_cases();

// "op", "element type", "rank", "computed operand", "opset", "data" or "form".
std::string kind_of_reason(const std::string& reason);
// The op that a row of the table is about: that of the only node, or what the case expands.
std::string op_of(const ConformanceCase& test);

}  // namespace pando::onnx
