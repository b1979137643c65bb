// Networks that others trained with Keras and published as layers models of tfjs: our answers are
// those of tfjs, before and after training here. The packages are installed below the build folder.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "pando/data/image/decode.h"
#include "pando/data/image/image.h"
#include "pando/data/sources/gzip.h"
#include "pando/train/keras_model.h"
#include "tests/data/foreign_software.h"
#include "tests/support/external.h"
#include "tests/support/temp_folder.h"

namespace pando::keras {
namespace {

using testing_support::run_command;

const std::string kPackages = PANDO_BINARY_DIR "/npm_keras";
const std::string kModules = kPackages + "/node_modules";
const std::string kSamples = kModules + "/@upscalerjs/default-model/assets/";

bool packages_are_there() {
  const auto there = [] {
    return std::filesystem::exists(kModules + "/nsfwjs/dist/models") &&
           std::filesystem::exists(kSamples + "fixture.png") &&
           std::filesystem::exists(kModules + "/@tensorflow/tfjs/package.json");
  };
  if (there()) return true;
  std::filesystem::create_directories(kPackages);
  run_command("timeout 300 npm install --ignore-scripts --no-audit --no-fund --prefix '" +
              kPackages +
              "' nsfwjs@4.3.0 @upscalerjs/default-model@1.0.0 @tensorflow/tfjs@4.11.0 "
              ">/dev/null 2>&1");
  return there();
}

std::string script(const std::string& arguments) {
  return "NODE_PATH='" + kModules + "' node '" PANDO_SOURCE_DIR "/tests/keras/run_tfjs.js' " +
         arguments + " 2>/dev/null";
}

// The picture with its nearest pixels, values from 0 to `most`.
Tensor picture(const std::string& name, int64_t size, float most) {
  const Image image = decode_image(data::read_file(kSamples + name), name);
  Tensor x(DType::f32, {1, size, size, 3});
  for (int64_t row = 0; row < size; ++row) {
    for (int64_t column = 0; column < size; ++column) {
      const int64_t from =
          row * image.size.height / size * image.size.width + column * image.size.width / size;
      for (int64_t channel = 0; channel < 3; ++channel) {
        x.f32()[static_cast<size_t>((row * size + column) * 3 + channel)] =
            most * static_cast<float>(image.pixels[static_cast<size_t>(from * 3 + channel)]) / 255;
      }
    }
  }
  return x;
}

// What the model gives, or one of its layers.
Tensor answer_of_tfjs(const std::string& model, const Tensor& x, const Shape& shape,
                      const std::string& layer = "") {
  const testing_support::TempFolder folder;
  std::ofstream(folder.path("in"), std::ios::binary)
      .write(reinterpret_cast<const char*>(x.data()), static_cast<std::streamsize>(x.bytes()));
  std::string extents;
  for (const int64_t extent : x.shape()) extents += (extents.empty() ? "" : ",") + concat(extent);
  const auto result = run_command(script("predict '" + model + "' '" + folder.path("in") + "' " +
                                         extents + " '" + folder.path("out") + "' " + layer));
  EXPECT_EQ(result.exit_code, 0) << result.output;
  const std::string bytes = folder.read("out");
  Tensor y(DType::f32, shape);
  EXPECT_EQ(bytes.size(), y.bytes());
  if (bytes.size() == y.bytes()) std::memcpy(y.data(), bytes.data(), bytes.size());
  return y;
}

void expect_answers(Model& model, const std::string& file, const std::vector<Tensor>& pictures) {
  for (const Tensor& x : pictures) {
    const Tensor y = model.predict(x, 1);
    const double error = difference(y, answer_of_tfjs(file, x, y.shape())).absolute;
    std::printf("%s: largest difference %.2g\n", file.c_str(), error);
    EXPECT_LT(error, 1e-3);
  }
}

// Probabilities that are nearly 0 or 1 hide differences; features show them.
void expect_features(const Model& model, const std::string& file, const Tensor& x,
                     const std::string& layer) {
  const Tensor y = model.until(layer).predict(x, 1);
  const Tensor theirs = answer_of_tfjs(file, x, y.shape(), layer);
  float most = 0;
  for (const float value : theirs.f32()) most = std::max(most, std::abs(value));
  const double error = difference(y, theirs).absolute / most;
  std::printf("%s: largest difference %.2g of %.3g\n", layer.c_str(), error, most);
  EXPECT_GT(most, 0.1f);
  EXPECT_LT(error, 1e-3);
}

// Trains all layers for some steps, and gives the network back to tfjs and to ourselves.
void expect_answers_after_training(Model& model, const Tensor& x, const Tensor& y,
                                   const CompileOptions& options) {
  const testing_support::TempFolder folder;
  for (const LayerInfo& layer : model.network().layers()) {
    if (!layer.weights.empty()) model.set_trainable(layer.name, true);
  }
  const Tensor before = model.predict(x, 1);
  model.compile(options);
  model.fit(x, y, {.epochs = 3, .verbose = 0});
  const Tensor after = model.predict(x, 1);
  EXPECT_GT(difference(before, after).absolute, 1e-5);
  save_keras(model, folder.path("model.json"));
  expect_answers(model, folder.path("model.json"), {x.rows(0, 1)});
  for (const char* name : {"model.h5", "model.keras", "model.json"}) {
    save_keras(model, folder.path(name));
    EXPECT_EQ(difference(load_keras(folder.path(name)).predict(x, 1), after).absolute, 0) << name;
  }
}

void expect_classifier(const std::string& name, int64_t size) {
  if (!packages_are_there()) SKIP_WITHOUT("a package of npm");
  const testing_support::TempFolder folder;
  ASSERT_EQ(run_command(script("unpack '" + kModules + "/nsfwjs/dist/models/" + name + "' '" +
                               folder.path() + "'"))
                .exit_code,
            0);
  Model model = load_keras(folder.path("model.json"));
  const Tensor first = picture("fixture.png", size, 1);
  expect_answers(model, folder.path("model.json"),
                 {first, picture("samples/2x/result.png", size, 1)});
  expect_features(model, folder.path("model.json"), first, "flatten_1");
  Tensor label(DType::i32, {1});
  label.i32()[0] = 1;
  expect_answers_after_training(
      model, first, label,
      {.optimizer = SGD({.learning_rate = 1e-3}), .loss = "sparse_categorical_crossentropy"});
}

TEST(KerasOfTfjs, MobileNetV2) { expect_classifier("mobilenet_v2", 224); }

TEST(KerasOfTfjs, InceptionV3) { expect_classifier("inception_v3", 299); }

// Height and width are open in this file, and the package has the enlarged picture.
TEST(KerasOfTfjs, Upscaler) {
  if (!packages_are_there()) SKIP_WITHOUT("a package of npm");
  const std::string file = kModules + "/@upscalerjs/default-model/models/model.json";
  Model small = load_keras(file, {.extents = {{"height", 64}, {"width", 64}}});
  const Tensor crop = picture("fixture.png", 64, 255);
  expect_answers(small, file, {crop});

  // The same model answers another size.
  const Tensor enlarged = small.predict(picture("fixture.png", 128, 255), 1);
  const Tensor expected = picture("samples/2x/result.png", 256, 255);
  double sum = 0;
  for (size_t i = 0; i < expected.f32().size(); ++i) {
    sum += std::abs(std::round(std::clamp(enlarged.f32()[i], 0.0f, 255.0f)) - expected.f32()[i]);
  }
  std::printf("mean difference from the published picture: %.3f of 255\n",
              sum / static_cast<double>(expected.f32().size()));
  EXPECT_LT(sum / static_cast<double>(expected.f32().size()), 1);

  expect_answers_after_training(small, crop, picture("samples/2x/result.png", 128, 255),
                                {.optimizer = SGD({.learning_rate = 1e-9}), .loss = "mse"});
}

}  // namespace
}  // namespace pando::keras
