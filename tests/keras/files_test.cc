// Files that h5py, zipfile and tfjs would write.
// SPDX-License-Identifier: MIT
#include "pando/keras/files.h"

#include <cstring>

#include "pando/base/memory_use.h"
#include "pando/nn/layers.h"
#include "tests/data/foreign_software.h"
#include "tests/keras/keras_support.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::keras {
namespace {

using testing_support::error_of;
using testing_support::kMissingPackage;
using testing_support::run_command;

ImportedNetwork imported_from(const ModelFile& file) {
  return import_network(file.config, file.major, *file.weights);
}

// The network of make_files.py.
Network made_network() {
  return Sequential(
      {6, 5, 2}, {Conv2D({.filters = 3, .kernel = {3, 3}, .activation = "relu"}),
                  BatchNormalization(), Flatten(), Dense({.units = 4, .activation = "softmax"})});
}

void expect_made_network(const ModelFile& file) {
  Model model = model_of(imported_from(file));
  Model expected(made_network());
  std::vector<Tensor> weights = expected.get_weights();
  int next = 0;
  for (Tensor& tensor : weights) {
    for (float& value : tensor.f32()) value = static_cast<float>(next++) / 7;
  }
  expected.set_weights(weights);
  const std::vector<Tensor> read = model.get_weights();
  ASSERT_EQ(read.size(), weights.size());
  for (size_t i = 0; i < read.size(); ++i) expect_same_bits(read[i], weights[i]);
  expect_same_bits(model.predict(random_samples({6, 5, 2})),
                   expected.predict(random_samples({6, 5, 2})));
}

class KerasFiles : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new testing_support::TempFolder;
    made_ = run_command(PANDO_PYTHON " '" PANDO_SOURCE_DIR "/tests/keras/make_files.py' '" +
                        folder_->path() + "'")
                .exit_code;
  }
  static void TearDownTestSuite() { delete folder_; }
  void SetUp() override {
    if (made_ == kMissingPackage) GTEST_SKIP() << "python3-h5py is not installed";
    ASSERT_EQ(made_, 0);
  }
  std::string path(const std::string& name) const { return folder_->path(name); }
  std::string refused(const std::string& name) const {
    return error_of<Error>([&] { imported_from(read_model_file(path(name))); });
  }

 private:
  inline static testing_support::TempFolder* folder_ = nullptr;
  inline static int made_ = 0;
};

TEST_F(KerasFiles, WholeModelsInHdf5) {
  for (const char* name : {"old.h5", "new.h5", "split.h5"}) {
    SCOPED_TRACE(name);
    const ModelFile file = read_hdf5_model(path(name));
    EXPECT_EQ(file.major, 2);
    EXPECT_EQ(file.training.get<std::string>("loss"), "mse");
    const NamedTensors slots = file.optimizer_weights();
    ASSERT_EQ(slots.size(), 2);
    EXPECT_EQ(slots[0].first, "Adam/iterations:0");
    EXPECT_EQ(slots[0].second.i32()[0], 5);
    expect_made_network(file);
    expect_made_network(read_model_file(path(name)));
  }
}

TEST_F(KerasFiles, Archives) {
  for (const char* name : {"three.keras", "two.keras"}) {
    SCOPED_TRACE(name);
    const ModelFile file = read_keras_archive(path(name));
    EXPECT_EQ(file.major, std::string(name) == "three.keras" ? 3 : 2);
    EXPECT_EQ(file.training.get<std::string>("loss"), "mse");
    expect_made_network(file);
    expect_made_network(read_model_file(path(name)));
  }
}

TEST_F(KerasFiles, DamageInHdf5NamesThePlace) {
  EXPECT_SAYS(refused("weights.h5"), "weights.h5", "model_config");
  EXPECT_SAYS(refused("config_only.h5"), "config_only.h5", "/model_weights");
  EXPECT_SAYS(refused("no_names.h5"), "dense", "weight_names");
  EXPECT_SAYS(refused("no_group.h5"), "'dense'", "group");
  EXPECT_SAYS(refused("no_weight.h5"), "bias:0");
  EXPECT_SAYS(refused("none.h5"), "none.h5");
}

TEST_F(KerasFiles, ArchivesThatDoNotStayInTheirFolder) {
  EXPECT_SAYS(refused("twice.keras"), "config.json", "twice");
  EXPECT_SAYS(refused("outside.keras"), "../config.json", "leaves");
  EXPECT_SAYS(refused("absolute.keras"), "leaves");
  EXPECT_SAYS(refused("backslash.keras"), "leaves");
  EXPECT_SAYS(refused("missing.keras"), "model.weights.h5");
  EXPECT_SAYS(refused("version.keras"), "version", "'x'");
  EXPECT_SAYS(refused("no_json.keras"), "config.json");
  EXPECT_SAYS(refused("bomb.keras"), "config.json", "70000000");
  EXPECT_SAYS(refused("many.keras"), "members", "10001");
  EXPECT_SAYS(refused("cycle.keras"), "without end");
}

TEST_F(KerasFiles, WhatUnpacksToMoreThanTheLayersNeedIsRefusedBefore) {
  const int64_t before = memory_use().peak;
  EXPECT_SAYS(refused("weights_bomb.keras"), "model.weights.h5", "at most 67", "100000000");
  EXPECT_SAYS(refused("chunks_bomb.h5"), "chunks_bomb.h5", "kernel:0");
  EXPECT_LT(memory_use().peak - before, int64_t{100} << 20);
}

// Changes numbers of the directory of an archive: sizes that lie.
TEST_F(KerasFiles, SizesThatLie) {
  const testing_support::TempFolder folder;
  std::string bytes;
  {
    const std::vector<uint8_t> content = [&] {
      std::ifstream in(path("three.keras"), std::ios::binary);
      return std::vector<uint8_t>(std::istreambuf_iterator<char>(in), {});
    }();
    bytes.assign(content.begin(), content.end());
  }
  const size_t entry = bytes.find("PK\x01\x02");
  ASSERT_NE(entry, std::string::npos);
  bytes.replace(entry + 24, 4, "\xff\xff\xff\x7f");  // bytes after unpacking
  const std::string lying = folder.write_text("lies.keras", bytes);
  EXPECT_SAYS(error_of<IoError>([&] { read_keras_archive(lying); }), "metadata.json", "2147483647");
}

// ---- tfjs

class Shards : public ShardReader {
 public:
  explicit Shards(std::map<std::string, std::vector<uint8_t>> files) : files_(std::move(files)) {}
  std::vector<uint8_t> read(const std::string& name) const override { return files_.at(name); }

 private:
  std::map<std::string, std::vector<uint8_t>> files_;
};

Json tfjs_model(const std::string& weights, const std::string& paths = R"(["a.bin", "b.bin"])") {
  Json model = Json::parse(R"({"format": "layers-model", "modelTopology": {"keras_version":
      "2.10.0", "model_config": 0}, "weightsManifest": [{"paths": )" +
                           paths + R"(, "weights": [)" + weights + "]}]}");
  model["modelTopology"]["model_config"] =
      sequential("[null, 2]", layer("Dense", R"("units": 1)").dump());
  return model;
}

std::vector<float> kernel_of(const Json& model, const Shards& shards) {
  const ImportedNetwork imported = imported_from(parse_tfjs_model(model, shards, "m"));
  const std::span<const float> numbers = imported.weights.at(0).second.f32();
  return {numbers.begin(), numbers.end()};
}

TEST(TfjsFiles, WeightsGoOnFromShardToShard) {
  std::vector<uint8_t> bytes(12);
  const float numbers[] = {1.5f, -2, 3};
  std::memcpy(bytes.data(), numbers, sizeof(numbers));
  const Shards shards(
      {{"a.bin", {bytes.begin(), bytes.begin() + 5}}, {"b.bin", {bytes.begin() + 5, bytes.end()}}});
  const Json model = tfjs_model(R"({"name": "a/kernel", "shape": [2, 1], "dtype": "float32"},
                                   {"name": "a/bias", "shape": [1], "dtype": "float32"})");
  EXPECT_EQ(kernel_of(model, shards), (std::vector<float>{1.5f, -2}));
}

TEST(TfjsFiles, QuantisedWeightsAreWidened) {
  const auto weights = [](const std::string& quantization) {
    return tfjs_model(R"({"name": "a/kernel", "shape": [2, 1], "dtype": "float32",
                          "quantization": )" +
                          quantization + R"(},
                         {"name": "a/bias", "shape": [1], "dtype": "float32", "quantization": )" +
                          quantization + "}",
                      R"(["a.bin"])");
  };
  EXPECT_EQ(kernel_of(weights(R"({"dtype": "uint8", "scale": 0.5, "min": -1})"),
                      Shards({{"a.bin", {2, 255, 0}}})),
            (std::vector<float>{0, 126.5f}));
  EXPECT_EQ(kernel_of(weights(R"({"dtype": "uint16", "scale": 0.5, "min": -1,
                                  "original_dtype": "float32"})"),
                      Shards({{"a.bin", {2, 0, 0, 1, 0, 0}}})),
            (std::vector<float>{0, 127}));
  EXPECT_EQ(kernel_of(weights(R"({"dtype": "float16"})"),
                      Shards({{"a.bin", {0x00, 0x3c, 0x00, 0xc0, 0, 0}}})),
            (std::vector<float>{1, -2}));
}

TEST(TfjsFiles, DamageNamesThePlace) {
  const Shards shards({{"a.bin", std::vector<uint8_t>(8)}, {"b.bin", std::vector<uint8_t>(8)}});
  const auto refused = [&](const Json& model) {
    return error_of<Error>([&] { imported_from(parse_tfjs_model(model, shards, "m.json")); });
  };
  const auto weight = [](const std::string& shape, const std::string& dtype) {
    return R"({"name": "a/kernel", "shape": )" + shape + R"(, "dtype": ")" + dtype + R"("})";
  };
  EXPECT_SAYS(refused(tfjs_model(weight("[2, 4]", "float32"))), "a/kernel", "[2,4]", "16 bytes");
  EXPECT_SAYS(refused(tfjs_model(weight("[4611686018427387904, 4]", "float32"))), "a/kernel");
  EXPECT_SAYS(refused(tfjs_model(weight("[-1]", "float32"))), "a/kernel", "[-1]");
  EXPECT_SAYS(refused(tfjs_model(weight("[2, 1]", "float32"))), "8 bytes", "no weight");
  EXPECT_SAYS(refused(tfjs_model(weight("[2, 1]", "string"))), "dtype", "string");
  EXPECT_SAYS(refused(tfjs_model(weight("[2, 1]", "int32") +
                                 R"(, {"name": "a/bias", "shape": [2], "dtype": "float32"})")),
              "'a' (Dense)", "kernel", "floating-point", "i32");
  EXPECT_SAYS(refused(tfjs_model(weight("[2, 1]", "float32") + "," + weight("[2]", "int32"))),
              "a/bias");
  Json graph = tfjs_model(weight("[4]", "float32"));
  graph["format"] = "graph-model";
  EXPECT_SAYS(refused(graph), "m.json", "graph-model");
  Json version = tfjs_model(weight("[4]", "float32"));
  version["modelTopology"]["keras_version"] = "9.0";
  EXPECT_SAYS(refused(version), "9.0");
}

TEST(TfjsFiles, ShardsStayBesideTheModel) {
  const testing_support::TempFolder folder;
  Json model = tfjs_model(R"({"name": "a/kernel", "shape": [2, 1], "dtype": "float32"})");
  for (const char* name : {"../a.bin", "/etc/passwd", ""}) {
    model["weightsManifest"] =
        Json(Json::Items{Json{{"paths", Json(Json::Items{name})}, {"weights", Json::array()}}});
    const std::string path = folder.write_text("model.json", model.dump());
    EXPECT_SAYS(error_of<IoError>([&] { read_tfjs_model(path); }), "model.json", "beside", name);
  }
  const std::string text = folder.write_text("text.json", "{nothing");
  EXPECT_SAYS(error_of<IoError>([&] { read_model_file(text); }), "text.json");
  const std::string other = folder.write_text("other.bin", "nothing");
  EXPECT_SAYS(error_of<IoError>([&] { read_model_file(other); }), "other.bin", "HDF5", "tfjs");
}

TEST(TfjsFiles, VersionsOfTfjsItself) {
  Json model = tfjs_model(R"({"name": "a/kernel", "shape": [2, 1], "dtype": "float32"},
                             {"name": "a/bias", "shape": [1], "dtype": "float32"})",
                          R"(["a.bin"])");
  model["modelTopology"] = sequential("[null, 2]", layer("Dense", R"("units": 1)").dump());
  model["modelTopology"]["keras_version"] = "tfjs-layers 4.11.0";
  EXPECT_EQ(kernel_of(model, Shards({{"a.bin", std::vector<uint8_t>(12)}})).size(), 2);
}

}  // namespace
}  // namespace pando::keras
