// `pando export --export-dir`: versions for a server.
// SPDX-License-Identifier: MIT
#include <filesystem>

#include <gtest/gtest.h>

#include "pando/app/job/exit_code.h"
#include "pando/nn/layers.h"
#include "pando/onnx/proto.h"
#include "pando/train/load_model.h"
#include "tests/cli/run_cli.h"
#include "tests/data/idx_files.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::cli {
namespace {

using testing_support::TempFolder;

class ExportVersions : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path(name); }

  Result export_to_base(std::vector<std::string> args) const {
    args.insert(args.begin(), {"export", "--export-dir", path("base")});
    return run(args);
  }
  Result export_mnist(std::vector<std::string> args = {}) const {
    args.insert(args.begin(), "--model=mnist_cnn");
    return export_to_base(std::move(args));
  }
  std::string refusal(std::vector<std::string> args) const {
    args.insert(args.begin(), "export");
    const Result result = run(args);
    EXPECT_EQ(result.code, app::kUsage) << result.err;
    return result.err;
  }

  TempFolder folder_;
};

TEST_F(ExportVersions, AppearUnderTheNextNumber) {
  testing::internal::CaptureStderr();
  const Result first = export_mnist();
  EXPECT_SAYS(testing::internal::GetCapturedStderr(), "weights of mnist_cnn are random");
  ASSERT_EQ(first.code, app::kDone) << first.err;
  EXPECT_SAYS(first.out, "base/1/model.onnx: ONNX");
  ASSERT_EQ(export_mnist({"--model-version=5"}).code, app::kDone);
  EXPECT_SAYS(export_mnist().out, "base/6/model.onnx");
  const ModelFacts facts = load_model(path("base/6/model.onnx")).facts();
  ASSERT_TRUE(facts.serving);
  EXPECT_EQ(*facts.serving, ServingFacts{});
  EXPECT_EQ(facts.labels.size(), 10u);
  EXPECT_EQ(facts.pictures->height, 28);
}

TEST_F(ExportVersions, SayWhatClientsSend) {
  const auto input_of = [&](const std::vector<std::string>& args, const std::string& version) {
    const Result result = export_mnist(args);
    EXPECT_EQ(result.code, app::kDone) << result.err;
    return load_model(path("base/" + version + "/model.onnx")).facts().serving.value().input;
  };
  EXPECT_EQ(input_of({"--input=images"}, "1"), ServedInput::images);
  EXPECT_EQ(input_of({"--input", "bytes"}, "2"), ServedInput::pixels);
  EXPECT_EQ(input_of({"--eight-bit-transfer"}, "3"), ServedInput::pixels);
  EXPECT_EQ(input_of({"--eight-bit-transfer", "--input=tensors"}, "4"), ServedInput::tensors);
}

TEST_F(ExportVersions, MayFixTheBatch) {
  ASSERT_EQ(export_mnist({"--static-batch", "--micro-batch-size=16"}).code, app::kDone);
  const onnx::ModelProto file = onnx::read_model(path("base/1/model.onnx"));
  EXPECT_EQ(file.graph.inputs[0].shape[0].value, 16);
  EXPECT_EQ(file.graph.outputs[0].shape[0].value, 16);
  Model model = load_model(path("base/1/model.onnx"));
  EXPECT_EQ(model.facts().serving->batch, 16);
  // Pando itself answers any number.
  EXPECT_EQ(model.predict(Tensor(DType::f32, {3, 28, 28, 1})).shape(), (Shape{3, 10}));
}

TEST_F(ExportVersions, HaveExamplesOfTheValidationData) {
  for (const char* part : {"train", "t10k"}) {
    folder_.write(concat(part, "-images-idx3-ubyte"),
                  idx_header(8, {5, 28, 28}) + counting_bytes(5 * 28 * 28));
    folder_.write(concat(part, "-labels-idx1-ubyte"), idx_header(8, {5}) + counting_bytes(5));
  }
  const std::string data = "--dataset-path=" + folder_.path();
  const auto count = [&](const std::string& version) {
    const std::filesystem::path examples = path("base/" + version + "/examples");
    if (!std::filesystem::exists(examples)) return 0;
    return static_cast<int>(std::distance(std::filesystem::directory_iterator(examples),
                                          std::filesystem::directory_iterator()));
  };
  EXPECT_SAYS(export_mnist({data}).out, "5 example pictures");
  EXPECT_EQ(count("1"), 5);
  EXPECT_SAYS(export_mnist({data, "--examples=2"}).out, "2 example pictures");
  EXPECT_EQ(count("2"), 2);
  EXPECT_FALSE(testing_support::says(export_mnist({data, "--examples=0"}).out, "example"));
  EXPECT_EQ(count("3"), 0);
  // Without a wish, what cannot be is left out.
  const std::string nowhere = "--dataset-path=" + path("nowhere");
  EXPECT_EQ(export_mnist({nowhere}).code, app::kDone);
  EXPECT_EQ(count("4"), 0);
  EXPECT_NE(export_mnist({nowhere, "--examples=2"}).code, app::kDone);
  EXPECT_SAYS(refusal({"--model=mnist_cnn", "-o", path("x.onnx"), "--examples=2"}), "--export-dir");
  EXPECT_SAYS(refusal({"--model=mnist_cnn", "--export-dir", path("base"), "--examples=13"}), "12");
  EXPECT_SAYS(refusal({path("base/1/model.onnx"), "--export-dir", path("base"), "--examples=2"}),
              "--examples", "which data");
}

TEST_F(ExportVersions, TakeTheOriginalsOptions) {
  ASSERT_EQ(run({"export", "--model=mnist_cnn", "-o", path("a.onnx")}).code, app::kDone);
  testing::internal::CaptureStderr();
  const Result result = export_to_base({"--checkpoint-input-path", path("a.onnx"), "--iterations=3",
                                        "--pipeline-serving-model", "--use-serving-api",
                                        "--num-replicas=2", "--pytest"});
  EXPECT_SAYS(testing::internal::GetCapturedStderr(), "--iterations 3", "no effect");
  ASSERT_EQ(result.code, app::kDone) << result.err;
  EXPECT_SAYS(result.out, "weights of " + path("a.onnx"));
  EXPECT_SAYS(refusal({"--export-dir", path("b"), "--checkpoint-input-path", path("none.h5")}),
              "none.h5", "does not exist");
  EXPECT_SAYS(refusal({path("a.onnx"), "--export-dir", path("b"), "--checkpoint-input-path",
                       path("a.onnx")}),
              "--checkpoint-input-path");
  EXPECT_FALSE(std::filesystem::exists(path("b")));
}

TEST_F(ExportVersions, RefuseWhatCannotBe) {
  folder_.write_text("file", "");
  const std::string model = "--model=mnist_cnn";
  EXPECT_SAYS(refusal({model, "--export-dir", path("file")}), "is a file");
  EXPECT_SAYS(refusal({model, "--export-dir", folder_.path()}), "no versions");
  EXPECT_SAYS(refusal({model, "--export-dir", path("b"), "-o", path("x.onnx")}), "--output");
  EXPECT_SAYS(refusal({model, "--export-dir", path("b"), "--format=h5"}), "--format");
  EXPECT_SAYS(refusal({model, "-o", path("x.onnx"), "--model-version=2"}), "--export-dir");
  EXPECT_SAYS(refusal({model, "-o", path("x.keras"), "--static-batch"}), "only ONNX");
  EXPECT_SAYS(refusal({model, "--export-dir", path("b"), "--input=pixels"}), "--input", "images");
  save_model(Model(Sequential({4}, {Dense({.units = 2})})), path("plain.onnx"));
  EXPECT_SAYS(refusal({path("plain.onnx"), "--export-dir", path("b"), "--input=images"}),
              "--input images", "how pictures are prepared");
  EXPECT_FALSE(std::filesystem::exists(path("b")));
}

}  // namespace
}  // namespace pando::cli
