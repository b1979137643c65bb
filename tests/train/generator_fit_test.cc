// Models learn from generators as from the samples that these make.
// SPDX-License-Identifier: MIT
#include <mutex>

#include "tests/support/thread_instances.h"
#include "tests/train/spread.h"

namespace pando {
namespace {

using testing_support::on_instances;

GeneratorStart image_generator(int64_t count) {
  return [data = image_data(count)](int64_t) -> Generator {
    return [data, next = int64_t{0}]() mutable -> std::optional<Sample> {
      if (next == data.size()) return std::nullopt;
      return data.get(next++);
    };
  };
}

Dataset generated_images(int64_t count, int64_t size = kCounted) {
  return Dataset::from_generator(image_generator(count), {.size = size});
}

FitOptions epochs_in_order(int64_t epochs) {
  return {.epochs = epochs, .batch_size = 4, .shuffle = false, .verbose = 0};
}

TEST(GeneratorFit, FitEvaluateAndPredictAreThoseOfTheSamples) {
  Model plain = compiled(small_cnn(), classifier()), made = compiled(small_cnn(), classifier());
  plain.fit(image_data(22), epochs_in_order(2));
  FitOptions options = epochs_in_order(2);
  options.data_workers = 3;
  made.fit(generated_images(22), options);
  EXPECT_TRUE(same_weights(plain, made));
  EXPECT_EQ(plain.evaluate(image_data(22)), made.evaluate(generated_images(22)));
  EXPECT_TRUE(same_bits(plain.predict(image_data(22)), made.predict(generated_images(22))));
}

TEST(GeneratorFit, StepsPerEpochNeedNoSize) {
  Model plain = compiled(small_cnn(), classifier()), made = compiled(small_cnn(), classifier());
  FitOptions options = epochs_in_order(3);
  options.steps_per_epoch = 2;
  plain.fit(image_data(10).repeat(), options);
  made.fit(generated_images(10, kEndless), options);
  EXPECT_TRUE(same_weights(plain, made));
  const std::string message =
      error_of<InvalidArgument>([&] { made.evaluate(generated_images(10, kEndless)); });
  EXPECT_SAYS(message, "an end", "take(N)");
  EXPECT_NO_THROW(made.evaluate(generated_images(10, kEndless).take(8)));
}

TEST(GeneratorFit, ShufflesByDefaultAndRepeatsItself) {
  const auto train = [] {
    Model model = compiled(small_cnn(), classifier());
    model.fit(generated_images(22), {.epochs = 2, .batch_size = 4, .verbose = 0});
    return model;
  };
  Model in_order = compiled(small_cnn(), classifier());
  in_order.fit(generated_images(22), epochs_in_order(2));
  EXPECT_TRUE(same_weights(train(), train()));
  EXPECT_FALSE(same_weights(train(), in_order));
}

TEST(GeneratorFit, AResumedFitEndsWithTheSameBits) {
  Model whole = compiled(rich_cnn(), classifier());
  whole.fit(generated_images(22), {.epochs = 3, .batch_size = 4, .verbose = 0});
  Model first = compiled(rich_cnn(), classifier()), second = compiled(rich_cnn(), classifier());
  class StopIn : public Callback {
    void on_execution_end(FitContext& context, const Logs&) override {
      if (context.updates == 9) context.stop = true;
    }
  };
  first.fit(
      generated_images(22),
      {.epochs = 3, .batch_size = 4, .callbacks = {std::make_shared<StopIn>()}, .verbose = 0});
  EXPECT_EQ(first.position().epoch, 1);
  second.restore(first.training_state());
  second.fit(generated_images(22), {.epochs = 3,
                                    .batch_size = 4,
                                    .initial_epoch = first.position().epoch,
                                    .initial_update = first.position().update,
                                    .verbose = 0});
  EXPECT_TRUE(same_weights(whole, second));
}

TEST(GeneratorFit, InstancesShareTheSamples) {
  const Spread how{.micro_batch = 4, .accumulation = 2};
  const auto train = [&](bool generated) {
    std::mutex mutex;
    std::vector<Model> models;
    on_instances(2, [&](comm::Communicator&) {
      Model model = spread(plain_cnn(), how);
      model.fit(generated ? generated_images(44) : image_data(44), epochs_in_order(2));
      const std::lock_guard lock(mutex);
      models.push_back(model);
    });
    return models[0];
  };
  EXPECT_TRUE(same_weights(train(true), train(false)));
}

}  // namespace
}  // namespace pando
