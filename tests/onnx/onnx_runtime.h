// Runs ONNX files by ONNX Runtime, which the package onnxruntime-node has for node.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "pando/base/json.h"
#include "pando/base/strings.h"
#include "pando/tensor/tensor.h"
#include "tests/data/foreign_software.h"
#include "tests/support/external.h"

namespace pando::onnx {

// The folder of packages from the registry: $PANDO_NPM, or a folder of the build into which they
// are installed without their scripts. Empty if that is not possible.
inline std::string npm_folder(const std::string& package, const std::string& version) {
  const char* given = std::getenv("PANDO_NPM");
  const std::string folder = given != nullptr ? given : PANDO_BUILD_FOLDER "/npm";
  if (std::filesystem::exists(folder + "/node_modules/" + package)) return folder;
  if (given != nullptr) return {};
  std::filesystem::create_directories(folder);
  const auto installed = testing_support::run_command(
      "npm install --ignore-scripts --no-audit --no-fund --silent --prefix '" + folder + "' " +
      package + "@" + version + " >/dev/null 2>&1");
  return installed.exit_code == 0 ? folder : std::string();
}

inline std::string onnx_runtime_folder() { return npm_folder("onnxruntime-node", "1.30.0"); }

inline std::vector<float> floats_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

// A file to run, with inputs in its own order of axes, and the stem of files to write.
struct RuntimeJob {
  std::string model;
  std::vector<std::pair<std::string, Tensor>> inputs;
  std::string stem;
};

struct RuntimeAnswer {
  std::vector<std::string> names;
  std::vector<Tensor> outputs;
  std::string error;
};

inline void write_job(std::ostream& jobs, const RuntimeJob& job) {
  Json line = {{"model", job.model}, {"stem", job.stem}, {"inputs", Json::array()}};
  for (size_t i = 0; i < job.inputs.size(); ++i) {
    const auto& [name, tensor] = job.inputs[i];
    const std::string path = concat(job.stem, ".in", i);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(tensor.f32().data()),
               static_cast<std::streamsize>(tensor.f32().size_bytes()));
    line["inputs"].push_back({{"name", name}, {"dims", tensor.shape().dims()}, {"file", path}});
  }
  jobs << line.dump() << "\n";
}

// Answers in the order of the jobs.
inline std::vector<RuntimeAnswer> run_onnx(const std::string& npm, const std::string& folder,
                                           const std::vector<RuntimeJob>& jobs) {
  const std::string list = folder + "/jobs";
  {
    std::ofstream file(list);
    for (const RuntimeJob& job : jobs) write_job(file, job);
  }
  const auto result =
      testing_support::run_command("node '" PANDO_SOURCE_DIR "/tests/onnx/run_onnx.js' '" + npm +
                                   "/node_modules/onnxruntime-node' <'" + list + "'");
  EXPECT_EQ(result.exit_code, 0);
  std::vector<RuntimeAnswer> answers;
  std::istringstream lines(result.output);
  for (std::string line; std::getline(lines, line);) {
    const Json answer = Json::parse(line);
    RuntimeAnswer parsed;
    if (answer.find("error") != nullptr) {
      parsed.error = answer.get<std::string>("error");
      answers.push_back(std::move(parsed));
      continue;
    }
    for (const Json& output : answer.at("outputs").items()) {
      Tensor tensor(DType::f32, Shape(output.get<std::vector<int64_t>>("dims")));
      const std::vector<float> numbers =
          floats_in(concat(jobs.at(answers.size()).stem, ".", parsed.outputs.size()));
      std::ranges::copy(numbers, tensor.f32().begin());
      parsed.names.push_back(output.get<std::string>("name"));
      parsed.outputs.push_back(std::move(tensor));
    }
    answers.push_back(std::move(parsed));
  }
  return answers;
}

// The largest difference relative to the largest number.
inline double relative_difference(const Tensor& expected, const Tensor& found) {
  if (expected.shape() != found.shape()) return std::numeric_limits<double>::infinity();
  double largest = 1e-30, error = 0;
  for (size_t i = 0; i < expected.f32().size(); ++i) {
    const double a = expected.f32()[i], b = found.f32()[i];
    if (!(std::abs(a - b) < 1e300)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, std::abs(a));
    error = std::max(error, std::abs(a - b));
  }
  return error / largest;
}

}  // namespace pando::onnx
