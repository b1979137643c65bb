// SPDX-License-Identifier: MIT
#include "pando/app/run/picture_values.h"

#include <gtest/gtest.h>

#include "pando/datasets/all_datasets.h"
#include "pando/nn/layers.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

// A network that passes its input on.
Network passing(const Shape& input) {
  return Sequential(input, {Activation("linear", {.name = "same"})});
}

struct Adapted {
  Network network;
  std::string note;
};

Adapted adapt(const std::string& dataset, const Shape& input,
              const std::optional<PicturePreparation>& wanted,
              const std::optional<std::string>& flag = std::nullopt) {
  Model model(passing(input));
  model.set_facts({.pictures = wanted});
  const ModelFile file{.path = "net.onnx", .fingerprint = "", .model = model, .entry = {}};
  std::string note;
  Network network = for_values_of(dataset_record(dataset), file, passing(input), flag, note);
  return {std::move(network), note};
}

TEST(PictureValues, AreConvertedToThoseOfTheFile) {
  // From 0 to 1 of the data to -1 to 1.
  const Adapted grey =
      adapt("fashion_mnist", {1, 2, 1},
            PicturePreparation{
                .colours = PicturePreparation::Colours::grey, .scale = 1 / 127.5, .mean = {1}});
  EXPECT_SAYS(grey.note, "converted", "net.onnx");
  Tensor x(DType::f32, {1, 1, 2, 1});
  x.f32()[0] = 0;
  x.f32()[1] = 1;
  const Tensor y = Model(grey.network).predict(x);
  EXPECT_NEAR(y.f32()[0], -1, 1e-5);
  EXPECT_NEAR(y.f32()[1], 1, 1e-5);
  // From numbers normalised by ImageNet's figures back to 0 to 1.
  const Adapted colours = adapt("image_folder", {1, 1, 3}, PicturePreparation{.scale = 1 / 255.0});
  Tensor pixel(DType::f32, {1, 1, 1, 3});
  pixel.f32()[0] = (1 - 0.485f) / 0.229f;
  pixel.f32()[1] = (0 - 0.456f) / 0.224f;
  pixel.f32()[2] = (0.5f - 0.406f) / 0.225f;
  const Tensor back = Model(colours.network).predict(pixel);
  EXPECT_NEAR(back.f32()[0], 1, 1e-5);
  EXPECT_NEAR(back.f32()[1], 0, 1e-5);
  EXPECT_NEAR(back.f32()[2], 0.5, 1e-5);
}

TEST(PictureValues, FollowTheFlagIfTheFileSaysNothing) {
  const auto of_white = [](const std::string& flag) {
    const Adapted adapted = adapt("fashion_mnist", {1, 1, 1}, std::nullopt, flag);
    Tensor x(DType::f32, {1, 1, 1, 1});
    x.f32()[0] = 1;
    return Model(adapted.network).predict(x).f32()[0];
  };
  EXPECT_NEAR(of_white("none"), 255, 1e-3);
  EXPECT_NEAR(of_white("tf"), 1, 1e-5);
  EXPECT_NEAR(of_white("scale"), 1, 1e-5);
  EXPECT_SAYS(adapt("image_folder", {2, 2, 3}, std::nullopt, "scale").note, "converted");
  EXPECT_EQ(adapt("image_folder", {2, 2, 3}, std::nullopt, "torchvision").note, "");
}

TEST(PictureValues, StayWhereTheyAreRight) {
  const Adapted same =
      adapt("fashion_mnist", {1, 2, 1},
            PicturePreparation{.colours = PicturePreparation::Colours::grey, .scale = 1 / 255.0});
  EXPECT_EQ(same.network.layers().size(), 2U);
  EXPECT_EQ(same.note, "");
  EXPECT_EQ(adapt("cifar10", {2, 2, 3}, PicturePreparation{.standardise = true}).note, "");
  EXPECT_EQ(adapt("fashion_mnist", {4}, std::nullopt).note, "");
}

TEST(PictureValues, WhatCannotBeConvertedIsTold) {
  EXPECT_SAYS(adapt("fashion_mnist", {1, 2, 1}, std::nullopt).note, "does not say", "0 to 1");
  EXPECT_SAYS(adapt("image_folder", {2, 2, 3}, std::nullopt).note, "ImageNet");
  EXPECT_SAYS(adapt("cifar10", {2, 2, 3}, PicturePreparation{}).note, "warning", "deviation 1");
  EXPECT_SAYS(adapt("image_folder", {2, 2, 3}, PicturePreparation{.standardise = true}).note,
              "warning", "standardised");
  EXPECT_SAYS(adapt("image_folder", {2, 2, 3},
                    PicturePreparation{.colours = PicturePreparation::Colours::bgr})
                  .note,
              "warning", "colours");
}

}  // namespace
}  // namespace pando::app
