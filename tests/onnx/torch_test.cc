// Networks that PyTorch exported: their results here are those of PyTorch.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>

#include "tests/data/foreign_software.h"
#include "tests/onnx/imported_model.h"
#include "tests/support/external.h"
#include "tests/support/temp_folder.h"

namespace pando::onnx {
namespace {

using testing_support::kMissingPackage;
using testing_support::run_command;

std::vector<float> numbers_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

void expect_results_of_torch(const std::string& stem) {
  SCOPED_TRACE(stem);
  const ModelProto model = read_model(stem + ".onnx");
  const ImportedNetwork imported = import_network(model);
  std::vector<float> input = numbers_of(stem + ".in");
  const std::vector<float> expected = numbers_of(stem + ".out");
  std::vector<int64_t> dims = {1};
  int64_t elements = 1;
  for (size_t i = 1; i < model.graph.inputs[0].shape.size(); ++i) {
    dims.push_back(model.graph.inputs[0].shape[i].value);
    elements *= dims.back();
  }
  dims[0] = std::ssize(input) / elements;
  Tensor x(DType::f32, Shape(dims));
  std::ranges::copy(input, x.f32().begin());
  const Tensor y = predict_in_file_order(imported, x);
  ASSERT_EQ(y.f32().size(), expected.size()) << y.shape();
  double largest = 0, error = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(double{expected[i]}));
    error = std::max(error, std::abs(double{expected[i]} - double{y.f32()[i]}));
  }
  EXPECT_LT(error, 1e-4 * largest);
}

void expect_all_results(const std::string& names) {
  const testing_support::TempFolder folder;
  const auto made =
      run_command(PANDO_PYTHON " '" PANDO_SOURCE_DIR "/tests/onnx/torch_networks.py' '" +
                  folder.path() + "' " + names);
  if (made.exit_code == kMissingPackage) {
    SKIP_WITHOUT("torchvision in Python (on Debian python3-torchvision)");
  }
  ASSERT_EQ(made.exit_code, 0) << made.output;
  std::istringstream lines(made.output);
  int count = 0;
  for (std::string name; std::getline(lines, name); ++count) {
    expect_results_of_torch(folder.path() + "/" + name);
  }
  EXPECT_GT(count, 0);
}

TEST(OnnxOfTorch, SmallNetworks) { expect_all_results(""); }

TEST(OnnxOfTorch, EarlyOpset) { expect_all_results("residual:9 shapes:9 nearest:9 pools:11"); }

TEST(OnnxOfTorch, LateOpset) {
  expect_all_results("residual:17 channels:17 bilinear:17 shuffle:17");
}

TEST(OnnxOfTorch, Torchvision) {
  expect_all_results(
      "resnet18 resnet50 vgg16 mobilenet_v2 efficientnet_b0 densenet121 squeezenet1_1 googlenet "
      "mobilenet_v3_small shufflenet_v2_x1_0 mnasnet1_0 regnet_x_400mf alexnet");
}

}  // namespace
}  // namespace pando::onnx
