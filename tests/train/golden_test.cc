// Two steps of SGD with momentum against PyTorch's numbers (tests/golden/make_golden.py).
#include <fstream>

#include <nlohmann/json.hpp>

#include "tests/train/train_support.h"

namespace pando {
namespace {

using nlohmann::json;

json read_golden(const std::string& name) {
  const std::string path = std::string(PANDO_SOURCE_DIR) + "/tests/golden/" + name + ".json";
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  return json::parse(file);
}

Tensor tensor_of(const json& value) {
  const Shape shape(value.at("shape").get<std::vector<int64_t>>());
  Tensor tensor(value.at("dtype") == "i32" ? DType::i32 : DType::f32, shape);
  const auto numbers = value.at("data").get<std::vector<double>>();
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (tensor.dtype() == DType::i32) {
      tensor.i32()[i] = static_cast<int32_t>(numbers[i]);
    } else {
      tensor.f32()[i] = static_cast<float>(numbers[i]);
    }
  }
  return tensor;
}

Network conv_bn_dense() {
  return Sequential(
      {9, 8, 3},
      {Conv2D(
           {.filters = 4, .kernel = {3, 3}, .strides = {2, 2}, .padding = "same", .name = "conv"}),
       BatchNormalization({.momentum = 0.9, .epsilon = 1e-3, .name = "bn"}), ReLU(), MaxPooling2D(),
       Flatten(), Dense({.units = 5, .activation = "softmax", .name = "dense"})});
}

Network residual_group_norm() {
  const SymbolicTensor input = Input({6, 7, 4});
  const auto conv = [](const char* name, bool bias) {
    return Conv2D(
        {.filters = 6, .kernel = {3, 3}, .padding = "same", .use_bias = bias, .name = name});
  };
  SymbolicTensor x = conv("conv1", false)(input);
  x = LeakyReLU()(GroupNormalization({.groups = 2, .name = "gn1"})(x));
  SymbolicTensor y = GroupNormalization({.groups = 3, .name = "gn2"})(conv("conv2", true)(x));
  y = LeakyReLU()(Add()({y, x}));
  y = GlobalAveragePooling2D()(AveragePooling2D({.padding = "same"})(y));
  return Network(input, Dense({.units = 3, .name = "dense"})(y));
}

Network conv3d_tanh() {
  return Sequential({5, 4, 6, 2}, {Conv3D({.filters = 3,
                                           .kernel = {2, 2, 2},
                                           .padding = "same",
                                           .activation = "tanh",
                                           .name = "conv"}),
                                   MaxPooling3D(), Flatten(),
                                   Dense({.units = 2, .activation = "tanh", .name = "dense"}),
                                   Rescaling({.factor = 1.2})});
}

struct Golden {
  std::string name;
  Network (*build)();
  Loss loss;
};

class GoldenSteps : public testing::TestWithParam<Golden> {
 protected:
  void expect_close(const std::string& what, const Tensor& found, const json& wanted) {
    const Difference off = difference(found, tensor_of(wanted));
    EXPECT_LT(std::min(off.absolute, off.relative), 2e-5) << what;
  }

  void check(ExecutionOptions execution) {
    const json golden = read_golden(GetParam().name);
    const json& attributes = golden.at("attributes");
    Model model(GetParam().build());
    model.compile({.optimizer = SGD({.learning_rate = attributes.at("learning_rate").get<double>(),
                                     .momentum = attributes.at("momentum")}),
                   .loss = GetParam().loss,
                   .execution = std::move(execution)});
    std::vector<Tensor> weights;
    for (const std::string& name : model.weight_names()) {
      const json& from = golden.at("weights").contains(name) ? golden["weights"] : golden["moving"];
      weights.push_back(tensor_of(from.at(name)));
    }
    model.set_weights(weights);
    const Tensor x = tensor_of(golden.at("inputs").at("x"));
    const Tensor labels = tensor_of(golden.at("inputs").at("labels"));
    for (const json& step : golden.at("steps")) {
      const History history =
          model.fit(x, labels, {.batch_size = x.shape()[0], .shuffle = false, .verbose = 0});
      EXPECT_NEAR(history["loss"][0], step.at("loss").get<double>(), 2e-5);
      for (const auto& [name, value] : step.at("weights_after").items()) {
        expect_close(name, model.get_weight(name), value);
      }
      for (const auto& [name, value] : step.at("moving_after").items()) {
        expect_close(name, model.get_weight(name), value);
      }
    }
    expect_close("inference", model.predict(x), golden.at("inference_after"));
  }
};

TEST_P(GoldenSteps, FastKernels) { check({.slices = 1}); }
TEST_P(GoldenSteps, FastKernelsInSlices) { check({.threads = 2, .slices = 2}); }
TEST_P(GoldenSteps, FastKernelsInParts) { check({.threads = 2, .slices = 4}); }
TEST_P(GoldenSteps, ReferenceKernels) { check({.slices = 1, .reference_kernels = true}); }

INSTANTIATE_TEST_SUITE_P(All, GoldenSteps,
                         testing::Values(Golden{"conv_bn_dense", conv_bn_dense,
                                                "sparse_categorical_crossentropy"},
                                         Golden{"residual_group_norm", residual_group_norm, "mse"},
                                         Golden{"conv3d_tanh", conv3d_tanh, "mse"}),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace pando
