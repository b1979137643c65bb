// Networks with several inputs and outputs: losses, metrics and weights per output, and the fields
// of the data that belong to them.
// SPDX-License-Identifier: MIT
#include <cmath>

#include "pando/train/profile_report.h"
#include "tests/train/spread.h"
#include "tests/train/two_by_two.h"

namespace pando {
namespace {

TEST(Outputs, AreNamedAfterTheirLayers) {
  const Network network = two_by_two();
  ASSERT_EQ(network.outputs().size(), 2u);
  EXPECT_EQ(network.outputs()[0].name, "kind");
  EXPECT_EQ(network.outputs()[1].name, "amount");
  EXPECT_EQ(network.outputs()[1].shape, Shape{1});
}

TEST(Outputs, TwoOfEachAreInputsAndOutputs) {
  const SymbolicTensor a = Input({3}, {.name = "a"}), b = Input({3}, {.name = "b"});
  const SymbolicTensor sum = Add()({a, b}), product = Multiply()({a, b});
  const Model model({a, b}, {sum, product});
  EXPECT_EQ(model.network().inputs().size(), 2);
  EXPECT_EQ(model.network().outputs().size(), 2);
}

TEST(Outputs, LearnTogether) {
  Model model = compiled(two_by_two(), both_losses());
  const Dataset data = field_data(96);
  const History history = model.fit(data, plain_fit(40));
  EXPECT_GT(history["kind_accuracy"].back(), 0.95);
  EXPECT_LT(history["amount_mae"].back(), 0.4 * history["amount_mae"].front());
  const Logs logs = model.evaluate(data, {.batch_size = 10});
  std::vector<std::string> names;
  for (const auto& [name, value] : logs) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"loss", "kind_loss", "amount_loss", "kind_accuracy",
                                             "amount_mae"}));
  EXPECT_NEAR(logs[0].second, logs[1].second + 0.5 * logs[2].second, 1e-6);
}

TEST(Outputs, PredictOneTensorEach) {
  Model model(two_by_two());
  const Dataset data = field_data(11);
  const std::vector<Tensor> results = model.predict_all(data, {.batch_size = 4});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].shape(), (Shape{11, 3}));
  EXPECT_EQ(results[1].shape(), (Shape{11, 1}));
  const std::vector<Tensor> at_once = model.predict_all(data, {.batch_size = 11});
  for (size_t i = 0; i < 2; ++i) {
    for (size_t j = 0; j < results[i].f32().size(); ++j) {
      ASSERT_NEAR(results[i].f32()[j], at_once[i].f32()[j], 1e-6);
    }
  }
  EXPECT_SAYS(error_of([&] { model.predict(data); }), "one output", "got 2", "predict_all");
}

// An output without a loss changes nothing: the others learn as in a network without it.
TEST(Outputs, AnOutputMayHaveNoLoss) {
  const Network both = two_by_two();
  CompileOptions options = both_losses();
  options.loss = {{"kind", "sparse_categorical_crossentropy"}};
  options.loss_weights = {};
  options.metrics = {};
  Model model = compiled(both, options);
  Model alone = compiled(both.until("kind"), options);
  model.fit(field_data(32), plain_fit(2));
  FieldRows rows = field_rows(32);
  alone.fit(Dataset::from_fields(
                {{"picture", rows.seen.x}, {"numbers", rows.numbers}, {"kind", rows.seen.y}}),
            plain_fit(2));
  for (const std::string& name : alone.weight_names()) {
    EXPECT_TRUE(same_bits(model.get_weight(name), alone.get_weight(name))) << name;
  }
  EXPECT_TRUE(
      same_bits(model.get_weight("amount/kernel"), Model(both).get_weight("amount/kernel")));
}

// However the work is spread, the network learns the same.
TEST(Outputs, SpreadOverDevices) {
  const Dataset data = field_data(64);
  const auto weights = [&](int devices, int stages, const char* precision = "32.32") {
    const DeviceStrategy strategy({.devices = devices, .cores_per_device = 1});
    const DeviceStrategy::Scope scope = strategy.scope();
    CompileOptions options = both_losses();
    options.precision = parse_precision(precision);
    options.half.stochastic_rounding = StochasticRounding::off;
    Model model = compiled(stages > 1 ? two_by_two().with_splits({"mix"}) : two_by_two(), options);
    const int replicas = devices / stages;
    model.set_pipelining_options({.gradient_accumulation_steps_per_replica = 4 / replicas,
                                  .recomputation = stages > 1
                                                       ? compiler::Recomputation::then_backward
                                                       : compiler::Recomputation::none});
    model.fit(data, plain_fit(3));
    return model;
  };
  const Model one = weights(1, 1);
  EXPECT_LT(largest_difference(weights(2, 1), one), 1e-5);
  EXPECT_LT(largest_difference(weights(2, 2), one), 1e-5);
  EXPECT_LT(largest_difference(weights(4, 2), one), 1e-5);
  EXPECT_LT(largest_difference(weights(1, 1, "bf16.32"), one), 0.02);
}

TEST(Outputs, EveryWayToCompileAgrees) {
  Model model = compiled(two_by_two(), both_losses());
  const std::vector<Field> fields = field_data(5).fields();
  const Verification found = model.verify(5, fields);
  EXPECT_TRUE(found.ok) << found.table;
  EXPECT_SAYS(model.compile_report(5, fields), "kind", "amount", "sum_losses");
  const ProfileRequest request{.batch_size = 5, .fields = fields, .peak_seconds = 0};
  EXPECT_SAYS(model.profile(request).text, "kind", "amount", "numbers");
}

TEST(Outputs, WrongWiringNamesBothSides) {
  const FieldRows rows = field_rows(8);
  const auto refused = [&](std::vector<std::pair<std::string, Tensor>> fields,
                           CompileOptions options = both_losses()) {
    return error_of([&] {
      compiled(two_by_two(), options).fit(Dataset::from_fields(std::move(fields)), plain_fit());
    });
  };
  const std::pair<std::string, Tensor> picture{"picture", rows.seen.x}, kind{"kind", rows.seen.y};
  const std::pair<std::string, Tensor> numbers{"numbers", rows.numbers};
  const std::pair<std::string, Tensor> amount{"amount", rows.amount};
  EXPECT_SAYS(refused({picture, kind, amount}), "numbers f32[3]", "picture f32[6,6,1]");
  EXPECT_SAYS(refused({picture, numbers, kind}), "no field 'amount'", "mean_squared_error",
              "kind i32[]");
  EXPECT_SAYS(refused({picture, {"numbers", rows.amount}, kind, amount}), "numbers f32[1]",
              "takes f32[3]");
  EXPECT_SAYS(refused({picture, numbers, {"kind", rows.amount}, amount}), "output 'kind'",
              "got kind f32[1]");
  EXPECT_SAYS(refused({picture, numbers, kind, amount, {"more", rows.amount}}), "more f32[1]",
              "'amount'");
  CompileOptions unknown = both_losses();
  unknown.loss = {{"knd", "mse"}};
  EXPECT_SAYS(refused({picture, numbers, kind, amount}, unknown), "loss", "'knd'", "kind");
  CompileOptions few = both_losses();
  few.loss = std::vector<Loss>{"mse"};
  EXPECT_SAYS(refused({picture, numbers, kind, amount}, few), "each of the 2 outputs", "got 1");
}

// A loss, a weight and metrics may be given once for all outputs, in their order, or by name.
TEST(Outputs, TakeOneSettingAListOrNames) {
  const SymbolicTensor in = Input({3}, {.name = "in"});
  const Network network(
      {in}, {Dense({.units = 2, .name = "a"})(in), Dense({.units = 1, .name = "b"})(in)});
  const Dataset data = Dataset::from_fields({{"in", random_tensor({16, 3}, 1)},
                                             {"a", random_tensor({16, 2}, 2)},
                                             {"b", random_tensor({16, 1}, 3)}});
  const auto trained = [&](const Losses& loss, const LossWeights& weights, const Metrics& metrics) {
    Model model = compiled(network, {.loss = loss, .loss_weights = weights, .metrics = metrics});
    model.fit(data, plain_fit(2));
    return std::pair(model.get_weights(), model.evaluate(data));
  };
  using MetricLists = std::vector<std::vector<Metric>>;
  const auto once = trained("mse", 0.5, {"mae"});
  EXPECT_NEAR(find_value(once.second, "loss").value(),
              0.5 * find_value(once.second, "a_loss").value() +
                  0.5 * find_value(once.second, "b_loss").value(),
              1e-6);
  for (const auto& same : {trained(std::vector<Loss>{"mse", "mse"}, std::vector<double>{0.5, 0.5},
                                   MetricLists{{"mae"}, {"mae"}}),
                           trained({{"b", "mse"}, {"a", "mse"}}, {{"a", 0.5}, {"b", 0.5}},
                                   {{"a", {"mae"}}, {"b", {"mae"}}})}) {
    EXPECT_TRUE(same_bits(same.first, once.first));
    EXPECT_EQ(same.second, once.second);
  }
  const auto other = trained(std::vector<Loss>{"mse", "mae"}, std::vector<double>{1, 2}, {});
  EXPECT_NEAR(
      find_value(other.second, "loss").value(),
      find_value(other.second, "a_loss").value() + 2 * find_value(other.second, "b_loss").value(),
      1e-6);
}

// A weight of one output leaves the others alone, and a sample without any weight does not exist.
TEST(Outputs, HaveWeightsOfTheirOwn) {
  const FieldRows rows = field_rows(16);
  Tensor without(DType::f32, {16});
  for (size_t i = 0; i < 16; ++i) without.f32()[i] = i % 2 == 0 ? 1 : 0;
  const auto logs = [&](std::vector<std::pair<std::string, Tensor>> more) {
    std::vector<std::pair<std::string, Tensor>> fields = {{"picture", rows.seen.x},
                                                          {"numbers", rows.numbers},
                                                          {"kind", rows.seen.y},
                                                          {"amount", rows.amount}};
    fields.insert(fields.end(), more.begin(), more.end());
    return compiled(two_by_two(), both_losses())
        .evaluate(Dataset::from_fields(std::move(fields)), {.batch_size = 8});
  };
  const Logs all = logs({});
  Tensor ones(DType::f32, {16});
  for (float& one : ones.f32()) one = 1;
  const Logs half = logs({{"sample_weight/kind", ones}, {"sample_weight/amount", without}});
  EXPECT_DOUBLE_EQ(find_value(half, "kind_loss").value(), find_value(all, "kind_loss").value());
  EXPECT_LT(find_value(half, "amount_loss").value(), find_value(all, "amount_loss").value());
  const Logs shared = logs({{"sample_weight", without}});
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < 16; i += 2) kept.push_back(i);
  const Logs fewer = compiled(two_by_two(), both_losses())
                         .evaluate(field_data(16).select(kept), {.batch_size = 8});
  for (size_t i = 0; i < shared.size(); ++i) {
    EXPECT_NEAR(shared[i].second, fewer[i].second, 1e-6) << shared[i].first;
  }
}

// An output without weights counts all samples, also where another output weighs them 0.
TEST(Outputs, OneMayHaveWeightsAlone) {
  const FieldRows rows = field_rows(16);
  Tensor half(DType::f32, {16}), ones(DType::f32, {16});
  for (size_t i = 0; i < 16; ++i) {
    half.f32()[i] = i % 2 == 0 ? 1 : 0;
    ones.f32()[i] = 1;
  }
  for (const char* weighed : {"kind", "amount"}) {
    const bool kind = weighed == std::string("kind");
    std::vector<std::pair<std::string, Tensor>> fields = {
        {"picture", rows.seen.x},
        {"numbers", rows.numbers},
        {"kind", rows.seen.y},
        {"amount", rows.amount},
        {concat("sample_weight/", weighed), half}};
    const auto trained = [&] {
      Model model = compiled(two_by_two(), both_losses());
      model.fit(Dataset::from_fields(fields), plain_fit(2));
      return model.get_weights();
    };
    const std::vector<Tensor> alone = trained();
    fields.emplace_back(kind ? "sample_weight/amount" : "sample_weight/kind", ones);
    EXPECT_TRUE(same_bits(alone, trained())) << weighed;
  }
}

// Rows of weight 0 are padding also where the data has labels of an output that counts nowhere,
// with weights or without.
TEST(Outputs, LabelsWithoutLossAndMetricKeepNoRow) {
  const FieldRows rows = field_rows(16);
  Tensor half(DType::f32, {16}), ones(DType::f32, {16});
  for (size_t i = 0; i < 16; ++i) {
    half.f32()[i] = i % 2 == 0 ? 1 : 0;
    ones.f32()[i] = 1;
  }
  CompileOptions options = both_losses();
  options.loss = {{"kind", "sparse_categorical_crossentropy"}};
  options.loss_weights = {};
  options.metrics = {{"kind", {"accuracy"}}};
  const auto trained = [&](std::vector<std::pair<std::string, Tensor>> more) {
    std::vector<std::pair<std::string, Tensor>> fields = {{"picture", rows.seen.x},
                                                          {"numbers", rows.numbers},
                                                          {"kind", rows.seen.y},
                                                          {"sample_weight/kind", half}};
    fields.insert(fields.end(), more.begin(), more.end());
    Model model = compiled(two_by_two(), options);
    model.fit(Dataset::from_fields(std::move(fields)), plain_fit(2));
    return model.get_weights();
  };
  const std::vector<Tensor> without = trained({});
  EXPECT_TRUE(same_bits(trained({{"amount", rows.amount}}), without));
  EXPECT_TRUE(
      same_bits(trained({{"amount", rows.amount}, {"sample_weight/amount", ones}}), without));
  // A metric counts as well as a loss: then every row is a sample.
  options.metrics = {{"kind", {"accuracy"}}, {"amount", {"mae"}}};
  EXPECT_FALSE(same_bits(trained({{"amount", rows.amount}}), without));
}

TEST(Outputs, ANetworkMayBePartOfAnother) {
  const Network part = small_cnn();
  const SymbolicTensor left = Input({6, 6, 1}, {.name = "left"});
  const SymbolicTensor right = Input({6, 6, 1}, {.name = "right"});
  // Two applications share their weights; a scoped copy has its own.
  const Network shared({left, right}, Add()({part(left), part(right)}));
  EXPECT_EQ(shared.parameters(), part.parameters());
  const Network apart({left, right}, Add()({part(left), part.scoped("other")(right)}));
  EXPECT_EQ(apart.parameters(), 2 * part.parameters());
  EXPECT_EQ(apart.layer("other/conv2d").parameters(), part.layer("conv2d").parameters());
  Model model(apart);
  const testing_support::TempFolder folder;
  model.save_weights(folder.path() + "/w.h5");
  Model again(apart, {.seed = 5});
  again.load_weights(folder.path() + "/w.h5");
  EXPECT_TRUE(same_bits(again.get_weights(), model.get_weights()));
}

TEST(Outputs, ModelUntilALayerHasItsWeights) {
  Model model(small_cnn(), {.seed = 3});
  Model features = model.until("flatten");
  const Tensor x = images(4).x;
  EXPECT_EQ(features.predict(x).shape(), (Shape{4, 16}));
  EXPECT_TRUE(same_bits(features.get_weight("conv2d/kernel"), model.get_weight("conv2d/kernel")));
  EXPECT_SAYS(error_of([&] { model.until("flaten"); }), "did you mean 'flatten'");
  EXPECT_SAYS(error_of([&] { model.until("input_1"); }), "input_1");
  // Its results are those inside the whole network.
  const SymbolicTensor in = Input({6, 6, 1});
  Model whole(Network(in, Dense({.units = 3, .activation = "softmax"})(features.network()(in))));
  EXPECT_TRUE(whole.copy_weights(model).skipped.empty());
  EXPECT_TRUE(same_bits(whole.predict(x), model.predict(x)));
}

// --- metrics that are not means ---

struct Scores {
  std::vector<double> hits = std::vector<double>(3), predicted = hits, actual = hits;
};

Scores scores_of(const Tensor& outputs, const Tensor& labels) {
  Scores scores;
  for (int64_t i = 0; i < outputs.shape()[0]; ++i) {
    const std::span<const float> row = outputs.f32().subspan(static_cast<size_t>(i) * 3, 3);
    const auto best = static_cast<size_t>(std::max_element(row.begin(), row.end()) - row.begin());
    const auto label = static_cast<size_t>(labels.i32()[static_cast<size_t>(i)]);
    scores.predicted[best] += 1;
    scores.actual[label] += 1;
    if (best == label) scores.hits[label] += 1;
  }
  return scores;
}

TEST(Metrics, OfClassesAreMeansOverClasses) {
  const Images all = images(50, 9);
  CompileOptions options = classifier(SGD({.learning_rate = 0.05}));
  options.metrics = {"precision", "recall", "f1_score", "mean_iou"};
  Model model = compiled(small_cnn(), options, 4);
  model.fit(all.x, all.y, plain_fit(2));
  const Logs logs = model.evaluate(all.x, all.y, {.batch_size = 7});
  const Scores scores = scores_of(model.predict(all.x), all.y);
  double precision = 0, recall = 0, f1 = 0, iou = 0;
  for (size_t c = 0; c < 3; ++c) {
    const double hits = scores.hits[c], predicted = scores.predicted[c], actual = scores.actual[c];
    precision += predicted == 0 ? 0 : hits / predicted / 3;
    recall += hits / actual / 3;
    f1 += 2 * hits / (predicted + actual) / 3;
    iou += hits / (predicted + actual - hits) / 3;
  }
  EXPECT_NEAR(find_value(logs, "precision").value(), precision, 1e-12);
  EXPECT_NEAR(find_value(logs, "recall").value(), recall, 1e-12);
  EXPECT_NEAR(find_value(logs, "f1_score").value(), f1, 1e-12);
  EXPECT_NEAR(find_value(logs, "mean_iou").value(), iou, 1e-12);
}

// The same over replicas, since sums are added before the value is computed.
TEST(Metrics, DoNotDependOnTheDivision) {
  const Dataset data = image_data(40, 9);
  CompileOptions options = classifier();
  options.metrics = {"f1_score", "auc"};
  const auto logs = [&](int devices, int64_t batch) {
    const DeviceStrategy strategy({.devices = devices, .cores_per_device = 1});
    const DeviceStrategy::Scope scope = strategy.scope();
    return compiled(small_cnn(), options, 4).evaluate(data, {.batch_size = batch});
  };
  const Logs one = logs(1, 40);
  EXPECT_EQ(logs(1, 7)[1], one[1]);
  EXPECT_EQ(logs(3, 4)[1], one[1]);
  EXPECT_EQ(logs(3, 4)[2], one[2]);
}

// Pixels without a label count in no loss, gradient or metric: what the network says about them
// does not matter.
TEST(Metrics, PixelsWithoutALabelCountNowhere) {
  const auto model_of = [](const Tensor& x) {
    const SymbolicTensor input = Input({2, 2, 3});
    Model model(input, Softmax()(input));
    CompileOptions options{.loss = "sparse_categorical_crossentropy",
                           .metrics = {"mean_iou", "accuracy", "f1_score", "auc"}};
    model.compile(std::move(options));
    const Tensor y = Tensor::of_i32({2, 2, 2}, {0, 1, -1, 2, 1, -1, -1, -1});
    return model.evaluate(x, y, {.batch_size = 2});
  };
  Tensor x(DType::f32, {2, 2, 2, 3});
  for (size_t i = 0; i < 24; ++i) x.f32()[i] = static_cast<float>(i * i % 7);
  const Logs before = model_of(x);
  for (const size_t pixel : {2, 5, 6, 7}) {
    for (size_t c = 0; c < 3; ++c) x.f32()[3 * pixel + c] = c == pixel % 3 ? 9.0f : -3.0f;
  }
  EXPECT_EQ(model_of(x), before);
  for (size_t c = 0; c < 3; ++c) x.f32()[c] += c == 1 ? 9.0f : 0.0f;  // a pixel that has a label
  EXPECT_NE(model_of(x), before);
}

Model with_head(const Layer& head, const Metric& metric) {
  const SymbolicTensor x = Input({1});
  Model model(x, head(x));
  model.compile({.loss = "mse", .metrics = {metric}});
  return model;
}

TEST(Metrics, AreaUnderTheCurve) {
  // The network passes its input on: scores 0.1, 0.4, 0.35, 0.8 with labels 0, 0, 1, 1.
  Model model = with_head(Rescaling({}), AUC());
  const Tensor x = Tensor::of_f32({4, 1}, {0.1f, 0.4f, 0.35f, 0.8f});
  const Tensor y = Tensor::of_f32({4, 1}, {0, 0, 1, 1});
  EXPECT_NEAR(model.evaluate(x, y)[1].second, 0.75, 1e-12);
  const Tensor same = Tensor::of_f32({4, 1}, {1, 1, 1, 1});
  EXPECT_EQ(model.evaluate(x, same)[1].second, 0);  // there is no curve
}

TEST(Metrics, OfOneClassHaveAThreshold) {
  const Tensor x = Tensor::of_f32({4, 1}, {0.9f, 0.6f, 0.2f, 0.5f});
  const Tensor y = Tensor::of_f32({4, 1}, {1, 0, 1, 1});
  EXPECT_NEAR(with_head(Rescaling({}), PrecisionScore()).evaluate(x, y)[1].second, 2.0 / 3, 1e-12);
  EXPECT_NEAR(with_head(Rescaling({}), RecallScore()).evaluate(x, y)[1].second, 2.0 / 3, 1e-12);
  EXPECT_NEAR(with_head(Rescaling({}), MeanIoU()).evaluate(x, y)[1].second, 0.5, 1e-12);
}

TEST(Metrics, R2Score) {
  Model model = with_head(Rescaling({}), R2Score());
  const Tensor x = Tensor::of_f32({4, 1}, {2.5f, 0, 2, 8});
  const Tensor y = Tensor::of_f32({4, 1}, {3, -0.5f, 2, 7});
  EXPECT_NEAR(model.evaluate(x, y)[1].second, 0.9486081370449679, 1e-6);
  EXPECT_NEAR(model.evaluate(y, y)[1].second, 1, 1e-12);
}

TEST(Metrics, WeightedSumsOfSeveralNumbers) {
  const Tensor x = Tensor::of_f32({4, 1}, {0.9f, 0.6f, 0.2f, 0.5f});
  const Tensor y = Tensor::of_f32({4, 1}, {1, 0, 1, 1});
  const SymbolicTensor in = Input({1});
  Model model(in, Rescaling({})(in));
  model.compile({.loss = "mse", .metrics = {}, .weighted_metrics = {PrecisionScore()}});
  const Tensor weights = Tensor::of_f32({4}, {2, 1, 1, 1});
  EXPECT_NEAR(model.evaluate(x, y, weights)[1].second, 3.0 / 4, 1e-12);
}

}  // namespace
}  // namespace pando
