#include "pando/train/callbacks.h"

#include <filesystem>

#include "tests/train/train_support.h"

namespace pando {
namespace {

// Records all calls under a name.
class Recorder : public Callback {
 public:
  Recorder(std::string name, std::vector<std::string>& calls)
      : name_(std::move(name)), calls_(calls) {}
  void on_train_begin(FitContext&) override { add("train begin"); }
  void on_train_end(FitContext&) override { add("train end"); }
  void on_epoch_begin(FitContext& context) override { add(concat("epoch ", context.epoch)); }
  void on_epoch_end(FitContext& context, const Logs& logs) override {
    add(concat("epoch ", context.epoch, " end, ", logs.size(), " logs"));
  }
  void on_execution_begin(FitContext& context) override { add(concat("from ", context.step)); }
  void on_execution_end(FitContext& context, const Logs&) override {
    add(concat("to ", context.step, " of ", context.steps, ", ", context.sums.samples, " samples"));
  }

 private:
  void add(const std::string& what) { calls_.push_back(name_ + what); }
  std::string name_;
  std::vector<std::string>& calls_;
};

Model model_with(int64_t steps_per_execution) {
  CompileOptions options = classifier();
  options.steps_per_execution = steps_per_execution;
  return compiled(small_cnn(), options);
}

TEST(Callback, IsCalledInOrder) {
  std::vector<std::string> calls;
  model_with(2).fit(image_data(11), {.epochs = 2,
                                     .batch_size = 4,
                                     .validation_data = image_data(3),
                                     .callbacks = {std::make_shared<Recorder>("", calls)},
                                     .verbose = 0});
  const std::vector<std::string> wanted = {
      "train begin",          "epoch 0",  "from 0",
      "to 2 of 3, 8 samples", "from 2",   "to 3 of 3, 3 samples",
      "epoch 0 end, 4 logs",  "epoch 1",  "from 0",
      "to 2 of 3, 8 samples", "from 2",   "to 3 of 3, 3 samples",
      "epoch 1 end, 4 logs",  "train end"};
  EXPECT_EQ(calls, wanted);
}

// The epoch's means are the sums of its executions over all their samples, to the last bit.
TEST(Callback, ExecutionsHandOnSums) {
  class Adder : public Callback {
   public:
    void on_execution_end(FitContext& context, const Logs&) override {
      samples += context.sums.samples;
      loss += context.sums.sum("loss");
      accuracy += context.sums.sum("accuracy");
    }
    int64_t samples = 0;
    double loss = 0;
    double accuracy = 0;
  };
  const auto adder = std::make_shared<Adder>();
  const History history =
      model_with(2).fit(image_data(11), {.batch_size = 2, .callbacks = {adder}, .verbose = 0});
  EXPECT_EQ(adder->samples, 11);
  EXPECT_EQ(adder->loss / 11, history["loss"][0]);
  EXPECT_EQ(adder->accuracy / 11, history["accuracy"][0]);
}

TEST(Callback, SeveralAreCalledInTheOrderOfTheList) {
  std::vector<std::string> calls;
  model_with(1).fit(image_data(4), {.callbacks = {std::make_shared<Recorder>("a ", calls),
                                                  std::make_shared<Recorder>("b ", calls)},
                                    .verbose = 0});
  ASSERT_EQ(calls.size(), 12u);
  for (size_t i = 0; i < calls.size(); i += 2) {
    EXPECT_EQ(calls[i].substr(0, 2), "a ");
    EXPECT_EQ(calls[i + 1].substr(2), calls[i].substr(2));
  }
}

TEST(Callback, ContextTellsOfTheFit) {
  Model model = model_with(0);
  const auto check = [&](FitContext& context) {
    EXPECT_EQ(context.epochs, 5);
    EXPECT_EQ(context.steps, 3);
    EXPECT_EQ(context.epoch, 3);
    EXPECT_TRUE(same_weights(*context.model, model));
    context.stop = true;
  };
  const History history =
      model.fit(image_data(11), {.epochs = 5,
                                 .batch_size = 4,
                                 .initial_epoch = 3,
                                 .callbacks = {LambdaCallback({.train_begin = check})},
                                 .verbose = 0});
  EXPECT_TRUE(history.epoch.empty());
}

// Stops at the given moment of epoch 1; returns the calls and the epochs of the history.
std::pair<std::vector<std::string>, std::vector<int64_t>> stopped_by(CallbackFunctions functions) {
  std::vector<std::string> calls;
  const History history = model_with(1).fit(
      image_data(8),
      {.epochs = 4,
       .batch_size = 4,
       .validation_data = image_data(3),
       .callbacks = {LambdaCallback(std::move(functions)), std::make_shared<Recorder>("", calls)},
       .verbose = 0});
  return {calls, history.epoch};
}

TEST(Callback, StopsAtTheBeginOfAnEpoch) {
  const auto [calls, epochs] =
      stopped_by({.epoch_begin = [](FitContext& context) { context.stop = context.epoch == 1; }});
  EXPECT_EQ(epochs, std::vector<int64_t>{0});
  EXPECT_EQ(calls[calls.size() - 2], "epoch 1");
  EXPECT_EQ(calls.back(), "train end");
}

TEST(Callback, StopsWithinAnEpoch) {
  const auto [calls, epochs] = stopped_by({.execution_end = [](FitContext& context, const Logs&) {
    context.stop = context.epoch == 1;
  }});
  EXPECT_EQ(epochs, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(calls[calls.size() - 3], "to 1 of 2, 4 samples");
  EXPECT_EQ(calls[calls.size() - 2], "epoch 1 end, 2 logs");
}

TEST(Callback, StopsAtTheEndOfAnEpoch) {
  const auto [calls, epochs] = stopped_by(
      {.epoch_end = [](FitContext& context, const Logs&) { context.stop = context.epoch == 1; }});
  EXPECT_EQ(epochs, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(calls[calls.size() - 2], "epoch 1 end, 4 logs");
}

TEST(Callback, ExceptionsReachTheCaller) {
  Model model = model_with(1);
  const auto fail = [](FitContext&, const Logs&) { throw std::runtime_error("enough"); };
  const std::string message = error_of<std::runtime_error>([&] {
    model.fit(image_data(4),
              {.callbacks = {LambdaCallback({.execution_end = fail})}, .verbose = 0});
  });
  EXPECT_EQ(message, "enough");
  EXPECT_NO_THROW(model.fit(image_data(4), {.verbose = 0}));
}

TEST(Callback, MayChangeTheModelDuringAFit) {
  Model model = model_with(1);
  std::vector<Tensor> kernels;
  const auto freeze = [&](FitContext& context, const Logs&) {
    kernels.push_back(context.model->get_weight("conv2d/kernel"));
    if (context.epoch == 0) context.model->set_trainable("conv2d", false);
    if (context.epoch == 1) {
      context.model->set_trainable("conv2d", true);
      context.model->set_learning_rate(0);
    }
    if (context.epoch == 2) context.model->compile(classifier(Adam()));
    context.model->evaluate(image_data(5));
  };
  model.fit(image_data(8), {.epochs = 4,
                            .batch_size = 4,
                            .callbacks = {LambdaCallback({.epoch_end = freeze})},
                            .verbose = 0});
  ASSERT_EQ(kernels.size(), 4u);
  EXPECT_TRUE(same_bits(kernels[0], kernels[1]));
  EXPECT_TRUE(same_bits(kernels[1], kernels[2]));
  EXPECT_FALSE(same_bits(kernels[2], kernels[3]));
}

TEST(LambdaCallback, EmptyFunctionsAreNotCalled) {
  int calls = 0;
  const auto count = [&](FitContext&) { ++calls; };
  model_with(1).fit(image_data(8),
                    {.epochs = 2,
                     .batch_size = 4,
                     .callbacks = {LambdaCallback({.execution_begin = count}),
                                   LambdaCallback({.train_end = count}), LambdaCallback({})},
                     .verbose = 0});
  EXPECT_EQ(calls, 5);
}

TEST(Checkpoint, SavesEveryEpoch) {
  const TempFolder folder;
  Model model = model_with(0);
  model.fit(
      image_data(8),
      {.epochs = 2, .callbacks = {Checkpoint(folder.path("{epoch}/at_{epoch}.h5"))}, .verbose = 0});
  EXPECT_TRUE(std::filesystem::exists(folder.path("1/at_1.h5")));
  Model loaded(small_cnn(), {.seed = 5});
  loaded.load_weights(folder.path("2/at_2.h5"));
  EXPECT_TRUE(same_weights(model, loaded));
  loaded.load_weights(folder.path("1/at_1.h5"));
  EXPECT_FALSE(same_weights(model, loaded));
}

TEST(Checkpoint, WithoutAPlaceholderKeepsTheLast) {
  const TempFolder folder;
  Model model = model_with(0);
  model.fit(image_data(8),
            {.epochs = 2, .callbacks = {Checkpoint(folder.path("last.h5"))}, .verbose = 0});
  Model loaded(small_cnn(), {.seed = 5});
  loaded.load_weights(folder.path("last.h5"));
  EXPECT_TRUE(same_weights(model, loaded));
}

TEST(Checkpoint, RefusesPathsItCannotUse) {
  EXPECT_SAYS(error_of([] { Checkpoint(""); }), "path");
  EXPECT_SAYS(error_of([] { Checkpoint("a_{step}.h5"); }), "a_{step}.h5");
  EXPECT_SAYS(error_of([] { Checkpoint("a_{epoch.h5"); }), "placeholder");
  const auto fit = [] {
    Model model = model_with(0);
    const std::vector<Tensor> before = model.get_weights();
    const std::string message = error_of<IoError>([&] {
      model.fit(image_data(4),
                {.callbacks = {Checkpoint("/dev/null/no_folder/a.h5")}, .verbose = 0});
    });
    EXPECT_TRUE(same_bits(before, model.get_weights()));
    return message;
  };
  EXPECT_SAYS(fit(), "/dev/null/no_folder");
}

}  // namespace
}  // namespace pando
