// Networks that leave a run: `pando export`, `pando show` and `pando predict`.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "pando/app/job/exit_code.h"
#include "pando/app/run/trained_model.h"
#include "pando/base/new_file.h"
#include "pando/data/image/png.h"
#include "pando/data/sources/idx.h"
#include "pando/data/sources/make_shapes.h"
#include "pando/nn/layers.h"
#include "pando/onnx/proto.h"
#include "pando/store/weights_file.h"
#include "pando/train/keras_model.h"
#include "pando/train/load_model.h"
#include "pando/train/predictor.h"
#include "tests/app/mnist_folder.h"
#include "tests/cli/run_cli.h"
#include "tests/support/expect_error.h"

namespace pando::cli {
namespace {

namespace fs = std::filesystem;

class LeavingRun : public testing::Test {
 protected:
  LeavingRun() { app::write_mnist(folder_); }

  std::string path(const std::string& name) const { return (folder_.path / name).string(); }

  void write_png(const std::string& name, const ImageView& image) const {
    fs::create_directories(fs::path(path(name)).parent_path());
    const std::vector<uint8_t> png = encode_png(image);
    write_new_file(path(name), std::as_bytes(std::span(png)));
  }

  // The test pictures of the data set, in pictures/.
  std::vector<int> write_test_pictures() const {
    const Tensor images = read_idx(path("t10k-images-idx3-ubyte"));
    const Tensor labels = read_idx(path("t10k-labels-idx1-ubyte"));
    std::vector<int> classes;
    for (int64_t i = 0; i < images.shape()[0]; ++i) {
      const ImageView view{images.u8().data() + i * 28 * 28, {28, 28}, 1};
      write_png("pictures/" + std::to_string(100 + i) + ".png", view);
      classes.push_back(labels.u8()[static_cast<size_t>(i)]);
    }
    return classes;
  }

  void train(std::vector<std::string> args) const {
    args.insert(args.begin(), {"train", "--seed=1", "--slices=2", "--quiet"});
    const Result result = run(args);
    ASSERT_EQ(result.code, app::kDone) << result.out << result.err;
  }
  void train_mnist(const std::string& name, std::vector<std::string> args = {}) const {
    args.insert(args.end(), {"--dataset-path", folder_.path.string(), "--run-dir", path(name),
                             "--learning-rate=0.05", "--epochs=1"});
    train(args);
  }
  Result export_to(const std::string& file, std::vector<std::string> args) const {
    args.insert(args.begin(), "export");
    args.insert(args.end(), {"-o", path(file)});
    return run(args);
  }
  static nlohmann::json answers(std::vector<std::string> args, int code = app::kDone) {
    args.insert(args.begin(), "predict");
    args.emplace_back("--json");
    const Result result = run(args);
    EXPECT_EQ(result.code, code) << result.out << result.err;
    return nlohmann::json::parse(result.out, nullptr, false);
  }
  double last_accuracy(const std::string& name) const {
    const auto rows = nlohmann::json::parse(folder_.read(name + "/history.json"));
    return rows.back()["val_accuracy"].get<double>();
  }

  app::TestFolder folder_;
};

TEST_F(LeavingRun, TestTimeFlipAnswersForBothViews) {
  write_test_pictures();
  train_mnist("run");
  const auto probability = [&](std::vector<std::string> flags) {
    std::vector<std::string> args = {path("run"), path("pictures/100.png"), "--top=1"};
    args.insert(args.end(), flags.begin(), flags.end());
    return answers(args)[0]["scores"][0]["value"].get<double>();
  };
  EXPECT_NE(probability({}), probability({"--test-time-flip"}));
}

TEST_F(LeavingRun, APictureGetsTheSameAnswerFromRunCheckpointAndFile) {
  const std::vector<int> labels = write_test_pictures();
  const std::vector<std::vector<std::string>> ways = {
      {}, {"--accelerator-side-preprocess", "--eight-bit-transfer", "--fused-preprocessing"}};
  for (const auto& way : ways) {
    fs::remove_all(path("run"));
    train_mnist("run", way);
    fs::remove_all(path("run/config.yml"));  // the checkpoint is enough
    const nlohmann::json expected = answers({path("run"), path("pictures")});
    ASSERT_EQ(expected.size(), labels.size());
    int right = 0;
    for (size_t i = 0; i < labels.size(); ++i) {
      right += expected[i]["scores"][0]["index"] == labels[i];
    }
    EXPECT_NEAR(right / 50.0, last_accuracy("run"), 1e-6);
    EXPECT_EQ(expected[0]["scores"].size(), 5u);
    EXPECT_EQ(expected[0]["scores"][0]["label"].get<std::string>().size() > 2, true);  // a name
    ASSERT_EQ(export_to("a.onnx", {path("run")}).code, app::kDone);
    EXPECT_EQ(answers({path("a.onnx"), path("pictures")}), expected);
    EXPECT_EQ(answers({path("run/checkpoints/epoch_1.0.h5"), path("pictures")}), expected);
    const Tensor x = Tensor(DType::f32, {3, 28, 28, 1});
    app::TrainedModel trained = app::open_trained_model(path("run"));
    EXPECT_TRUE(
        std::ranges::equal(Predictor(trained.model).run(x).f32(), trained.model.predict(x).f32()));
    ASSERT_EQ(export_to("b.onnx", {path("a.onnx")}).code, app::kDone);
    EXPECT_EQ(answers({path("b.onnx"), path("pictures"), "--batch-size=7"}), expected);
  }
}

TEST_F(LeavingRun, WeightsAndNetworkAreNamedOnce) {
  train_mnist("run");
  const std::string checkpoint = path("run/checkpoints/epoch_1.0.h5");
  const Result weights = export_to("a.onnx", {path("run"), "--weights", checkpoint});
  EXPECT_EQ(weights.code, app::kUsage);
  EXPECT_SAYS(weights.err, "--weights", "remove");
  ASSERT_EQ(export_to("a.onnx", {path("run")}).code, app::kDone);
  const Result model = export_to("b.onnx", {path("a.onnx"), "--model", "resnet18"});
  EXPECT_EQ(model.code, app::kUsage);
  EXPECT_SAYS(model.err, "--model", "a.onnx");
  const std::string before = folder_.read("run/checkpoints/epoch_1.0.h5");
  const Result over = export_to("run/checkpoints/epoch_1.0.h5", {path("run"), "--format", "onnx"});
  EXPECT_EQ(over.code, app::kUsage);
  EXPECT_SAYS(over.err, "--output", "checkpoint");
  EXPECT_EQ(folder_.read("run/checkpoints/epoch_1.0.h5"), before);
  ASSERT_EQ(mkfifo(path("pipe.onnx").c_str(), 0600), 0);
  EXPECT_SAYS(run({"show", path("pipe.onnx")}).err, "pipe.onnx", "regular");
}

TEST_F(LeavingRun, NumbersThatAreNotFiniteAreNoAnswer) {
  write_test_pictures();
  Model model(Sequential({28, 28, 1}, {Flatten(), Dense({.units = 3, .activation = "softmax"})}));
  std::vector<Tensor> weights = model.get_weights();
  weights[1].f32()[0] = std::nanf("");
  model.set_weights(weights);
  save_model(model, path("nan.keras"));
  const Result result = run({"predict", path("nan.keras"), path("pictures/100.png")});
  EXPECT_EQ(result.code, app::kFailed);
}

TEST_F(LeavingRun, AFineTunedFileLeavesLikeAnyOther) {
  const std::vector<int> labels = write_test_pictures();
  train_mnist("first");
  ASSERT_EQ(export_to("first.onnx", {path("first")}).code, app::kDone);
  // A file that asks for other values than the data set gives.
  Model model = load_model(path("first.onnx"));
  ModelFacts facts = model.facts();
  facts.pictures->mean = {0.25};
  facts.pictures->std = {0.5};
  model.set_facts(facts);
  save_model(model, path("other.onnx"));
  train_mnist("second", {"--model", path("other.onnx"), "--dataset=fashion_mnist", "--classes=auto",
                         "--freeze=all"});
  const nlohmann::json expected = answers({path("second"), path("pictures")});
  int right = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    right += expected[i]["scores"][0]["index"] == labels[i];
  }
  EXPECT_NEAR(right / 50.0, last_accuracy("second"), 1e-6);
  fs::remove(path("other.onnx"));  // the run has a copy
  ASSERT_EQ(export_to("second.onnx", {path("second")}).code, app::kDone);
  EXPECT_EQ(answers({path("second.onnx"), path("pictures")}), expected);
  EXPECT_EQ(load_model(path("second.onnx")).facts().pictures.value().std, std::vector{0.5});
}

TEST_F(LeavingRun, PhotographsAreSeenAsValidationSeesThem) {
  RandomStream random(5);
  for (const char* part : {"photos/train/", "photos/validation/"}) {
    for (int i = 0; i < 12; ++i) {
      Image image({40 + i, 50}, 3);
      for (uint8_t& value : image.pixels) {
        value = static_cast<uint8_t>(random.next_below(128) + (i % 2 == 0 ? 127 : 0));
      }
      write_png(part + std::string(i % 2 == 0 ? "bright/" : "dark/") + std::to_string(i) + ".png",
                image.view());
    }
  }
  train({"--model=toy_model", "--dataset=image_folder", "--dataset-path", path("photos"),
         "--image-size=32", "--epochs=3", "--batch-size=4", "--run-dir", path("run")});
  const std::string pictures = path("photos/validation");
  const nlohmann::json expected = answers({path("run"), pictures});
  int right = 0;
  for (const auto& answer : expected) {
    const auto label = answer["scores"][0]["label"].get<std::string>();
    right += answer["file"].get<std::string>().find("/" + label + "/") != std::string::npos;
  }
  EXPECT_NEAR(right / 12.0, last_accuracy("run"), 1e-6);
  ASSERT_EQ(export_to("a.onnx", {path("run"), "--checkpoint=newest"}).code, app::kDone);
  EXPECT_EQ(answers({path("a.onnx"), pictures}), expected);
  const ModelFacts facts = load_model(path("a.onnx")).facts();
  EXPECT_EQ(facts.labels, (std::vector<std::string>{"bright", "dark"}));
  EXPECT_EQ(facts.pictures.value().short_side, 36);
  EXPECT_EQ(facts.origin.dataset, "image_folder");
  EXPECT_EQ(facts.origin.date.size(), std::string("2026-11-17T22:47:24Z").size());
}

TEST_F(LeavingRun, MasksAreWrittenForNetworksOfPixels) {
  make_shapes(path("shapes"), {.train = 8, .validation = 3, .size = 32});
  train({"--model=unet_small", "--dataset=image_folder", "--dataset-path", path("shapes"),
         "--image-size=32", "--epochs=1", "--batch-size=4", "--run-dir", path("run")});
  const nlohmann::json found =
      answers({path("run"), path("shapes/validation/images"), "--output", path("masks")});
  ASSERT_EQ(found.size(), 3u);
  double shares = 0;
  for (const auto& score : found[0]["scores"]) shares += score["value"].get<double>();
  EXPECT_NEAR(shares, 1, 1e-9);
  EXPECT_EQ(found[0]["scores"][0]["label"], "background");
  const auto mask = found[0]["mask"].get<std::string>();
  EXPECT_TRUE(mask.starts_with(path("masks")));
  EXPECT_TRUE(folder_.read(fs::relative(mask, folder_.path).string()).starts_with("\x89PNG"));
  const Result wrong =
      run({"predict", path("run"), path("shapes/validation/images"), "--task=classification"});
  EXPECT_EQ(wrong.code, app::kUsage);
  EXPECT_SAYS(wrong.err, "--task", "[32,32,3]");
}

// A network that adds up the values of each channel.
Model channel_sums(const Shape& input, const std::string& activation) {
  const int64_t channels = input[2];
  Model model(
      Sequential(input, {GlobalAveragePooling2D(),
                         Dense({.units = 3, .activation = activation, .use_bias = false})}));
  Tensor kernel(DType::f32, {channels, 3});
  for (int64_t c = 0; c < channels; ++c) kernel.f32()[static_cast<size_t>(c * 3 + c)] = 1;
  model.set_weights({kernel});
  return model;
}

TEST_F(LeavingRun, FilesOfOthersGetWhatFlagsSay) {
  Image image({20, 30}, 3);
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    image.pixels[i] = i % 3 == 0 ? 51 : i % 3 == 1 ? 102 : 204;
  }
  write_png("flat.png", image.view());
  save_model(channel_sums({8, 8, 3}, "linear"), path("sums.onnx"));
  const auto values = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {path("sums.onnx"), path("flat.png"), "--task=regression"});
    const nlohmann::json all = answers(flags);
    std::vector<double> found;
    for (const auto& score : all[0]["scores"]) found.push_back(score["value"]);
    return found;
  };
  const auto expect_near = [](const std::vector<double>& found, std::vector<double> wanted) {
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-4);
  };
  expect_near(values({"--preprocessing=none"}), {51, 102, 204});
  expect_near(values({"--preprocessing=scale"}), {0.2, 0.4, 0.8});
  expect_near(values({"--preprocessing=tf"}), {-0.6, -0.2, 0.6});
  expect_near(values({"--colours=bgr", "--mean=0.1", "--std=0.5,1,1"}), {1.4, 0.3, 0.1});
  expect_near(values({}), {(0.2 - 0.485) / 0.229, (0.4 - 0.456) / 0.224, (0.8 - 0.406) / 0.225});
  save_model(channel_sums({8, 8, 1}, "linear"), path("grey.onnx"));
  const double grey = answers({path("grey.onnx"), path("flat.png"), "--task=regression",
                               "--preprocessing=none"})[0]["scores"][0]["value"];
  EXPECT_EQ(grey, std::floor(0.299 * 51 + 0.587 * 102 + 0.114 * 204 + 0.5));
}

TEST_F(LeavingRun, LabelsAndKindsOfAnswers) {
  write_png("a.png", Image({9, 9}, 3).view());
  save_model(channel_sums({8, 8, 3}, "sigmoid"), path("labels.onnx"));
  folder_.write("names.txt", "one\ntwo\nthree\n");
  const auto all = answers(
      {path("labels.onnx"), path("a.png"), "--labels", path("names.txt"), "--preprocessing=none"});
  ASSERT_EQ(all[0]["scores"].size(), 3u);
  EXPECT_EQ(all[0]["scores"][1]["label"], "two");
  EXPECT_EQ(all[0]["scores"][1]["value"], 0.5);
  save_model(channel_sums({8, 8, 3}, "linear"), path("logits.onnx"));
  const auto first =
      answers({path("logits.onnx"), path("a.png"), "--top=1", "--preprocessing=none"});
  ASSERT_EQ(first[0]["scores"].size(), 1u);
  EXPECT_NEAR(first[0]["scores"][0]["value"], 1.0 / 3, 1e-6);
  folder_.write("short.txt", "one\ntwo\n");
  const Result wrong =
      run({"predict", path("labels.onnx"), path("a.png"), "--labels", path("short.txt")});
  EXPECT_EQ(wrong.code, app::kUsage);
  EXPECT_SAYS(wrong.err, "--labels", "2 names", "expected 3");
}

// Two of three classes are equally likely: exp(0) : exp(0) : exp(ln 2) = 1 : 1 : 2.
TEST_F(LeavingRun, AnswersAsTableAndAsLines) {
  Model model(Sequential({8, 8, 3},
                         {GlobalAveragePooling2D(), Dense({.units = 3, .activation = "softmax"})}));
  model.set_weights({Tensor(DType::f32, {3, 3}), Tensor::of_f32({3}, {0, 0, std::log(2.0f)})});
  model.set_facts({.labels = {"one, or none", "two", "the \"third\""}, .origin = {}});
  save_model(model, path("net.keras"));
  const std::string picture = path("a, b.png");
  write_png("a, b.png", Image({9, 9}, 3).view());
  const auto printed = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"predict", path("net.keras"), picture, "--preprocessing=scale"});
    const Result result = run(flags);
    EXPECT_EQ(result.code, app::kDone) << result.err;
    return result.out;
  };
  const std::string name = "\"" + picture + "\"";
  EXPECT_EQ(printed({"--csv"}), "file,rank,index,label,value\n" + name +
                                    ",1,2,\"the \"\"third\"\"\",0.5\n" + name +
                                    ",2,0,\"one, or none\",0.25\n" + name + ",3,1,two,0.25\n");
  EXPECT_SAYS(printed({"--top=2"}), picture + ": the \"third\" 50.00 %, one, or none 25.00 %");
}

TEST_F(LeavingRun, PicturesThatCannotBeReadAreNamedAndOthersAnswered) {
  write_png("some/a.png", Image({9, 9}, 3).view());
  folder_.write("some/b.jpg", "hello");
  write_png("some/c.png", Image({9, 9}, 3).view());
  save_model(channel_sums({8, 8, 3}, "softmax"), path("net.onnx"));
  testing::internal::CaptureStderr();
  const auto found = answers({path("net.onnx"), path("some")}, app::kFailed);
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_SAYS(told, "some/b.jpg", "warning", "assumed", "8x8 rgb");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1]["file"], path("some/c.png"));
  const Result text = run({"predict", path("net.onnx"), path("some"), "--preprocessing=scale"});
  EXPECT_EQ(text.code, app::kFailed);
  EXPECT_SAYS(text.out, "2 pictures in ", "not read: 1");
  // A path that does not exist, and a folder without files, cost no answer.
  fs::create_directories(path("empty"));
  testing::internal::CaptureStderr();
  const auto others = answers(
      {path("net.onnx"), path("none.png"), path("some/c.png"), path("empty")}, app::kFailed);
  EXPECT_SAYS(testing::internal::GetCapturedStderr(), "none.png", "no such file", "empty");
  ASSERT_EQ(others.size(), 1u);
  EXPECT_EQ(others[0]["file"], path("some/c.png"));
}

// 2: the command line is wrong. 1: a file that is there cannot be used.
TEST_F(LeavingRun, FilesThatCannotBeReadHaveAnotherExitCodeThanWrongFlags) {
  write_png("a.png", Image({9, 9}, 3).view());
  save_model(channel_sums({8, 8, 3}, "softmax"), path("net.onnx"));
  save_model(channel_sums({8, 8, 3}, "softmax"), path("net.keras"));
  const std::string onnx = folder_.read("net.onnx"), keras = folder_.read("net.keras");
  folder_.write("cut.onnx", onnx.substr(0, onnx.size() / 2));
  folder_.write("cut.keras", keras.substr(0, keras.size() / 2));
  folder_.write("text.onnx", "hello");
  folder_.write("notes.txt", "hello");
  folder_.write("other.json", R"({"format": "graph-model"})");
  std::string unknown = onnx;
  for (size_t at = unknown.find("Softmax"); at != std::string::npos; at = unknown.find("Softmax")) {
    unknown.replace(at, 7, "Unknown");
  }
  folder_.write("unknown.onnx", unknown);
  save_model(channel_sums({8, 8, 3}, "softmax"), path("net.json"));
  std::string layers = folder_.read("net.json");
  const std::string known = "GlobalAveragePooling2D";
  layers.replace(layers.find("\"" + known + "\"") + 1, known.size(), "Lambda");
  folder_.write("unknown.json", layers);
  const std::vector<std::string> damaged = {"cut.onnx",    "cut.keras",    "text.onnx",
                                            "other.json",  "unknown.onnx", "notes.txt",
                                            "unknown.json"};
  for (const std::string& name : damaged) {
    SCOPED_TRACE(name);
    std::vector<std::vector<std::string>> commands = {{"show", path(name)},
                                                      {"predict", path(name), path("a.png")},
                                                      {"export", path(name), "-o", path("x.onnx")}};
    if (name != "notes.txt") commands.push_back({"train", "--model", path(name), "--dry-run"});
    for (const std::vector<std::string>& command : commands) {
      const Result result = run(command);
      EXPECT_EQ(result.code, app::kFailed) << command[0] << ": " << result.err;
      EXPECT_SAYS(result.err + result.out, name) << command[0];
      if (name == "unknown.json") {
        EXPECT_SAYS(result.err, "Lambda (1)") << command[0];
      }
    }
  }
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"show", path("none.onnx")},
           {"predict", path("none.onnx"), path("a.png")},
           {"export", path("none.onnx"), "-o", path("x.onnx")},
           {"train", "--model", path("none.onnx"), "--dry-run"}}) {
    const Result result = run(command);
    EXPECT_EQ(result.code, app::kUsage) << command[0] << ": " << result.err;
    EXPECT_SAYS(result.err, "none.onnx", "does not exist");
  }
}

TEST_F(LeavingRun, FlagsWithoutEffectAreRefused) {
  write_png("a.png", Image({9, 9}, 3).view());
  save_model(channel_sums({8, 8, 3}, "softmax"), path("net.onnx"));
  const std::string net = path("net.onnx"), picture = path("a.png");
  const auto refused = [&](const std::vector<std::string>& command) {
    const Result result = run(command);
    EXPECT_EQ(result.code, app::kUsage) << command[0] << ": " << result.err;
    return result.err;
  };
  EXPECT_SAYS(refused({"predict", net, picture, "--image-size=16"}), "--image-size", "16x16",
              "[8,8,3]", "remove");
  EXPECT_SAYS(refused({"predict", net, picture, "--size-multiple=4"}), "--size-multiple", "open");
  EXPECT_SAYS(refused({"show", net, "--image-size=16"}), "--image-size", "[8,8,3]");
  EXPECT_SAYS(refused({"export", net, "--image-size=16", "-o", path("x.onnx")}), "--image-size");
  EXPECT_EQ(run({"predict", net, picture, "--image-size=8"}).code, app::kDone);
  EXPECT_SAYS(refused({"predict", net, picture, "--output", path("masks")}), "--output", "pixel");
  EXPECT_FALSE(fs::exists(path("masks")));
  EXPECT_SAYS(refused({"predict", net, picture, "--checkpoint=newest"}), "--checkpoint",
              "net.onnx");
  for (const char* flag : {"--norm-layer={name: batch_norm, momentum: 0.5}", "--dataset=cifar10"}) {
    EXPECT_SAYS(refused({"export", net, flag, "-o", path("x.onnx")}), "no effect", "net.onnx");
  }
  save_model(channel_sums({8, 8, 3}, "sigmoid"), path("labels.onnx"));
  testing::internal::CaptureStderr();
  EXPECT_EQ(run({"predict", path("labels.onnx"), picture, "--top=1"}).code, app::kDone);
  EXPECT_SAYS(testing::internal::GetCapturedStderr(), "--top", "no effect");
}

// Its first layer is not a convolution that would say where the channels are.
TEST_F(LeavingRun, ANetworkThatFlattensPicturesAtOnceAnswers) {
  write_png("a.png", Image({9, 9}, 3).view());
  Model model(Sequential({8, 8, 3}, {Flatten(), Dense({.units = 3, .activation = "softmax"})}));
  save_model(model, path("flat.onnx"));
  save_model(model, path("flat.keras"));
  const auto expected = answers({path("flat.keras"), path("a.png")});
  const auto found = answers({path("flat.onnx"), path("a.png")});
  EXPECT_EQ(found, expected);
}

TEST_F(LeavingRun, WrongUseOfPredictSaysWhatToDo) {
  write_png("a.png", Image({9, 9}, 3).view());
  save_model(channel_sums({8, 8, 3}, "softmax"), path("net.onnx"));
  const auto error = [&](std::vector<std::string> args) {
    args.insert(args.begin(), "predict");
    const Result result = run(args);
    EXPECT_EQ(result.code, app::kUsage) << result.err;
    EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
    return result.err;
  };
  const std::string net = path("net.onnx"), picture = path("a.png");
  EXPECT_SAYS(error({}), "WHAT");
  EXPECT_SAYS(error({net}), "PICTURE", "not given");
  EXPECT_SAYS(error({path("none"), picture}), "none", "does not exist");
  EXPECT_SAYS(error({net, path("none.png")}), "none.png", "does not exist");
  fs::create_directories(path("empty"));
  EXPECT_SAYS(error({net, path("empty")}), "empty", "no files");
  EXPECT_SAYS(error({net, picture, "--csv", "--json"}), "--csv", "--json");
  EXPECT_SAYS(error({net, picture, "--mean=1,2"}), "--mean", "1 or 3");
  EXPECT_SAYS(error({net, picture, "--std=0"}), "--std", "above 0");
  EXPECT_SAYS(error({net, picture, "--mean=0", "--preprocessing=tf"}), "--preprocessing", "--mean");
  EXPECT_SAYS(error({net, picture, "--image-size=axb"}), "--image-size", "axb");
  EXPECT_SAYS(error({net, picture, "--output", picture}), "--output", "expected a folder");
  EXPECT_SAYS(error({path("empty"), picture}), "no checkpoint", "ONNX (.onnx)");
  Model(Sequential({4}, {Dense({.units = 2})})).save_weights(path("weights.h5"));
  EXPECT_SAYS(error({path("weights.h5"), picture}), "does not record", "--model NAME");
  save_model(Model(Sequential({4}, {Dense({.units = 2})})), path("flat.onnx"));
  EXPECT_SAYS(error({path("flat.onnx"), picture}), "[4]", "expected pictures");
  const SymbolicTensor a = Input({8, 8, 3}), b = Input({8, 8, 3});
  save_model(Model({a, b}, {Add()({a, b})}), path("two.onnx"));
  EXPECT_SAYS(error({path("two.onnx"), picture}), "2 inputs");
  const SymbolicTensor y = GlobalAveragePooling2D()(a);
  save_model(Model({a}, {y, Dense({.units = 2})(y)}), path("outputs.onnx"));
  EXPECT_SAYS(error({path("outputs.onnx"), picture, "--task=regression"}), "--task", "2 outputs");
}

TEST_F(LeavingRun, PredictAnswersEachOutput) {
  write_png("a.png", Image({8, 8}, 3).view());
  const SymbolicTensor picture = Input({8, 8, 3});
  const SymbolicTensor seen = GlobalAveragePooling2D()(picture);
  save_model(Model({picture}, {Dense({.units = 2, .activation = "softmax", .name = "kind"})(seen),
                               Dense({.units = 1, .name = "amount"})(seen)}),
             path("outputs.keras"));
  const Result text = run({"predict", path("outputs.keras"), path("a.png")});
  EXPECT_EQ(text.code, app::kDone) << text.err;
  EXPECT_EQ(std::ranges::count(text.out, '\n'), 2) << text.out;
  EXPECT_SAYS(text.out, "a.png, kind: ", " %", "a.png, amount: 0 ");
  const Result csv = run({"predict", path("outputs.keras"), path("a.png"), "--csv"});
  EXPECT_SAYS(csv.out, "file,output,rank,index,label,value\n", "a.png,kind,1,", "a.png,amount,1,0");
}

TEST_F(LeavingRun, ExportTakesANetworkFromAFile) {
  const Network network =
      Sequential({6, 6, 3}, {Conv2D({.filters = 2, .name = "conv"}), Flatten(),
                             Dense({.units = 3, .activation = "softmax", .name = "last"})});
  Model first(network, {.seed = 1}), second(network, {.seed = 2});
  save_model(first, path("net.keras"));
  second.save_weights(path("other.h5"));
  Tensor x(DType::f32, {1, 6, 6, 3});
  x.f32()[5] = 1;
  const Result own = export_to("own.onnx", {"--model", path("net.keras")});
  ASSERT_EQ(own.code, app::kDone) << own.err;
  EXPECT_TRUE(
      std::ranges::equal(load_model(path("own.onnx")).predict(x).f32(), first.predict(x).f32()));
  const Result other = export_to("other.onnx", {path("other.h5"), "--model", path("net.keras")});
  ASSERT_EQ(other.code, app::kDone) << other.err;
  EXPECT_TRUE(
      std::ranges::equal(load_model(path("other.onnx")).predict(x).f32(), second.predict(x).f32()));
}

TEST_F(LeavingRun, ExportTakesWeightsByTheNameOfTheirNetwork) {
  const Result random = export_to("random.onnx", {"--model=toy_model"});
  EXPECT_EQ(random.code, app::kDone) << random.err;
  Model model = load_model(path("random.onnx"));
  Model named(zoo_entry("toy_model").build({32, 32, 3}, 10), {.seed = 9});
  named.save_weights(path("weights.h5"));
  const Result known = export_to("known.onnx", {path("weights.h5"), "--model=toy_model"});
  EXPECT_EQ(known.code, app::kDone) << known.err;
  EXPECT_SAYS(known.out, "known.onnx", "ONNX", "weights of " + path("weights.h5"));
  Tensor x(DType::f32, {1, 32, 32, 3});
  x.f32()[5] = 1;
  EXPECT_TRUE(
      std::ranges::equal(load_model(path("known.onnx")).predict(x).f32(), named.predict(x).f32()));
  EXPECT_FALSE(std::ranges::equal(model.predict(x).f32(), named.predict(x).f32()));
  EXPECT_EQ(export_to("large.onnx", {"--model=mnist_cnn"}).code, app::kDone);
  EXPECT_EQ(export_to("half.onnx", {path("large.onnx"), "--half", "--opset=11"}).code, app::kDone);
  EXPECT_LT(fs::file_size(path("half.onnx")), fs::file_size(path("large.onnx")) * 6 / 10);
}

TEST_F(LeavingRun, WeightsLeaveAsSafetensors) {
  const std::string file = path("w.safetensors");
  ASSERT_EQ(export_to("w.safetensors", {"--model=mobilenet_v2", "--names=torchvision"}).code,
            app::kDone);
  EXPECT_EQ(export_to("same.onnx", {file, "--model=mobilenet_v2"}).code, app::kDone);
  const Result unnamed = export_to("x.onnx", {file});
  EXPECT_EQ(unnamed.code, app::kUsage);  // mnist_cnn has other layers
  EXPECT_SAYS(unnamed.err, file);
  const Result shown = run({"show", file});
  EXPECT_EQ(shown.code, app::kUsage);
  EXPECT_SAYS(shown.err, "does not record", "--model NAME");
  const Result names = export_to("x.onnx", {"--model=toy_model", "--names=torchvision"});
  EXPECT_EQ(names.code, app::kUsage);
  EXPECT_SAYS(names.err, "--names", "safetensors");
  const Result opset = export_to("x.safetensors", {"--model=toy_model", "--opset=13"});
  EXPECT_EQ(opset.code, app::kUsage);
  EXPECT_SAYS(opset.err, "--opset");
  EXPECT_EQ(export_to("y.bin", {"--model=toy_model", "--format=safetensors"}).code, app::kDone);
}

TEST_F(LeavingRun, AnExportedCheckpointKeepsTheOptimizer) {
  train_mnist("run", {"--optimizer=adam"});
  ASSERT_EQ(export_to("m.h5", {path("run")}).code, app::kDone);
  Model model = load_model(path("m.h5"));
  model.compile({.optimizer = Adam(), .loss = "sparse_categorical_crossentropy"});
  EXPECT_EQ(restore_keras_optimizer(model, path("m.h5")), "");
  EXPECT_GT(model.training_state().iteration, 0);
}

TEST_F(LeavingRun, WrongUseOfExportLeavesNothingBehind) {
  const auto error = [&](std::vector<std::string> args) {
    args.insert(args.begin(), "export");
    const Result result = run(args);
    EXPECT_EQ(result.code, app::kUsage) << result.err;
    return result.err;
  };
  EXPECT_SAYS(error({"--model=toy_model"}), "--output", "not given");
  EXPECT_SAYS(error({"--model=toy_model", "-o", path("x.tflite")}), "x.tflite", "ONNX (.onnx)");
  EXPECT_SAYS(error({"--model=toy_model", "-o", path("no/x.onnx")}), "--output", "does not exist");
  EXPECT_SAYS(error({"--model=toy_model", "-o", folder_.path.string()}), "got the folder");
  EXPECT_SAYS(error({"--model=toy_model", "-o", path("x.onnx"), "--opset=18"}), "--opset");
  EXPECT_SAYS(error({path("none"), "-o", path("x.onnx")}), "none", "does not exist");
  Model(Sequential({4}, {Dense({.units = 2})})).save_weights(path("other.h5"));
  EXPECT_SAYS(error({path("other.h5"), "--model=toy_model", "-o", path("x.onnx")}), "other.h5");
  EXPECT_SAYS(error({folder_.path.string(), "--checkpoint=best", "-o", path("x.onnx")}),
              "--checkpoint best", "--keep-best");
  EXPECT_FALSE(fs::exists(path("x.onnx")));
}

TEST_F(LeavingRun, DamagedNotesAreNamed) {
  train_mnist("run");
  const std::string file = path("run/checkpoints/epoch_1.0.h5");
  store::WeightsFile weights = store::read_weights_file(file);
  const auto note = std::ranges::find_if(
      weights.attributes, [](const auto& one) { return one.first.ends_with("network"); });
  ASSERT_NE(note, weights.attributes.end());
  for (const char* wrong : {"[", R"({"input": [0], "outputs": 1, "task": "x"})",
                            R"({"input": [28], "outputs": 99999999999, "task": "x"})"}) {
    note->second = wrong;
    store::write_weights_file(file, weights);
    const Result result = run({"show", path("run")});
    EXPECT_EQ(result.code, app::kFailed);
    EXPECT_SAYS(result.err, file, "note 'network'");
  }
}

TEST_F(LeavingRun, ShowTellsWhatIsInANetwork) {
  train_mnist("run");
  const Result shown = run({"show", path("run"), "--graph", path("net.svg")});
  EXPECT_EQ(shown.code, app::kDone) << shown.err;
  EXPECT_SAYS(shown.out, "Conv2D", "input        ", "[28,28,1]", "34,826", "MFLOP", "fashion_mnist",
              "28x28 grey", "T-shirt", "epoch_1.0.h5");
  EXPECT_SAYS(folder_.read("net.svg"), "<svg", "Conv2D");
  ASSERT_EQ(export_to("a.onnx", {path("run")}).code, app::kDone);
  const Result json = run({"show", path("a.onnx"), "--json"});
  const auto read = nlohmann::json::parse(json.out);
  EXPECT_EQ(read["parameters"], 34826);
  EXPECT_EQ(read["metadata"]["pando.labels"].size(), 10u);
  EXPECT_EQ(run({"show", path("none")}).code, app::kUsage);
  EXPECT_EQ(run({"show"}).code, app::kUsage);
}

TEST_F(LeavingRun, ShowCountsWhatTrainingChanges) {
  Model model(Sequential({8, 8, 3}, {Conv2D({.filters = 2, .name = "conv"}), BatchNormalization(),
                                     Flatten(), Dense({.units = 3, .name = "last"})}));
  const int64_t all = model.network().parameters();
  const int64_t conv = model.network().layer("conv").parameters();
  model.set_trainable("conv", false);
  save_model(model, path("net.keras"));
  const int64_t changed = all - conv - 4;  // two moving means, two variances
  const Result shown = run({"show", path("net.keras")});
  EXPECT_SAYS(shown.out, concat("Trainable params: ", changed),
              concat("(", changed, " trainable)"));
  const auto json = nlohmann::json::parse(run({"show", path("net.keras"), "--json"}).out);
  EXPECT_EQ(json["trainable_parameters"], changed);
}

// Writes net.onnx, whose height and width are open, or only the width.
void write_open_file(const std::string& path, bool open_height) {
  const Model model(
      Sequential({16, 16, 3}, {Conv2D({.filters = 8, .kernel = {3, 3}, .strides = {2, 2}}), ReLU(),
                               GlobalAveragePooling2D(), Dense({.units = 3})}),
      {.seed = 3});
  save_model(model, path);
  onnx::ModelProto file = onnx::read_model(path);
  if (open_height) file.graph.inputs[0].shape[2] = {-1, "H"};
  file.graph.inputs[0].shape[3] = {-1, "W"};
  file.metadata.clear();
  const std::vector<uint8_t> bytes = onnx::to_bytes(file);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
}

TEST_F(LeavingRun, PicturesKeepTheirSizesWhereAFileLeavesThemOpen) {
  write_open_file(path("net.onnx"), true);
  const auto write_picture = [&](const std::string& name, ImageSize size) {
    std::vector<uint8_t> pixels(static_cast<size_t>(size.pixels() * 3));
    for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * 37 % 251);
    write_png(name, {pixels.data(), size, 3});
  };
  write_picture("own/a.png", {20, 30});
  write_picture("own/b.png", {20, 30});
  write_picture("own/c.png", {18, 19});
  std::ofstream(path("own/d.png")) << "no picture";
  write_picture("own/e.png", {1, 1});  // less than a window
  const auto score = [](const nlohmann::json& all, size_t picture) {
    return all.at(picture).at("scores").at(0).at("value").get<double>();
  };
  const std::string net = path("net.onnx");
  const nlohmann::json own = answers({net, path("own")}, app::kFailed);
  ASSERT_EQ(own.size(), 3u);
  EXPECT_EQ(score(own, 0), score(own, 1));
  EXPECT_EQ(score(own, 0), score(answers({net, path("own/a.png"), "--image-size=20x30"}), 0));
  EXPECT_EQ(score(own, 2), score(answers({net, path("own/c.png"), "--image-size=18x19"}), 0));
  EXPECT_NE(score(own, 0), score(answers({net, path("own/a.png"), "--image-size=30"}), 0));
  EXPECT_EQ(score(answers({net, path("own/a.png"), "--size-multiple=8"}), 0),
            score(answers({net, path("own/a.png"), "--image-size=24x32"}), 0));
  // Only the width is open: the picture keeps its proportions.
  write_open_file(net, false);
  EXPECT_EQ(score(answers({net, path("own/a.png")}), 0),
            score(answers({net, path("own/a.png"), "--image-size=16x24"}), 0));
}

}  // namespace
}  // namespace pando::cli
