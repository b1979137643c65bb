// Networks of the zoo answer with the same bits in any batch, on one core and on several.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "pando/train/predictor.h"
#include "pando/zoo/zoo.h"
#include "tests/train/train_support.h"

namespace pando {
namespace {

class PredictorZoo : public testing::TestWithParam<std::string> {};

Shape small_picture(const ZooEntry& entry) {
  return entry.input_shape[0] == 224 ? Shape{32, 32, 3} : entry.input_shape;
}

TEST_P(PredictorZoo, BitsDoNotDependOnTheBatch) {
  const ZooEntry& entry = zoo_entry(GetParam());
  const Shape input = small_picture(entry);
  Model model(entry.build(input, entry.outputs), {.name = entry.name, .seed = 3});
  std::vector<int64_t> dims = {7};
  dims.insert(dims.end(), input.begin(), input.end());
  const Tensor x = random_tensor(Shape(dims), 5);
  const Tensor expected = Predictor(model, {.max_batch = 1, .workers = 1, .latency = false}).run(x);
  const Predictor predictor(model, {.max_batch = 4, .workers = 3, .always_in_parts = true});
  EXPECT_TRUE(same_bits(predictor.run(x), expected));
  for (const int64_t count : {1, 2, 7}) {
    EXPECT_TRUE(
        same_bits(predictor.run(x.rows(0, count), PredictorMode::latency), expected.rows(0, count)))
        << count;
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, PredictorZoo,
                         testing::Values("mnist_cnn", "cifar10_cnn", "cifar_resnet8",
                                         "mobilenet_v2", "efficientnet_b0", "unet_small"));

}  // namespace
}  // namespace pando
