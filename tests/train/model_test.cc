#include "pando/train/model.h"

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "tests/train/train_support.h"

namespace pando {
namespace {

TEST(Model, KnowsNameNetworkAndSummary) {
  const SymbolicTensor x = Input({4});
  Model model(x, Dense({.units = 2})(x), {.name = "tiny"});
  EXPECT_EQ(model.name(), "tiny");
  EXPECT_EQ(model.network().parameters(), 10);
  EXPECT_SAYS(model.summary(), "Model: \"tiny\"");
  EXPECT_SAYS(model.summary(), "Non-trainable params: 0\n");
  model.set_trainable("dense", false);
  EXPECT_SAYS(model.summary(), "Non-trainable params: 10\n");
}

TEST(Model, CopiesAreTheSameModel) {
  Model model(small_cnn());
  Model copy = model;
  std::vector<Tensor> weights = model.get_weights();
  weights[0].f32()[0] = 42;
  copy.set_weights(weights);
  EXPECT_EQ(model.get_weights()[0].f32()[0], 42);
}

TEST(Model, WantsToBeCompiled) {
  Model model(small_cnn(), {.name = "raw"});
  const auto expect = [&](const std::string& message) {
    EXPECT_SAYS(message, "model 'raw' is not compiled");
  };
  expect(error_of([&] { model.fit(image_data(4), {.verbose = 0}); }));
  expect(error_of([&] { model.evaluate(image_data(4)); }));
  expect(error_of([&] { model.learning_rate(); }));
  expect(error_of([&] { model.set_learning_rate(1); }));
  expect(error_of([&] { model.compile_report(4, image_data(4).fields()); }));
  expect(error_of([&] { model.prepare(RunMode::train, 4, image_data(4).fields()); }));
  EXPECT_EQ(model.predict(images(2).x).shape(), (Shape{2, 3}));
}

TEST(Model, RefusesToCompileNonsense) {
  Model model(small_cnn());
  const auto says = [&](CompileOptions options) {
    return error_of([&] { model.compile(std::move(options)); });
  };
  EXPECT_SAYS(says({.execution = {.threads = -1}}), "threads: ", "got -1");
  EXPECT_SAYS(says({.execution = {.slices = -2}}), "slices: ", "got -2");
  EXPECT_SAYS(says({.steps_per_execution = -1}), "steps_per_execution: ", "got -1");
  EXPECT_SAYS(says({.optimizer = {}}), "optimizer");
}

TEST(Model, OptimizersHaveNamesLikeLosses) {
  const auto train = [](const Optimizer& optimizer) {
    Model model = compiled(small_cnn(), classifier(optimizer));
    model.fit(image_data(8), {.verbose = 0});
    return model;
  };
  for (const std::string& name : optimizer_names()) {
    EXPECT_TRUE(same_weights(train(name), train(make_optimizer(name)))) << name;
  }
  Model model(small_cnn());
  model.compile({.optimizer = "adam", .loss = "mse"});
  EXPECT_EQ(model.learning_rate(), 0.001);
  EXPECT_SAYS(error_of<InvalidArgument>([&] { model.compile({.optimizer = "sdg"}); }), "sdg",
              "sgd");
}

TEST(Model, UnknownPassesAreAnErrorAtTheFirstUse) {
  Model model = compiled(small_cnn(), classifier(SGD(), {.disabled_passes = {"fuse-postops"}}));
  EXPECT_SAYS(error_of([&] { model.fit(image_data(4), {.verbose = 0}); }),
              "did you mean 'fuse-post-ops'");
}

TEST(Model, CompileStartsAnOptimizerAfresh) {
  const auto step = [](Model& model) {
    model.fit(image_data(12), {.batch_size = 4, .shuffle = false, .verbose = 0});
  };
  Model fresh = compiled(small_cnn(), classifier(Adam()));
  const std::vector<Tensor> start = fresh.get_weights();
  step(fresh);
  Model again = compiled(small_cnn(), classifier(Adam()));
  step(again);
  again.compile(classifier(Adam()));
  again.set_weights(start);
  step(again);
  EXPECT_TRUE(same_weights(fresh, again));
}

TEST(Model, LearningRate) {
  Model model = compiled(small_cnn(), classifier(SGD({.learning_rate = 0.5})));
  EXPECT_EQ(model.learning_rate(), 0.5);
  model.set_learning_rate(0);
  const std::vector<Tensor> before = model.get_weights();
  model.fit(image_data(8), {.verbose = 0});
  EXPECT_TRUE(same_bits(before, model.get_weights()));
  EXPECT_SAYS(error_of([&] { model.set_learning_rate(-1); }), "learning rate", "got -1");
  EXPECT_SAYS(error_of([&] { model.set_learning_rate(std::nan("")); }), "learning rate");
}

TEST(Model, Weights) {
  Model model(small_cnn());
  EXPECT_EQ(model.weight_names(), (std::vector<std::string>{"conv2d/kernel", "conv2d/bias",
                                                            "dense/kernel", "dense/bias"}));
  std::vector<Tensor> weights = model.get_weights();
  ASSERT_EQ(weights.size(), 4u);
  EXPECT_EQ(weights[0].shape(), (Shape{3, 3, 1, 4}));
  for (Tensor& weight : weights) {
    for (float& value : weight.f32()) value += 1;
  }
  model.set_weights(weights);
  EXPECT_TRUE(same_bits(model.get_weights(), weights));
  EXPECT_TRUE(same_bits(model.get_weight("dense/kernel"), weights[2]));
  EXPECT_SAYS(error_of([&] { model.get_weight("dense/kernl"); }), "did you mean 'dense/kernel'");
}

TEST(Model, IsMadeWithWeights) {
  const Model random(small_cnn(), {.seed = 9});
  std::map<std::string, Tensor> weights;
  for (const std::string& name : random.weight_names()) {
    weights.emplace(name, random.get_weight(name));
  }
  Model made(small_cnn(), weights, {.name = "made"});
  EXPECT_EQ(made.name(), "made");
  for (const auto& [name, tensor] : weights) {
    EXPECT_TRUE(std::ranges::equal(made.get_weight(name).f32(), tensor.f32())) << name;
  }
  weights.at("dense/bias") = Tensor(DType::f32, {4});
  EXPECT_SAYS(error_of<InvalidArgument>([&] { Model(small_cnn(), weights); }), "dense/bias", "[3]",
              "[4]");
  weights.erase("dense/bias");
  EXPECT_SAYS(error_of<InvalidArgument>([&] { Model(small_cnn(), weights); }), "dense/bias",
              "got none");
}

TEST(Model, WeightsThatDoNotFitChangeNothing) {
  Model model(small_cnn());
  const std::vector<Tensor> before = model.get_weights();
  std::vector<Tensor> wrong = before;
  wrong[0].f32()[0] = 42;
  wrong[3] = Tensor(DType::f32, {4});
  std::string message = error_of([&] { model.set_weights(wrong); });
  EXPECT_SAYS(message, "'dense/bias'", "expected f32[3]", "got f32[4]");
  wrong[3] = Tensor(DType::i32, {3});
  EXPECT_SAYS(error_of([&] { model.set_weights(wrong); }), "got i32[3]");
  wrong.pop_back();
  EXPECT_SAYS(error_of([&] { model.set_weights(wrong); }), "4 tensors", "got 3");
  EXPECT_TRUE(same_bits(before, model.get_weights()));
}

TEST(Model, FrozenLayersStay) {
  Model model = compiled(small_cnn(), classifier(SGD({.learning_rate = 0.1, .momentum = 0.9})));
  model.set_trainable("conv2d", false);
  EXPECT_FALSE(model.trainable("conv2d"));
  EXPECT_TRUE(model.trainable("dense"));
  const Tensor conv = model.get_weight("conv2d/kernel"), dense = model.get_weight("dense/kernel");
  model.fit(image_data(8), {.verbose = 0});
  EXPECT_TRUE(same_bits(conv, model.get_weight("conv2d/kernel")));
  EXPECT_FALSE(same_bits(dense, model.get_weight("dense/kernel")));
  model.set_trainable("conv2d", true);
  model.fit(image_data(8), {.verbose = 0});
  EXPECT_FALSE(same_bits(conv, model.get_weight("conv2d/kernel")));
}

TEST(Model, FreezingErrors) {
  Model model = compiled(small_cnn(), classifier());
  EXPECT_SAYS(error_of([&] { model.set_trainable("conv", false); }), "unknown layer 'conv'");
  EXPECT_SAYS(error_of([&] { model.trainable("conv"); }), "unknown layer 'conv'");
  for (const char* layer : {"conv2d", "dense"}) model.set_trainable(layer, false);
  EXPECT_SAYS(error_of([&] { model.fit(image_data(4), {.verbose = 0}); }), "no layer is trainable");
}

TEST(Model, FrozenBatchNormalizationUsesItsMovingStatistics) {
  const Network network =
      Sequential({6, 6, 1}, {Conv2D({.filters = 3, .kernel = {3, 3}}),
                             BatchNormalization({.momentum = 0.5, .name = "bn"}), Flatten(),
                             Dense({.units = 3, .activation = "softmax"})});
  Model model = compiled(network, classifier(SGD({.learning_rate = 0})));
  model.fit(image_data(8), {.verbose = 0});
  const Tensor mean = model.get_weight("bn/moving_mean");
  EXPECT_NE(mean.f32()[0], 0);
  const double inference = value_of(model.evaluate(image_data(8)), "loss");
  const auto training_loss = [&] { return model.fit(image_data(8), {.verbose = 0})["loss"][0]; };
  model.set_trainable("bn", false);
  EXPECT_NEAR(training_loss(), inference, 1e-6);
  EXPECT_TRUE(same_bits(mean, model.get_weight("bn/moving_mean")));
  model.set_trainable("bn", true);
  EXPECT_GT(std::abs(training_loss() - inference), 1e-3);
  EXPECT_FALSE(same_bits(mean, model.get_weight("bn/moving_mean")));
}

TEST(Model, SharedLayersLearnFromAllTheirCalls) {
  const SymbolicTensor x = Input({4});
  const Layer dense = Dense({.units = 4, .use_bias = false, .name = "twice"});
  Model model(x, dense(dense(x)));
  model.compile({.optimizer = SGD({.learning_rate = 0.05}), .loss = "mse"});
  const History history =
      model.fit(random_tensor({32, 4}, 1), random_tensor({32, 4}, 2), {.epochs = 10, .verbose = 0});
  EXPECT_LT(history["loss"].back(), history["loss"].front());
}

TEST(Model, CompileReportAndDumps) {
  std::vector<std::string> dumps;
  Model model = compiled(
      small_cnn(),
      classifier(SGD(), {.dump_ir = [&](const std::string& program, std::string_view pass,
                                        const std::string& ir) {
                   dumps.push_back(concat(program, " ", pass, " ", ir.empty() ? "" : "text"));
                 }}));
  EXPECT_SAYS(model.compile_report(8, image_data(8).fields()), "conv");
  ASSERT_FALSE(dumps.empty());
  EXPECT_SAYS(dumps.front(), "train ");
  EXPECT_SAYS(dumps.front(), " text");
  EXPECT_SAYS(error_of([&] { model.compile_report(0, image_data(8).fields()); }),
              "batch_size: ", "got 0");
}

TEST(Model, TilesOfWinogradCanBeLimited) {
  const Network network = Sequential(
      {6, 6, 1},
      {Conv2D({.filters = 16, .kernel = {3, 3}, .padding = "same"}), UpSampling2D({.size = {4, 4}}),
       Conv2D({.filters = 16, .kernel = {3, 3}, .padding = "same", .name = "wide"}), Flatten(),
       Dense({.units = 3, .activation = "softmax"})});
  const auto kernels = [&](WinogradTiles most) {
    return compiled(network, classifier(SGD(), {.slices = 1, .winograd = most}))
        .compile_report(4, image_data(4).fields());
  };
  EXPECT_SAYS(kernels(WinogradTiles::up_to_4), "winograd:", " 4x4");
  const std::string two = kernels(WinogradTiles::up_to_2);
  EXPECT_SAYS(two, "winograd:", " 2x2");
  EXPECT_EQ(two.find(" 4x4"), std::string::npos) << two;
  const std::string none = kernels(WinogradTiles::off);
  EXPECT_EQ(none.find(" 4x4"), std::string::npos) << none;
  EXPECT_EQ(none.find(" 2x2"), std::string::npos) << none;
}

// A prepared program is not compiled again, and preparing runs nothing.
TEST(Model, PreparesWhatFitEvaluateAndPredictRun) {
  std::vector<std::string> dumps;
  Model model = compiled(
      small_cnn(), classifier(SGD(), {.dump_ir = [&](const std::string& program, std::string_view,
                                                     const std::string&) {
                                if (dumps.empty() || dumps.back() != program)
                                  dumps.push_back(program);
                              }}));
  const std::vector<Tensor> before = model.get_weights();
  const Dataset data = image_data(8);
  const Dataset features = Dataset::from_tensors(images(8).x);
  model.prepare(RunMode::train, 4, data.fields());
  model.prepare(RunMode::evaluate, 4, data.fields());
  model.prepare(RunMode::predict, 4, features.fields());
  const std::vector<std::string> all = {"train", "evaluate", "predict"};
  EXPECT_EQ(dumps, all);
  EXPECT_TRUE(same_bits(before, model.get_weights()));
  model.fit(data, {.batch_size = 4, .verbose = 0});
  model.evaluate(data, {.batch_size = 4});
  model.predict(features, {.batch_size = 4});
  EXPECT_EQ(dumps, all);
  model.prepare(RunMode::train, 2, data.fields());  // another batch size is another program
  EXPECT_EQ(dumps.size(), 4u);
  EXPECT_SAYS(error_of([&] { model.prepare(RunMode::train, 0, data.fields()); }),
              "batch_size: ", "got 0");
}

TEST(Model, VerifiesItself) {
  Model model = compiled(rich_cnn(), classifier(SGD(), {.slices = 2}));
  const std::vector<Tensor> before = model.get_weights();
  const Verification found = model.verify(5, image_data(4).fields());
  EXPECT_TRUE(found.ok) << found.table;
  EXPECT_SAYS(found.table, "fuse-post-ops");
  EXPECT_TRUE(same_bits(before, model.get_weights()));
  EXPECT_SAYS(error_of([&] { model.verify(0, image_data(4).fields()); }), "batch_size: ", "got 0");
}

TEST(Model, SavesAndLoads) {
  const TempFolder folder;
  Model first = compiled(rich_cnn(), classifier(), 1);
  first.fit(image_data(16), {.verbose = 0});
  first.save_weights(folder.path("a.h5"));
  Model second(rich_cnn(), {.seed = 2});
  EXPECT_FALSE(same_weights(first, second));
  second.load_weights(folder.path("a.h5"));
  EXPECT_TRUE(same_weights(first, second));
}

TEST(Model, LoadedWeightsAreUsedByProgramsMadeBefore) {
  const TempFolder folder;
  Model first(small_cnn(), {.seed = 1}), second(small_cnn(), {.seed = 2});
  const Tensor x = images(3).x;
  const Tensor wanted = first.predict(x);
  EXPECT_FALSE(same_bits(wanted, second.predict(x)));
  first.save_weights(folder.path("a.h5"));
  second.load_weights(folder.path("a.h5"));
  EXPECT_TRUE(same_bits(wanted, second.predict(x)));
}

Network features_and_head(int64_t units, const std::string& head) {
  return Sequential({6, 6, 1}, {Conv2D({.filters = 4, .kernel = {3, 3}, .name = "features"}),
                                Flatten(), Dense({.units = units, .name = head})});
}

TEST(Model, LoadsByNameForFineTuning) {
  const TempFolder folder;
  const Model trained(features_and_head(3, "head"), {.seed = 1});
  trained.save_weights(folder.path("a.h5"));
  Model other(features_and_head(5, "new_head"), {.seed = 2});
  const Tensor head = other.get_weight("new_head/kernel");
  other.load_weights(folder.path("a.h5"), {.by_name = true});
  EXPECT_TRUE(
      same_bits(trained.get_weight("features/kernel"), other.get_weight("features/kernel")));
  EXPECT_TRUE(same_bits(head, other.get_weight("new_head/kernel")));
}

TEST(Model, LoadsByNameAroundMismatches) {
  const TempFolder folder;
  const Model trained(features_and_head(3, "head"), {.seed = 1});
  trained.save_weights(folder.path("a.h5"));
  Model other(features_and_head(5, "head"), {.seed = 2});
  const std::vector<Tensor> before = other.get_weights();
  const std::string message =
      error_of([&] { other.load_weights(folder.path("a.h5"), {.by_name = true}); });
  EXPECT_SAYS(message, "'head'");
  EXPECT_TRUE(same_bits(before, other.get_weights()));
  other.load_weights(folder.path("a.h5"), {.by_name = true, .skip_mismatch = true});
  EXPECT_TRUE(
      same_bits(trained.get_weight("features/kernel"), other.get_weight("features/kernel")));
  EXPECT_TRUE(same_bits(before[2], other.get_weight("head/kernel")));
}

TEST(Model, FileOfAnotherModelChangesNothing) {
  const TempFolder folder;
  Model(features_and_head(3, "head"), {.seed = 1}).save_weights(folder.path("a.h5"));
  Model other(features_and_head(5, "head"), {.seed = 2});
  const std::vector<Tensor> before = other.get_weights();
  const std::string message = error_of([&] { other.load_weights(folder.path("a.h5")); });
  EXPECT_SAYS(message, "head");
  EXPECT_SAYS(message, "[64,3]");
  EXPECT_SAYS(message, "[64,5]");
  EXPECT_TRUE(same_bits(before, other.get_weights()));
  EXPECT_SAYS(error_of<IoError>([&] { other.load_weights(folder.path("none.h5")); }), "none.h5");
}

TEST(Model, TruncatedFileChangesNothing) {
  const TempFolder folder;
  const std::string path = folder.path("a.h5");
  Model(small_cnn(), {.seed = 1}).save_weights(path);
  Model other(small_cnn(), {.seed = 2});
  const std::vector<Tensor> before = other.get_weights();
  const auto whole = std::filesystem::file_size(path);
  for (const auto size : {whole - 100, whole / 2, whole / 10, whole - whole}) {
    std::filesystem::resize_file(path, size);
    EXPECT_SAYS(error_of<IoError>([&] { other.load_weights(path); }), "a.h5");
    EXPECT_TRUE(same_bits(before, other.get_weights())) << size;
  }
}

TEST(Model, H5pyOpensTheFile) {
  if (std::system(PANDO_PYTHON " -c 'import h5py' 2>/dev/null") != 0) {
    GTEST_SKIP() << PANDO_PYTHON " has no h5py; on Debian install python3-h5py";
  }
  const TempFolder folder;
  const Model model(small_cnn());
  model.save_weights(folder.path("a.h5"));
  std::ofstream(folder.path("check.py"))
      << "import h5py\n"
      << "f = h5py.File('" << folder.path("a.h5") << "', 'r')\n"
      << "names = [n.decode() if isinstance(n, bytes) else n for n in f.attrs['layer_names']]\n"
      << "assert names == ['input_1', 'conv2d', 'max_pooling2d', 'flatten', 'dense'], names\n"
      << "kernel = f['conv2d/conv2d/kernel:0'][()]\n"
      << "assert kernel.shape == (3, 3, 1, 4) and kernel.dtype == 'float32', kernel\n"
      << "assert abs(kernel[2, 1, 0, 3] - ("
      << model.get_weight("conv2d/kernel").f32()[(2 * 3 + 1) * 4 + 3] << ")) < 1e-5, kernel\n";
  EXPECT_EQ(std::system((PANDO_PYTHON " '" + folder.path("check.py") + "'").c_str()), 0);
}

TEST(Model, LoadingByNameSaysWhatItLeftAlone) {
  const TempFolder folder;
  Model source =
      Model(Sequential({4}, {Dense({.units = 3, .name = "a"}), Dense({.units = 2, .name = "b"})}));
  source.save_weights(folder.path("ab.h5"));
  Model target =
      Model(Sequential({4}, {Dense({.units = 3, .name = "a"}), Dense({.units = 2, .name = "c"})}));
  const LoadReport report = target.load_weights(folder.path("ab.h5"), {.by_name = true});
  ASSERT_EQ(report.skipped.size(), 1u);
  EXPECT_SAYS(report.skipped[0], "'c'");
  EXPECT_EQ(report.unused, std::vector<std::string>{"b"});
  Model stranger = Model(Sequential({4}, {Dense({.units = 3, .name = "x"})}));
  EXPECT_SAYS(error_of([&] { stranger.load_weights(folder.path("ab.h5"), {.by_name = true}); }),
              "no layer of the file");
}

}  // namespace
}  // namespace pando
