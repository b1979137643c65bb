#include "pando/train/model_facts.h"

#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

ModelFacts all_facts() {
  return {.labels = {"cat", "Grüße, \"x\"\n"},
          .pictures = PicturePreparation{.height = 224,
                                         .width = 200,
                                         .fit = PicturePreparation::Fit::crop,
                                         .short_side = 256,
                                         .colours = PicturePreparation::Colours::bgr,
                                         .standardise = false,
                                         .scale = 1.0 / 255,
                                         .mean = {0.485, 0.456, 0.406},
                                         .std = {0.229, 0.224, 0.225}},
          .origin = {.producer = "pando 0.1",
                     .model = "resnet50",
                     .dataset = "image_folder",
                     .task = "classification",
                     .date = "2026-11-17T22:47:24Z"},
          .serving = ServingFacts{.input = ServedInput::images, .batch = 16}};
}

TEST(ModelFacts, AreTheSameAfterwards) {
  EXPECT_EQ(facts_in(to_metadata(all_facts()), "x"), all_facts());
  ModelFacts grey = all_facts();
  grey.pictures = PicturePreparation{.height = 28,
                                     .width = 28,
                                     .fit = PicturePreparation::Fit::stretch,
                                     .colours = PicturePreparation::Colours::grey,
                                     .standardise = true};
  EXPECT_EQ(facts_in(to_metadata(grey), "x"), grey);
  EXPECT_EQ(to_metadata(grey).at("pando.labels"), "[\"cat\",\"Grüße, \\\"x\\\"\\n\"]");
}

TEST(ModelFacts, WhatIsNotKnownHasNoKey) {
  EXPECT_TRUE(to_metadata({}).empty());
  EXPECT_EQ(facts_in({{"labels", "other software"}}, "x"), ModelFacts{});
}

std::string error_for(const std::string& key, const std::string& text) {
  return error_of<IoError>([&] { facts_in({{key, text}}, "net.onnx"); });
}

TEST(ModelFacts, ErrorsNamePlaceKeyAndValue) {
  EXPECT_SAYS(error_for("pando.labels", "[1]"), "net.onnx", "pando.labels", "string");
  EXPECT_SAYS(error_for("pando.labels", "["), "net.onnx", "pando.labels");
  EXPECT_SAYS(error_for("pando.origin", R"({"task": 3})"), "pando.origin", "task");
  EXPECT_SAYS(error_for("pando.serving", "{}"), "pando.serving", "signature");
  const auto serving = [](const std::string& rest) {
    return error_for("pando.serving", R"({"signature": "s", )" + rest + "}");
  };
  EXPECT_SAYS(serving(R"("input": "x")"), "input", "bytes, images, tensors");
  EXPECT_SAYS(serving(R"("input": "bytes", "batch": -1)"), "batch", "got -1");
  EXPECT_SAYS(error_for("pando.serving", R"({"signature": "", "input": "bytes"})"), "signature");
  const auto preparation = [](const std::string& changed) {
    return error_for("pando.preprocessing", changed);
  };
  EXPECT_SAYS(preparation("{}"), "height");
  EXPECT_SAYS(preparation(R"({"height": 0, "width": 1})"), "height", "got 0");
  EXPECT_SAYS(preparation(R"({"height": 9, "width": 1, "fit": "x"})"), "fit", "crop, stretch");
  EXPECT_SAYS(preparation(R"({"height": 9, "width": 1, "fit": "crop", "short_side": 8})"),
              "short_side", "9 to");
  EXPECT_SAYS(preparation(R"({"height": 9, "width": 1, "fit": "stretch", "colours": "red"})"),
              "colours", "bgr");
  const std::string begin =
      R"({"height": 9, "width": 1, "fit": "stretch", "colours": "rgb", "scale": 1, )";
  EXPECT_SAYS(preparation(begin + R"("mean": [1, 2], "std": [1]})"), "mean", "1 or 3", "got 2");
  EXPECT_SAYS(preparation(begin + R"("mean": [1], "std": [1, 0, 1]})"), "std", "other than 0");
  EXPECT_SAYS(preparation(begin + R"("mean": [1e999], "std": [1]})"), "pando.preprocessing");
}

}  // namespace
}  // namespace pando
