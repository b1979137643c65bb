// Networks that torchvision has too give its answers with its weights, if it is installed.
// SPDX-License-Identifier: MIT
#include "tests/zoo/torchvision_support.h"

namespace pando {
namespace {

using testing_support::expect_as_torchvision;

// Sizes that no stride divides show how a network pads.
TEST(Torchvision, Resnet18) { expect_as_torchvision("resnet18", {96, 65, 224}); }
TEST(Torchvision, Resnet34) { expect_as_torchvision("resnet34", {96, 75}); }
TEST(Torchvision, Resnet50) { expect_as_torchvision("resnet50", {96, 75, 160}); }
TEST(Torchvision, Resnet101) { expect_as_torchvision("resnet101", {96, 75, 160}); }
// Its dense layers need 7x7 places, which pictures of 224 to 255 pixels have.
TEST(Torchvision, Vgg16) { expect_as_torchvision("vgg16", {224, 237}); }
TEST(Torchvision, MobilenetV2) { expect_as_torchvision("mobilenet_v2", {96, 75, 160, 224}); }
TEST(Torchvision, EfficientnetB0) { expect_as_torchvision("efficientnet_b0", {96, 75, 160, 224}); }
TEST(Torchvision, ConvnextTiny) { expect_as_torchvision("convnext_tiny", {96, 75, 160}); }
TEST(Torchvision, Densenet121) { expect_as_torchvision("densenet121", {96, 75, 160, 224}); }

}  // namespace
}  // namespace pando
