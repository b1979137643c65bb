// Networks with several inputs and outputs in jobs of several instances and in files.
// SPDX-License-Identifier: MIT
#include <mutex>

#include "pando/train/callbacks.h"
#include "pando/train/load_model.h"
#include "tests/support/temp_folder.h"
#include "tests/support/thread_instances.h"
#include "tests/train/spread.h"
#include "tests/train/two_by_two.h"

namespace pando {
namespace {

struct Learned {
  Model model;
  Logs figures;
};

// Global batches of 16; a weight for each output, which is zero for some samples.
Learned learned_outputs(int64_t batch) {
  const int64_t count = 64;
  FieldRows rows = field_rows(count);
  Tensor weight(DType::f32, {count});
  for (size_t i = 0; i < weight.f32().size(); ++i) weight.f32()[i] = static_cast<float>(i % 3);
  const Dataset data = Dataset::from_fields({{"kind", rows.seen.y},
                                             {"numbers", rows.numbers},
                                             {"picture", rows.seen.x},
                                             {"amount", rows.amount},
                                             {"sample_weight/amount", weight}});
  const DeviceStrategy strategy({.devices = 1, .cores_per_device = 1});
  const DeviceStrategy::Scope scope = strategy.scope();
  Learned learned{compiled(two_by_two(), both_losses()), {}};
  FitOptions fit = plain_fit(3);
  fit.batch_size = batch;
  learned.model.fit(data, fit);
  learned.figures = learned.model.evaluate(data, {.batch_size = batch});
  return learned;
}

TEST(OutputsOfInstances, LearnAndMeasureAsOneDoes) {
  const Learned expected = learned_outputs(16);
  ASSERT_EQ(expected.figures.size(), 5u);
  std::mutex mutex;
  std::vector<Learned> found;
  testing_support::on_instances(2, [&](comm::Communicator&) {
    Learned own = learned_outputs(8);
    const std::lock_guard lock(mutex);
    found.push_back(std::move(own));
  });
  for (const Learned& one : found) {
    EXPECT_LT(largest_difference(one.model, expected.model), 1e-5);
    for (size_t i = 0; i < expected.figures.size(); ++i) {
      EXPECT_EQ(one.figures[i].first, expected.figures[i].first);
      EXPECT_NEAR(one.figures[i].second, expected.figures[i].second, 1e-5)
          << expected.figures[i].first;
    }
  }
  EXPECT_TRUE(same_weights(found[0].model, found[1].model));
}

TEST(OutputsInFiles, WeightsStatesAndModelsComeBack) {
  const testing_support::TempFolder folder;
  const Dataset data = field_data(32);
  Model model = compiled(two_by_two(), both_losses());
  model.fit(data, plain_fit());
  const TrainingState state = model.training_state();
  model.save_weights(folder.path("w.h5"));
  const std::vector<Tensor> expected = model.predict_all(data);
  const auto expect_same = [&](Model& other) {
    const std::vector<Tensor> found = other.predict_all(data);
    ASSERT_EQ(found.size(), 2u);
    for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(same_bits(found[i], expected[i]));
  };
  Model read(two_by_two(), {.seed = 9});
  read.load_weights(folder.path("w.h5"));
  expect_same(read);
  for (const char* file : {"m.onnx", "m.keras", "m.h5"}) {
    SCOPED_TRACE(file);
    save_model(model, folder.path(file));
    Model loaded = load_model(folder.path(file));
    EXPECT_EQ(loaded.network().inputs()[1].name, "numbers");
    expect_same(loaded);
  }
  Model resumed = compiled(two_by_two(), both_losses());
  resumed.restore(state);
  resumed.fit(data, plain_fit());
  model.fit(data, plain_fit());
  EXPECT_TRUE(same_weights(resumed, model));
  EXPECT_SAYS(model.summary(), "picture", "numbers", "kind", "amount");
}

}  // namespace
}  // namespace pando
