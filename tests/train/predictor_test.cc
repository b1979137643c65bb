#include "pando/train/predictor.h"

#include <cstring>
#include <limits>
#include <thread>

#include "pando/base/memory_limit.h"
#include "pando/base/random.h"
#include "tests/train/train_support.h"

namespace pando {
namespace {

// Every kind of layer whose kernels work on several samples at once, with extents that no vector
// divides.
Network many_layers() {
  const SymbolicTensor input = Input({6, 6, 1});
  SymbolicTensor x = ReLU()(BatchNormalization()(
      Conv2D({.filters = 20, .kernel = {3, 3}, .padding = "same", .use_bias = false})(input)));
  x = Add()({Conv2D({.filters = 20, .kernel = {3, 3}, .padding = "same"})(x), x});
  x = Activation("sigmoid")(DepthwiseConv2D({.kernel = {3, 3}, .padding = "same"})(x));
  x = Activation("tanh")(Conv2D({.filters = 7, .kernel = {1, 1}})(x));
  x = LayerNormalization()(AveragePooling2D()(x));
  x = Flatten()(GroupNormalization({.groups = 7})(x));
  x = Activation("gelu")(Dense({.units = 13})(x));
  return Network(input, Dense({.units = 3, .activation = "softmax"})(x));
}

Model predictor_model(const Network& network) {
  Model model(network, {.name = "net", .seed = 5});
  std::vector<Tensor> weights = model.get_weights();
  const std::vector<std::string> names = model.weight_names();
  RandomStream random(3);
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i].shape().rank() > 1) continue;
    const bool positive = names[i].ends_with("gamma") || names[i].ends_with("variance");
    for (float& value : weights[i].f32()) {
      value = positive ? 0.5f + random.next_uniform() : 0.3f * random.next_normal();
    }
  }
  model.set_weights(weights);
  return model;
}

const std::vector<PredictorMode> kModes = {PredictorMode::throughput, PredictorMode::latency};

TEST(Predictor, AnswersLikePredict) {
  for (const Network& network : {many_layers(), small_cnn()}) {
    Model model = predictor_model(network);
    const Tensor x = random_tensor({23, 6, 6, 1}, 4);
    const Tensor expected = model.predict(x, 8);
    const Predictor predictor(model, {.max_batch = 8, .workers = 3, .always_in_parts = true});
    for (const PredictorMode mode : kModes) {
      EXPECT_TRUE(same_bits(predictor.run(x, mode), expected));
    }
  }
}

TEST(Predictor, BitsDoNotDependOnTheBatch) {
  Model model = predictor_model(many_layers());
  const Tensor x = random_tensor({32, 6, 6, 1}, 4);
  const Predictor single(model, {.max_batch = 1, .workers = 1});
  const Tensor expected = single.run(x);
  for (const int workers : {1, 2, 5}) {
    for (const bool in_parts : {true, false}) {
      const Predictor predictor(model,
                                {.max_batch = 16, .workers = workers, .always_in_parts = in_parts});
      EXPECT_EQ(predictor.max_batch(), 16);
      for (const PredictorMode mode : kModes) {
        for (int64_t count = 1; count <= 19; ++count) {
          const Tensor some = x.rows(7, 7 + count);
          ASSERT_TRUE(same_bits(predictor.run(some, mode), expected.rows(7, 7 + count)))
              << count << " samples, " << workers << " workers";
        }
      }
    }
  }
}

TEST(Predictor, SamplesMayLieAtSeveralPlaces) {
  const Model model = predictor_model(many_layers());
  const Predictor predictor(model, {.max_batch = 4, .workers = 2});
  const Tensor x = random_tensor({9, 6, 6, 1}, 4);
  const Tensor expected = predictor.run(x);
  const size_t in = predictor.inputs()[0].sample_bytes();
  const size_t out = predictor.outputs()[0].sample_bytes();
  // At odd addresses, in pieces of 1, 0, 5 and 3.
  std::vector<std::byte> memory(9 * in + 1);
  std::memcpy(memory.data() + 1, x.data(), 9 * in);
  for (const PredictorMode mode : kModes) {
    std::vector<std::byte> results(9 * out + 1);
    std::vector<const std::byte*> froms;
    std::vector<std::byte*> tos;
    const std::vector<int64_t> counts = {1, 0, 5, 3};
    size_t before = 0;
    for (const int64_t count : counts) {
      froms.push_back(memory.data() + 1 + before * in);
      tos.push_back(results.data() + 1 + before * out);
      before += static_cast<size_t>(count);
    }
    std::vector<PredictorRows> parts;
    for (size_t i = 0; i < counts.size(); ++i) {
      parts.push_back({.inputs = {&froms[i], 1}, .outputs = {&tos[i], 1}, .samples = counts[i]});
    }
    predictor.run(parts, mode);
    EXPECT_EQ(std::memcmp(results.data() + 1, expected.data(), 9 * out), 0);
  }
}

TEST(Predictor, ThreadsCallItAtTheSameTime) {
  const Model model = predictor_model(many_layers());
  const Predictor predictor(model, {.max_batch = 4, .workers = 2, .always_in_parts = true});
  const Tensor x = random_tensor({12, 6, 6, 1}, 4);
  const Tensor expected = predictor.run(x);
  std::vector<int> wrong(5, 0);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 5; ++t) {
      threads.emplace_back([&, t] {
        const PredictorMode mode = t % 2 == 0 ? PredictorMode::throughput : PredictorMode::latency;
        for (int64_t i = 0; i < 20; ++i) {
          const int64_t first = (i + t) % 5;
          const int64_t count = 1 + i % 7;
          const Tensor answer = predictor.run(x.rows(first, first + count), mode);
          if (!same_bits(answer, expected.rows(first, first + count))) {
            ++wrong[static_cast<size_t>(t)];
          }
        }
      });
    }
  }
  EXPECT_EQ(wrong, std::vector<int>(5, 0));
}

TEST(Predictor, KeepsTheWeightsThatTheModelHad) {
  Model model = compiled(small_cnn(), classifier(SGD({.learning_rate = 0.5f})), 2);
  const Images data = images(24);
  const Predictor before(model, {.workers = 1});
  const Tensor expected = model.predict(data.x);
  model.fit(data.x, data.y, {.epochs = 1, .batch_size = 8, .verbose = 0});
  const Predictor after(model, {.workers = 1});
  EXPECT_TRUE(same_bits(before.run(data.x), expected));
  EXPECT_FALSE(same_bits(after.run(data.x), expected));
  EXPECT_TRUE(same_bits(after.run(data.x), model.predict(data.x)));
}

TEST(Predictor, AnswersWithAveragesAsPredictDoes) {
  Model model =
      compiled(small_cnn(), classifier(with_average(SGD({.learning_rate = 0.5f}), 0.9)), 2);
  const Images data = images(24);
  model.fit(data.x, data.y, {.epochs = 1, .batch_size = 8, .verbose = 0});
  EXPECT_TRUE(same_bits(Predictor(model).run(data.x), model.predict(data.x)));
}

TEST(Predictor, AnswersInHalfPrecisionLikePredict) {
  CompileOptions options = classifier(SGD(), {.threads = 1});
  options.precision = parse_precision("bf16.32");
  Model model = compiled(many_layers(), std::move(options), 5);
  const Tensor x = random_tensor({5, 6, 6, 1}, 4);
  const Tensor expected = model.predict(x, 1);
  const Predictor predictor(model, {.max_batch = 4, .workers = 2, .always_in_parts = true});
  for (const PredictorMode mode : kModes) {
    EXPECT_TRUE(same_bits(predictor.run(x, mode), expected));
  }
}

TEST(Predictor, SeveralInputsAndOutputsHaveNames) {
  const SymbolicTensor a = Input({4}, {.name = "a"});
  const SymbolicTensor b = Input({3}, {.name = "b"});
  const SymbolicTensor joined = Concatenate()({a, b});
  const Model model(
      Network(std::vector<SymbolicTensor>{a, b},
              std::vector<SymbolicTensor>{Dense({.units = 2, .name = "left"})(joined),
                                          Dense({.units = 5, .name = "right"})(joined)}),
      {.seed = 1});
  const Predictor predictor(model, {.workers = 1});
  ASSERT_EQ(predictor.inputs().size(), 2u);
  EXPECT_EQ(predictor.inputs()[1], (PredictorTensor{"b", DType::f32, {3}}));
  EXPECT_EQ(predictor.outputs()[0], (PredictorTensor{"left", DType::f32, {2}}));
  const Tensor xa = random_tensor({3, 4}, 1), xb = random_tensor({3, 3}, 2);
  Tensor left(DType::f32, {3, 2}), right(DType::f32, {3, 5});
  const std::vector<const std::byte*> from = {xa.data(), xb.data()};
  const std::vector<std::byte*> to = {left.data(), right.data()};
  predictor.run({.inputs = from, .outputs = to, .samples = 3});
  Model copy = model;
  const std::vector<Tensor> expected =
      copy.predict_all(Dataset::from_fields({{"a", xa}, {"b", xb}}));
  EXPECT_TRUE(same_bits(left, expected[0]));
  EXPECT_TRUE(same_bits(right, expected[1]));
  // A null pointer: this output is not needed.
  Tensor again(DType::f32, {3, 5});
  const std::vector<std::byte*> only_right = {nullptr, again.data()};
  predictor.run({.inputs = from, .outputs = only_right, .samples = 3});
  EXPECT_TRUE(same_bits(again, right));
  EXPECT_SAYS(error_of([&] { predictor.run(xa); }), "2 inputs", "one of each");
}

TEST(Predictor, LoadsModelFiles) {
  const TempFolder folder;
  Model model = predictor_model(small_cnn());
  model.set_facts({.labels = {"a", "b", "c"}});
  save_model(model, folder.path("m.onnx"));
  const Predictor predictor = Predictor::load(folder.path("m.onnx"), {.workers = 1});
  EXPECT_EQ(predictor.facts().labels, (std::vector<std::string>{"a", "b", "c"}));
  const Tensor x = random_tensor({3, 6, 6, 1}, 9);
  EXPECT_LT(difference(predictor.run(x), model.predict(x)).absolute, 1e-5);
}

TEST(Predictor, LeavesTheCallersModeOfDenormalsAlone) {
  const Predictor predictor(predictor_model(small_cnn()), {.workers = 1});
  predictor.run(random_tensor({1, 6, 6, 1}, 9));
  volatile float tiny = std::numeric_limits<float>::min();
  EXPECT_GT(tiny * 0.5f, 0);
}

TEST(Predictor, RefusesWhatDoesNotFit) {
  const Model model = predictor_model(small_cnn());
  EXPECT_SAYS(error_of([&] { Predictor(model, {.max_batch = 0}); }), "max_batch", "got 0");
  EXPECT_SAYS(error_of([&] { Predictor(model, {.workers = -1}); }), "workers", "got -1");
  const Predictor predictor(model, {.workers = 2, .latency = false});
  const Tensor x = random_tensor({1, 6, 6, 1}, 9);
  EXPECT_SAYS(error_of([&] { predictor.run(x, PredictorMode::latency); }), "latency");
  EXPECT_SAYS(error_of([&] { predictor.run(x.reshaped({1, 36})); }), "f32[1,6,6,1]", "[1,36]");
  EXPECT_SAYS(error_of([&] { predictor.run(Tensor(DType::u8, {1, 6, 6, 1})); }), "u8");
  EXPECT_SAYS(error_of([&] { predictor.run(PredictorRows{.samples = 1}); }), "1 inputs", "got 0");
  const std::byte* none = nullptr;
  std::byte* to = nullptr;
  EXPECT_SAYS(error_of([&] {
                predictor.run({.inputs = {&none, 1}, .outputs = {&to, 1}, .samples = 1});
              }),
              "got null");
}

TEST(Predictor, RefusesMoreMemoryThanThereIs) {
  const Model model = predictor_model(small_cnn());
  set_memory_limit(1);
  const std::string message =
      error_of<OverMemoryLimit>([&] { Predictor(model, {.workers = 4096, .latency = false}); });
  set_memory_limit(0);
  EXPECT_SAYS(message, "workers");
}

TEST(Predictor, CountsTheMemoryOfLatencyToo) {
  const Model model = predictor_model(small_cnn());
  const Predictor without(model, {.workers = 3, .latency = false});
  const Predictor with(model, {.workers = 3});
  EXPECT_GT(without.bytes(), 0);
  EXPECT_GT(with.bytes(), without.bytes());
}

TEST(Predictor, NoSamplesAreNoWork) {
  const Predictor predictor(predictor_model(small_cnn()), {.workers = 2});
  for (const PredictorMode mode : kModes) {
    EXPECT_EQ(predictor.run(Tensor(DType::f32, {0, 6, 6, 1}), mode).shape(), (Shape{0, 3}));
  }
}

}  // namespace
}  // namespace pando
