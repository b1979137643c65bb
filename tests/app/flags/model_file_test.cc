// SPDX-License-Identifier: MIT
#include "pando/app/flags/model_file.h"

#include <fstream>

#include "pando/app/flags/deciding_options.h"
#include "pando/app/job/exit_code.h"
#include "pando/nn/layers.h"
#include "pando/onnx/proto.h"
#include "pando/train/onnx_model.h"
#include "pando/zoo/head.h"
#include "tests/app/parse_options.h"
#include "tests/app/test_folder.h"

namespace pando::app {
namespace {

using testing_support::error_of;

class ModelFileTest : public testing::Test {
 protected:
  std::string save(const std::string& name, const Network& network) const {
    const std::string path = (folder_.path / name).string();
    save_onnx(Model(network), path);
    return path;
  }
  static Network logits() {
    return Sequential({28, 28, 1}, {Conv2D({.filters = 2, .kernel = {3, 3}, .name = "conv"}),
                                    Flatten(), Dense({.units = 4, .name = "last"})});
  }
  // Frees these axes of the input.
  static void leave_open(const std::string& path, const std::vector<size_t>& axes) {
    onnx::ModelProto file = onnx::read_model(path);
    for (const size_t axis : axes) {
      file.graph.inputs[0].shape[axis] = {.value = -1, .name = concat("axis", axis)};
    }
    const std::vector<uint8_t> bytes = onnx::to_bytes(file);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  TestFolder folder_;
};

TEST_F(ModelFileTest, StandsForAModel) {
  const std::string path = save("small.onnx", logits());
  const auto file = read_model_file(path, 0);
  EXPECT_EQ(file->entry.name, "small");
  EXPECT_EQ(file->entry.input_shape, (Shape{28, 28, 1}));
  EXPECT_EQ(file->entry.outputs, 4);
  EXPECT_EQ(file->entry.task, "classification");
  EXPECT_SAYS(file->fingerprint, "checksum ");
  const Network same = file->entry.build({28, 28, 1}, 4);
  EXPECT_EQ(zoo::last_op(same), "softmax");
  EXPECT_EQ(same.parameters(), logits().parameters());
  const Network other = file->entry.build({28, 28, 1}, 9);
  EXPECT_EQ(other.outputs()[0].shape, (Shape{9}));
  EXPECT_SAYS(error_of([&] { file->entry.build({32, 32, 3}, 4); }), "[28,28,1]", "[32,32,3]");
}

TEST_F(ModelFileTest, SigmoidIsReplacedBySoftmax) {
  const Network network =
      Sequential({28, 28, 1}, {Flatten(), Dense({.units = 4, .activation = "sigmoid"})});
  const ZooEntry entry = entry_of_network(network, "several");
  EXPECT_EQ(zoo::last_op(entry.build({28, 28, 1}, 4)), "softmax");
  const Network own = Sequential({8, 8, 3}, {Conv2D({.filters = 3, .activation = "softmax"})});
  EXPECT_EQ(entry_of_network(own, "pixels").task, "segmentation");
  EXPECT_EQ(zoo::last_op(entry_of_network(own, "pixels").build({8, 8, 3}, 3)), "softmax");
}

TEST_F(ModelFileTest, IsAValueOfModel) {
  const std::string path = save("small.onnx", logits());
  const TrainOptions options = parse({"--model", path});
  ASSERT_NE(options.model_file, nullptr);
  EXPECT_EQ(options.model_name(), "small");
  EXPECT_EQ(options.data.dataset, "fashion_mnist");
  EXPECT_SAYS(options.config_text, path);
  // The content decides, not the place.
  std::filesystem::copy_file(path, folder_.path / "copy.onnx");
  const TrainOptions moved = parse({"--model", (folder_.path / "copy.onnx").string()});
  EXPECT_EQ(to_yaml(deciding_options(options)), to_yaml(deciding_options(moved)));
  const TrainOptions warned =
      parse({"--model", path, "--norm-layer", "{name: group_norm, num_groups: 2}"});
  EXPECT_SAYS(warned.warnings[0], "--norm-layer", "file");
}

TEST_F(ModelFileTest, WrongFilesAreRefused) {
  EXPECT_SAYS(error({"--model", "nowhere.onnx"}), "--model", "nowhere.onnx", "does not exist");
  EXPECT_SAYS(error({"--model", "no_such_net"}), "no_such_net", "mnist_cnn");
  const SymbolicTensor input = Input({4});
  const SymbolicTensor one = Dense({.units = 2, .name = "one"})(input);
  const Network two({input}, {one, Dense({.units = 3, .name = "two"})(one)});
  EXPECT_SAYS(error({"--model", save("two.onnx", two)}), "two.onnx", "2 outputs");
  folder_.write("bad.onnx", "this is no model");
  EXPECT_SAYS(error_of<IoError>([&] {
                parse({"--model", (folder_.path / "bad.onnx").string()});
              }),
              "bad.onnx");
}

TEST_F(ModelFileTest, ACopyIsKept) {
  const auto file = read_model_file(save("small.onnx", logits()), 0);
  const std::filesystem::path run = folder_.path / "run";
  std::filesystem::create_directories(run);
  EXPECT_TRUE(kept_model_file(run).empty());
  EXPECT_EQ(keep_model_file(*file, run), "");
  EXPECT_EQ(kept_model_file(run), run / "model.onnx");
  EXPECT_EQ(read_model_file(kept_model_file(run).string(), 0)->fingerprint, file->fingerprint);
  EXPECT_EQ(keep_model_file(*read_model_file((run / "model.onnx").string(), 0), run), "");
  EXPECT_SAYS(error_of<IoError>([&] { keep_model_file(*file, folder_.path / "missing"); }),
              "cannot copy");
}

TEST_F(ModelFileTest, ACopyIsFoundFromCheckpoints) {
  const std::filesystem::path run = folder_.path / "run";
  std::filesystem::create_directories(run / "checkpoints" / "rank0");
  folder_.write("run/checkpoints/rank0/epoch_1.0.h5", "x");
  keep_model_file(*read_model_file(save("small.onnx", logits()), 0), run);
  for (const char* place : {"", "checkpoints", "checkpoints/", "checkpoints/rank0",
                            "checkpoints/rank0/epoch_1.0.h5", "checkpoints/epoch_1.0.h5"}) {
    EXPECT_EQ(kept_model_file_around(run / place), run / "model.onnx") << place;
  }
  EXPECT_TRUE(kept_model_file_around("").empty());
  EXPECT_EQ(parse({"--model", "gone.onnx", "--resume", (run / "checkpoints/rank0").string()}).model,
            (run / "model.onnx").string());
}

// Only pictures of 32x32 fit the dense layer.
TEST_F(ModelFileTest, OpenSidesAreThoseOfTheImageSize) {
  const std::string path =
      save("open.onnx", Sequential({32, 32, 3}, {Conv2D({.filters = 2, .strides = {16, 16}}),
                                                 Flatten(), Dense({.units = 4})}));
  leave_open(path, {2, 3});
  const std::filesystem::path run = folder_.path / "run";
  std::filesystem::create_directories(run);
  const auto file = read_model_file(path, 32);
  EXPECT_EQ(file->entry.input_shape, (Shape{32, 32, 3}));
  EXPECT_EQ(keep_model_file(*file, run), "");
  EXPECT_FALSE(kept_model_file(run).empty());
  EXPECT_THROW(read_model_file(path, 0), Error);
}

TEST_F(ModelFileTest, OtherOpenExtentsAreRefused) {
  const std::string path =
      save("open.onnx", Sequential({32, 32, 3}, {Conv2D({.filters = 2}), GlobalAveragePooling2D(),
                                                 Dense({.units = 4})}));
  leave_open(path, {1});
  EXPECT_SAYS(error_of<UsageError>([&] { read_model_file(path, 32); }), "--model", "open.onnx");
}

// The weights of a layers model of tfjs are in a file beside model.json.
TEST_F(ModelFileTest, TheFingerprintIsThatOfAllFiles) {
  const std::filesystem::path web = folder_.path / "web";
  std::filesystem::create_directories(web);
  const std::string path = (web / "net.json").string();
  save_model(Model(logits(), {.name = "net"}), path);
  const auto first = read_model_file(path, 0);
  EXPECT_EQ(read_model_file(path, 0)->fingerprint, first->fingerprint);
  for (const auto& entry : std::filesystem::directory_iterator(web)) {
    if (entry.path().extension() != ".bin") continue;
    std::fstream shard(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    shard.write("\1\1", 2);
  }
  EXPECT_NE(read_model_file(path, 0)->fingerprint, first->fingerprint);
  const std::filesystem::path run = folder_.path / "run";
  std::filesystem::create_directories(run);
  EXPECT_SAYS(keep_model_file(*first, run), ".bin");
  EXPECT_TRUE(kept_model_file(run).empty());
}

// SqueezeNet ends like this.
TEST_F(ModelFileTest, SoftmaxBeforeAChangeOfShapeIsEnough) {
  const Network network =
      Sequential({28, 28, 1}, {Conv2D({.filters = 4}), GlobalAveragePooling2D(),
                               Activation("softmax"), Reshape({.shape = {4, 1}}), Flatten()});
  const Network built = entry_of_network(network, "squeeze").build({28, 28, 1}, 4);
  EXPECT_EQ(built.layers().size(), network.layers().size());
}

}  // namespace
}  // namespace pando::app
