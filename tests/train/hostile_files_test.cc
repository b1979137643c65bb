// Model files that are made to harm: an error at once, in few words, with little memory.
// SPDX-License-Identifier: MIT
#include <filesystem>

#include <gtest/gtest.h>

#include "pando/base/json.h"
#include "pando/base/memory_use.h"
#include "pando/data/sources/zip.h"
#include "pando/onnx/proto.h"
#include "pando/store/hdf5_writer.h"
#include "pando/train/load_model.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando {
namespace {

using testing_support::error_of;
using testing_support::TempFolder;

constexpr int64_t kHuge = int64_t{1} << 62;
const std::string kLong(1 << 20, 'n');

std::string refused(const std::string& path) {
  const int64_t before = memory_use().peak;
  const std::string text = error_of<Error>([&] { load_model(path); });
  EXPECT_LT(text.size(), 10000);
  EXPECT_LT(memory_use().peak - before, int64_t{64} << 20) << path;
  return text;
}

// ---- ONNX

onnx::NodeProto onnx_node(const std::string& op, std::vector<std::string> inputs,
                          const std::string& output) {
  onnx::NodeProto node{.op_type = op};
  node.inputs = std::move(inputs);
  node.outputs = {output};
  return node;
}

onnx::ModelProto onnx_model(std::vector<onnx::NodeProto> nodes) {
  onnx::ModelProto model;
  model.ir_version = 7;
  model.opsets[""] = 13;
  model.graph.inputs = {{.name = "x",
                         .type = onnx::ElementType::f32,
                         .is_tensor = true,
                         .has_shape = true,
                         .shape = {{-1, "N"}, {4, ""}}}};
  model.graph.outputs = {{.name = "y", .is_tensor = true}};
  model.graph.nodes = std::move(nodes);
  return model;
}

std::string refused_onnx(const onnx::ModelProto& model) {
  const TempFolder folder;
  return refused(folder.write("m.onnx", onnx::to_bytes(model)));
}

TEST(HostileFiles, Onnx) {
  onnx::ModelProto large = onnx_model({onnx_node("Relu", {"x"}, "y")});
  large.graph.inputs[0].shape[1].value = kHuge;
  EXPECT_SAYS(refused_onnx(large), "axis 1", "4611686018427387904");
  large = onnx_model({onnx_node("Add", {"x", "w"}, "y")});
  large.graph.initializers = {{.name = "w", .type = onnx::ElementType::f32, .dims = {kHuge, 4}}};
  EXPECT_SAYS(refused_onnx(large), "'w'", "shape");
  EXPECT_SAYS(
      refused_onnx(onnx_model({onnx_node("Relu", {"b"}, "y"), onnx_node("Relu", {"y"}, "b")})),
      "'b'", "earlier node");
  // Each value has twice the elements of the one before.
  std::vector<onnx::NodeProto> doubling = {onnx_node("Concat", {"x", "x"}, "v0")};
  for (int i = 0; i < 60; ++i) {
    const std::string before = concat("v", i);
    doubling.push_back(onnx_node("Concat", {before, before}, concat("v", i + 1)));
  }
  doubling.push_back(onnx_node("Relu", {"v60"}, "y"));
  for (onnx::NodeProto& node : doubling) {
    if (node.op_type != "Concat") continue;
    node.attributes = {{.name = "axis", .kind = onnx::AttributeProto::Kind::integer, .i = 1}};
  }
  EXPECT_SAYS(refused_onnx(onnx_model(doubling)), "m.onnx", "'v46'", "too many elements");
  for (const onnx::NodeProto& node :
       {onnx_node(kLong, {"x"}, "y"), onnx_node("Relu", {kLong}, "y")}) {
    EXPECT_SAYS(refused_onnx(onnx_model({node})), "m.onnx", "up to 4096 bytes");
  }
  onnx::ModelProto boastful = onnx_model({onnx_node("Relu", {"x"}, "y")});
  boastful.producer = kLong;
  EXPECT_SAYS(refused_onnx(boastful), "up to 4096 bytes");
  EXPECT_SAYS(
      refused_onnx(onnx_model({onnx_node("Relu", {"x"}, "y"), onnx_node("Tanh", {"x"}, "y")})),
      "second value 'y'");
}

// The field of a tensor that names a file beside the model.
std::vector<uint8_t> onnx_with_external_data(const std::string& location) {
  onnx::ModelProto model = onnx_model({onnx_node("Add", {"x", "w"}, "y")});
  const auto entry = [](const std::string& key, const std::string& value) {
    std::string text = "\x0a" + std::string(1, static_cast<char>(key.size())) + key + "\x12" +
                       std::string(1, static_cast<char>(value.size())) + value;
    return "\x6a" + std::string(1, static_cast<char>(text.size())) + text;
  };
  // TensorProto: dims 4, float, name w, external_data, data_location external.
  const std::string tensor =
      std::string("\x08\x04\x10\x01\x42\x01w", 7) + entry("location", location) + "\x70\x01";
  std::vector<uint8_t> bytes = onnx::to_bytes(model);
  // A second piece of a message is merged with the first; ours refuses a second graph, so that the
  // tensor goes into the first one, at its end.
  const std::string field = "\x2a" + std::string(1, static_cast<char>(tensor.size())) + tensor;
  const std::string mark = "\x3a";  // field 7 of a model: the graph
  const auto at = std::search(bytes.begin(), bytes.end(), mark.begin(), mark.end());
  EXPECT_LT(*(at + 1) + field.size(), 128u);
  *(at + 1) = static_cast<uint8_t>(*(at + 1) + field.size());
  bytes.insert(at + 2, field.begin(), field.end());
  return bytes;
}

TEST(HostileFiles, ExternalDataStaysBesideTheModel) {
  const TempFolder folder, elsewhere;
  elsewhere.write("secret.bin", std::vector<uint8_t>(16));
  std::filesystem::create_symlink(elsewhere.path("secret.bin"), folder.path("link.bin"));
  std::filesystem::create_directory_symlink(elsewhere.path(), folder.path("d"));
  folder.write("own.bin", std::vector<uint8_t>(16));
  std::filesystem::create_symlink("own.bin", folder.path("inner.bin"));
  const auto path = [&](const std::string& location) {
    return folder.write("m.onnx", onnx_with_external_data(location));
  };
  for (const char* location : {"link.bin", "d/secret.bin", "../x.bin", "/etc/passwd"}) {
    EXPECT_SAYS(refused(path(location)), "m.onnx", "beside the model", location);
  }
  EXPECT_NO_THROW(load_model(path("own.bin")));
  EXPECT_NO_THROW(load_model(path("inner.bin")));
}

// ---- Keras

std::string dense(const std::string& name, const std::string& units, const std::string& from) {
  return R"({"class_name": "Dense", "name": ")" + name + R"(", "config": {"name": ")" + name +
         R"(", "units": )" + units + R"(}, "inbound_nodes": [[[")" + from + R"(", 0, 0, {}]]]})";
}

// A model of an input "in" and these layers; "last" is the output.
std::string keras_model(const std::string& extent, const std::string& layers) {
  return R"({"class_name": "Functional", "config": {"name": "m", "layers": [
      {"class_name": "InputLayer", "name": "in", "config": {"name": "in",
       "batch_input_shape": [null, )" +
         extent + R"(]}, "inbound_nodes": []}, )" + layers +
         R"(], "input_layers": [["in", 0, 0]], "output_layers": [["last", 0, 0]]}})";
}

// The same description in all forms of files.
std::vector<std::string> keras_files(const TempFolder& folder, const std::string& config) {
  const std::string metadata = R"({"keras_version": "2.13.1"})";
  const auto bytes = [](const std::string& text) {
    return std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  };
  const std::string archive =
      folder.write("m.keras", data::make_zip({{"metadata.json", bytes(metadata)},
                                              {"config.json", bytes(config)},
                                              {"model.weights.h5", bytes(metadata)}}));
  const std::string tfjs = folder.write_text(
      "m.json", R"({"format": "layers-model", "modelTopology": {"keras_version": "2.10.0",
                    "model_config": )" +
                    config + R"(}, "weightsManifest": []})");
  store::Hdf5Writer writer = store::Hdf5Writer::create("m.h5", config.size());
  constexpr size_t kPart = 30000;  // an attribute has at most 64 KB
  for (size_t i = 0; i * kPart < config.size(); ++i) {
    writer.write_string("/", concat("model_config", i), config.substr(i * kPart, kPart));
  }
  writer.make_group("/model_weights");
  const auto content = writer.finish();
  const std::string hdf5 = folder.write_text(
      "m.h5", std::string(reinterpret_cast<const char*>(content.data()), content.size()));
  return {archive, tfjs, hdf5};
}

TEST(HostileFiles, KerasInAllForms) {
  const std::string huge = std::to_string(kHuge);
  std::string many_axes = "2";
  for (int i = 1; i < 100000; ++i) many_axes += ",2";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {keras_model(huge, dense("last", "4", "in")), "4611686018427387904"},
      {keras_model("4", dense("last", huge, "in")), "4611686018427387904"},
      {keras_model(many_axes, dense("last", "4", "in")), "got 100001"},
      {keras_model("16000000", dense("a", "16000000", "in") + "," + dense("last", "16000000", "a")),
       "weight"},
      {keras_model("4", dense("last", "4", "b") + "," + dense("b", "4", "last")), "last"},
      {keras_model("4", dense("last", "4", "last")), "last"},
      {keras_model("4", dense("last", "4", "in") + "," + dense("last", "4", "in")), "two layers"},
      {keras_model("4", dense(kLong, "4", "in")), "4096"},
      {keras_model("4", dense("last", "4", kLong)), "too long"},
  };
  const TempFolder folder;
  for (const auto& [config, word] : cases) {
    SCOPED_TRACE(config.substr(0, 600));
    for (const std::string& path : keras_files(folder, config)) {
      EXPECT_SAYS(refused(path), word) << path;
    }
  }
}

TEST(HostileFiles, ShardsStayBesideTheModel) {
  const TempFolder folder, elsewhere;
  elsewhere.write("secret.bin", std::vector<uint8_t>(80));
  std::filesystem::create_symlink(elsewhere.path("secret.bin"), folder.path("link.bin"));
  const std::string path = folder.write_text(
      "m.json", R"({"format": "layers-model", "modelTopology": {"keras_version": "2.10.0",
                    "model_config": )" +
                    keras_model("4", dense("last", "4", "in")) +
                    R"(}, "weightsManifest": [{"paths": ["link.bin"], "weights": []}]})");
  EXPECT_SAYS(refused(path), "m.json", "beside the model", "link.bin");
}

}  // namespace
}  // namespace pando
