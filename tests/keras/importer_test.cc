// Models of every form: Sequential, Functional, models inside models, layers that are shared.
// SPDX-License-Identifier: MIT
#include "pando/keras/model_config.h"
#include "pando/nn/layers.h"
#include "tests/keras/keras_support.h"
#include "tests/support/expect_error.h"

namespace pando::keras {
namespace {

using testing_support::error_of;

std::string input(const std::string& name, const std::string& shape) {
  return R"({"class_name": "InputLayer", "name": ")" + name + R"(", "inbound_nodes": [],
    "config": {"name": ")" +
         name + R"(", "batch_input_shape": )" + shape + "}}";
}

// `calls` is the list of inbound nodes.
std::string node(const std::string& class_name, const std::string& name, const std::string& options,
                 const std::string& calls) {
  return R"({"class_name": ")" + class_name + R"(", "name": ")" + name +
         R"(", "config": {"name": ")" + name + R"(")" + (options.empty() ? "" : ", ") + options +
         R"(}, "inbound_nodes": )" + calls + "}";
}

Json functional(const std::string& layers, const std::string& inputs, const std::string& outputs,
                const std::string& class_name = "Functional") {
  return Json::parse(R"({"class_name": ")" + class_name + R"(", "config": {"name": "net",
    "layers": [)" + layers +
                     R"(], "input_layers": )" + inputs + R"(, "output_layers": )" + outputs + "}}");
}

std::vector<std::string> names_of(const Network& network) {
  std::vector<std::string> names;
  for (const LayerInfo& layer : network.layers()) names.push_back(layer.name);
  return names;
}

// Two branches of Keras 2.
Json branches(const std::string& class_name = "Model") {
  return functional(
      input("in", "[null, 4, 4, 2]") + "," +
          node("Add", "sum", "", R"([[["c", 0, 0, {}], ["d", 0, 0, {}]]])") + "," +
          node("Conv2D", "c", R"("filters": 2, "kernel_size": 1)", R"([[["in", 0, 0, {}]]])") +
          "," + node("Conv2D", "d", R"("filters": 2, "kernel_size": 1)", R"([[["in", 0, 0, {}]]])"),
      R"([["in", 0, 0]])", R"([["sum", 0, 0]])", class_name);
}

TEST(KerasModels, FunctionalOfKeras2InAnyOrder) {
  for (const char* class_name : {"Model", "Functional"}) {
    const ImportedNetwork imported = import_with_any(branches(class_name));
    EXPECT_EQ(imported.name, "net");
    EXPECT_EQ(names_of(imported.network), (std::vector<std::string>{"in", "c", "d", "sum"}));
    const SymbolicTensor x = Input({4, 4, 2});
    const SymbolicTensor c = Conv2D({.filters = 2})(x), d = Conv2D({.filters = 2})(x);
    Model expected(Network(x, Add()({c, d})));
    Model model = model_of(imported);
    expected.set_weights(model.get_weights());
    expect_same_bits(model.predict(random_samples({4, 4, 2})),
                     expected.predict(random_samples({4, 4, 2})));
  }
}

TEST(KerasModels, FunctionalOfKeras3) {
  const auto tensor = [](const std::string& layer) {
    return R"({"class_name": "__keras_tensor__", "config": {"shape": [null, 4], "dtype": "float32",
              "keras_history": [")" +
           layer + R"(", 0, 0]}})";
  };
  const Json config = functional(
      R"({"module": "keras.layers", "class_name": "InputLayer", "name": "in", "inbound_nodes": [],
          "config": {"batch_shape": [null, 4], "dtype": "float32", "name": "in"}},)" +
          node("Dense", "a", R"("units": 4)",
               R"([{"args": [)" + tensor("in") + R"(], "kwargs": {}}])") +
          "," +
          node("Add", "b", "",
               R"([{"args": [[)" + tensor("in") + "," + tensor("a") + R"(]], "kwargs": {}}])") +
          "," +
          node("Multiply", "half", "",
               R"([{"args": [)" + tensor("b") + R"(, 0.5], "kwargs": {}}])"),
      R"(["in", 0, 0])", R"([["half", 0, 0]])");
  const SymbolicTensor x = Input({4});
  Model expected(Network(x, Rescaling({.factor = 0.5})(Add()({x, Dense({.units = 4})(x)}))));
  Model model = model_of(import_with_any(config, 3));
  expected.set_weights(model.get_weights());
  expect_same_bits(model.predict(random_samples({4})), expected.predict(random_samples({4})));
}

TEST(KerasModels, SharedLayersHaveOneSetOfWeights) {
  const Json config = functional(
      input("x", "[null, 3]") + "," + input("y", "[null, 3]") + "," +
          node("Dense", "both", R"("units": 2)", R"([[["x", 0, 0, {}]], [["y", 0, 0, {}]]])") +
          "," + node("Subtract", "difference", "", R"([[["both", 0, 0, {}], ["both", 1, 0, {}]]])"),
      R"([["x", 0, 0], ["y", 0, 0]])", R"([["difference", 0, 0], ["both", 1, 0]])");
  const ImportedNetwork imported = import_with_any(config);
  EXPECT_EQ(imported.weights.size(), 2);
  EXPECT_EQ(imported.network.inputs().size(), 2);
  EXPECT_EQ(imported.network.outputs().size(), 2);
}

// A model inside the model, used twice, whose calls Keras counts from `first`.
Json nested(int first) {
  const auto ref = [&](int call) { return concat(R"(["inner", )", first + call, ", 0, {}]"); };
  const std::string inner = R"({"class_name": "Sequential", "name": "inner", "config": {"name":
    "inner", "layers": [{"class_name": "Dense", "config": {"name": "d", "units": 3}},
    {"class_name": "BatchNormalization", "config": {"name": "n", "axis": [1], "trainable": false}}]},
    "inbound_nodes": [[["x", 0, 0, {}]], [["y", 0, 0, {}]]]})";
  return functional(input("x", "[null, 3]") + "," + input("y", "[null, 3]") + "," + inner + "," +
                        node("Add", "sum", "", "[[" + ref(0) + "," + ref(1) + "]]"),
                    R"([["x", 0, 0], ["y", 0, 0]])", R"([["sum", 0, 0]])");
}

TEST(KerasModels, ModelsInsideModels) {
  for (const int first : {0, 1}) {
    const ImportedNetwork imported = import_with_any(nested(first));
    EXPECT_EQ(imported.weights.size(), 6);
    EXPECT_NO_THROW(imported.network.layer("inner/d"));
    EXPECT_EQ(imported.frozen, std::vector<std::string>{"inner/n"});
  }
  const Json chain = Json::parse(R"({"class_name": "Sequential", "config": {"name": "outer",
    "layers": [)" + [] {
    Json inner = branches();
    inner["config"]["name"] = "inner";
    return inner.dump();
  }() + R"(, {"class_name": "Flatten", "config": {"name": "flat"}}]}})");
  const ImportedNetwork imported = import_with_any(chain);
  EXPECT_EQ(imported.network.inputs()[0].name, "in");
  EXPECT_EQ(imported.network.outputs()[0].shape, (Shape{32}));
}

// Layers of ours have fewer characters in their names.
TEST(KerasModels, NamesBecomePlain) {
  const Json config =
      functional(input("my in", "[null, 4]") + "," +
                     node("Dense", "a b", R"("units": 2)", R"([[["my in", 0, 0, {}]]])") + "," +
                     node("Dense", "a:b", R"("units": 2)", R"([[["a b", 0, 0, {}]]])"),
                 R"([["my in", 0, 0]])", R"([["a:b", 0, 0]])");
  EXPECT_EQ(names_of(import_with_any(config).network),
            (std::vector<std::string>{"my_in", "a_b", "a_b_1"}));
}

TEST(KerasModels, SequentialKnowsItsInputInManyWays) {
  const std::string dense = R"("class_name": "Dense", "config": {"name": "d", "units": 2)";
  for (const std::string& text :
       {R"({"class_name": "Sequential", "config": [{)" + dense +
            R"(, "batch_input_shape": [null, 3]}}]})",
        R"({"class_name": "Sequential", "config": {"name": "s", "build_input_shape": [null, 3],
            "layers": [{)" +
            dense + "}}]}}",
        R"({"class_name": "Sequential", "build_config": {"input_shape": [null, 3]},
            "config": {"name": "s", "layers": [{)" +
            dense + "}}]}}",
        R"({"class_name": "Sequential", "config": {"name": "s", "layers": [
            {"class_name": "InputLayer", "config": {"name": "in", "batch_shape": [null, 3]}}, {)" +
            dense + "}}]}}"}) {
    EXPECT_EQ(import_with_any(Json::parse(text)).network.inputs()[0].shape, (Shape{3})) << text;
  }
  const Json open = Json::parse(
      R"({"class_name": "Sequential", "config": {"name": "s", "layers": [{)" + dense + "}}]}}");
  EXPECT_SAYS(error_of<IoError>([&] { import_with_any(open); }), "'s'", "build");
  const Json none =
      Json::parse(R"({"class_name": "Sequential", "config": {"name": "s", "layers": []}})");
  EXPECT_SAYS(error_of<IoError>([&] { import_with_any(none); }), "no layers");
}

TEST(KerasModels, OpenExtentsAreBound) {
  const Json config = sequential("[null, null, null, 3]", layer("UpSampling2D", "").dump());
  const auto shape = [&](const std::map<std::string, int64_t>& extents) {
    return import_with_any(config, 2, {.extents = extents}).network.outputs()[0].shape;
  };
  EXPECT_EQ(shape({{"height", 5}, {"width", 7}}), (Shape{10, 14, 3}));
  EXPECT_EQ(shape({{"in:1", 5}, {"in:2", 7}}), (Shape{10, 14, 3}));
  EXPECT_SAYS(error_of<InvalidArgument>([&] {
                shape({{"height", 5}});
              }),
              "'in'", "axis 2", "width");
  EXPECT_SAYS(error_of<InvalidArgument>([&] { shape({{"in:1", 0}, {"width", 5}}); }), "got 0");
  EXPECT_SAYS(error_of<InvalidArgument>([&] {
                shape({{"height", 5}, {"width", 7}, {"other:1", 3}});
              }),
              "other:1");
  EXPECT_SAYS(error_of<Unsupported>(
                  [&] { import_with_any(sequential("[null]", layer("Flatten", "").dump())); }),
              "axes", "[null]");
}

TEST(KerasModels, FunctionsOfTensorFlow) {
  const auto function = [](const std::string& name, const std::string& what,
                           const std::string& call) {
    return node("TFOpLambda", name, R"("function": ")" + what + R"(")", call);
  };
  const Json config = functional(
      input("in", "[null, 4, 4, 4]") + "," +
          function("half", "math.multiply", R"([["in", 0, 0, {"y": 0.5, "name": null}]])") + "," +
          function("less", "math.subtract",
                   R"([["_CONSTANT_VALUE", -1, 1.0, {"y": ["half", 0, 0]}]])") +
          "," +
          function("both", "__operators__.add", R"([["half", 0, 0, {"y": ["less", 0, 0]}]])") +
          "," + function("third", "math.truediv", R"([["both", 0, 0, {"y": 4.0}]])") + "," +
          function("act", "nn.relu", R"([["third", 0, 0, {"name": null}]])") + "," +
          function("cut", "clip_by_value",
                   R"([["act", 0, 0, {"clip_value_min": 0.1, "clip_value_max": 2}]])") +
          "," + function("same", "cast", R"([["cut", 0, 0, {"dtype": "float16"}]])") + "," +
          function("more", "math.add", R"([["same", 0, 0, {"y": 1}]])") + "," +
          function("space", "nn.depth_to_space", R"([["more", 0, 0, {"block_size": 2}]])") + "," +
          node("SlicingOpLambda", "slice", R"("function": "__operators__.getitem")",
               R"([["space", 0, 0, {"slice_spec": [{"start": null, "stop": null, "step": null},
                   {"start": 1, "stop": -1, "step": null}, {"start": null, "stop": null, "step": 2}]}]])") +
          "," +
          function("cat", "concat",
                   R"([[["slice", 0, 0, {"axis": -1}], ["slice", 0, 0, {"axis": -1}]]])") +
          "," + function("shape", "reshape", R"([["cat", 0, 0, {"shape": [-1, 6, 8]}]])") + "," +
          function("mean", "math.reduce_mean",
                   R"([["shape", 0, 0, {"axis": [1], "keepdims": true}]])"),
      R"([["in", 0, 0]])", R"([["mean", 0, 0]])");
  Model model = model_of(import_with_any(config));
  EXPECT_EQ(model.network().outputs()[0].shape, (Shape{1, 8}));
  const SymbolicTensor x = Input({4, 4, 4});
  const SymbolicTensor half = Rescaling({.factor = 0.5})(x);
  SymbolicTensor y = Add()({half, Rescaling({.factor = -1, .offset = 1})(half)});
  y = Rescaling({.offset = 1})(Activation("relu")(Rescaling({.factor = 0.25})(y)));
  y = Slice({.starts = {1, 0}, .ends = {-1, 8}, .axes = {1, 2}, .steps = {1, 2}})(
      DepthToSpace()(y));
  y = Reduce({.axes = {1}, .keepdims = true})(Reshape({.shape = {6, 8}})(Concatenate()({y, y})));
  expect_same_bits(model.predict(random_samples({4, 4, 4})),
                   Model(Network(x, y)).predict(random_samples({4, 4, 4})));
}

TEST(KerasModels, FunctionsThatAreRefused) {
  const auto refused = [](const std::string& what, const std::string& call) {
    const Json config = functional(input("in", "[null, 4, 4, 4]") + "," +
                                       node(what == "slice" ? "SlicingOpLambda" : "TFOpLambda", "f",
                                            R"("function": ")" + what + R"(")", call),
                                   R"([["in", 0, 0]])", R"([["f", 0, 0]])");
    return error_of<Error>([&] { import_with_any(config); });
  };
  EXPECT_SAYS(refused("math.truediv", R"([["_CONSTANT_VALUE", -1, 1.0, {"y": ["in", 0, 0]}]])"),
              "divide", "'f'");
  EXPECT_SAYS(refused("math.add", R"([["in", 0, 0, {"y": [1, 2]}]])"), "number", "[1,2]");
  EXPECT_SAYS(refused("reshape", R"([["in", 0, 0, {"shape": [4, 16]}]])"), "batch", "[4,16]");
  EXPECT_SAYS(refused("image.resize", R"([["in", 0, 0, {"size": [4, 0]}]])"), "size", "0");
  EXPECT_SAYS(refused("image.resize", R"([["in", 0, 0, {"size": [4, 4], "method": "area"}]])"),
              "area");
  EXPECT_SAYS(refused("image.resize", R"([["in", 0, 0, {"size": [4, 4], "antialias": true}]])"),
              "antialias", "false", "true");
  EXPECT_SAYS(
      refused("image.resize", R"([["in", 0, 0, {"size": [4, 4], "preserve_aspect_ratio": true}]])"),
      "preserve_aspect_ratio");
  EXPECT_SAYS(refused("cast", R"([["in", 0, 0, {"dtype": "int32"}]])"), "dtype", "int32");
  EXPECT_SAYS(refused("nn.silu", R"([["in", 0, 0, {"beta": 2.0}]])"), "beta");
  EXPECT_SAYS(
      refused("nn.depth_to_space", R"([["in", 0, 0, {"block_size": 2, "data_format": "NCHW"}]])"),
      "data_format", "NHWC", "NCHW");
  EXPECT_SAYS(refused("nn.relu", R"([["in", -9223372036854775808, 0, {}]])"), "from 0");
  EXPECT_SAYS(refused("nn.depth_to_space", R"([["in", 0, 0, {}]])"), "block_size");
  EXPECT_SAYS(refused("slice", R"([["in", 0, 0, {"slice_spec": [{"start": 1}]}]])"), "batch");
  EXPECT_SAYS(refused("slice", R"([["in", 0, 0, {"slice_spec": [3]}]])"), "slice_spec", "3");
  EXPECT_SAYS(refused("math.erf", R"([["in", 0, 0, {}]])"), "TFOpLambda math.erf (1): f");
}

TEST(KerasModels, MergingLayers) {
  const auto merged = [](const std::string& class_name, const std::string& options) {
    return functional(input("x", "[null, 3, 4]") + "," + input("y", "[null, 3, 4]") + "," +
                          node(class_name, "m", options, R"([[["x", 0, 0, {}], ["y", 0, 0, {}]]])"),
                      R"([["x", 0, 0], ["y", 0, 0]])", R"([["m", 0, 0]])");
  };
  for (const char* name : {"Add", "Subtract", "Multiply", "Maximum", "Minimum", "Average"}) {
    EXPECT_EQ(import_with_any(merged(name, "")).network.outputs()[0].shape, (Shape{3, 4})) << name;
  }
  EXPECT_EQ(import_with_any(merged("Concatenate", R"("axis": 1)")).network.outputs()[0].shape,
            (Shape{6, 4}));
  EXPECT_EQ(import_with_any(merged("Dot", R"("axes": [2, 2])")).network.outputs()[0].shape,
            (Shape{3, 3}));
  EXPECT_SAYS(
      error_of<Unsupported>([&] { import_with_any(merged("Concatenate", R"("axis": 0)")); }),
      "axis", "0");
  EXPECT_SAYS(error_of<Unsupported>(
                  [&] { import_with_any(merged("Dot", R"("axes": 2, "normalize": true)")); }),
              "normalize");
  const Json vectors =
      functional(input("x", "[null, 4]") + "," + input("y", "[null, 4]") + "," +
                     node("Dot", "m", R"("axes": -1)", R"([[["x", 0, 0, {}], ["y", 0, 0, {}]]])"),
                 R"([["x", 0, 0], ["y", 0, 0]])", R"([["m", 0, 0]])");
  EXPECT_EQ(import_with_any(vectors).network.outputs()[0].shape, (Shape{1}));
  const Json ranks =
      functional(input("x", "[null, 4]") + "," + input("y", "[null, 4, 4]") + "," +
                     node("Dot", "m", R"("axes": -1)", R"([[["x", 0, 0, {}], ["y", 0, 0, {}]]])") +
                     "," + node("Add", "n", "", R"([[["x", 0, 0, {}], ["y", 0, 0, {}]]])"),
                 R"([["x", 0, 0], ["y", 0, 0]])", R"([["m", 0, 0]])");
  EXPECT_SAYS(error_of<Unsupported>([&] { import_with_any(ranks); }), "'m'", "two");
}

TEST(KerasModels, ListsAllLayersThatAreNotKnown) {
  const Json config = functional(
      input("in", "[null, 4]") + "," + node("Lambda", "one", "", R"([[["in", 0, 0, {}]]])") + "," +
          node("Lambda", "two", "", R"([[["one", 0, 0, {}]]])") + "," +
          node("LSTM", "three", "", R"([[["two", 0, 0, {}]]])") + "," +
          R"({"class_name": "Sequential", "config": {"name": "inner", "layers": [
              {"class_name": "MyOwn", "config": {"name": "four"}}]}, "name": "inner",
              "inbound_nodes": [[["three", 0, 0, {}]]]})",
      R"([["in", 0, 0]])", R"([["inner", 1, 0]])");
  EXPECT_EQ(
      unknown_layers(config),
      (std::vector<std::string>{"LSTM (1): three", "Lambda (2): one, two", "MyOwn (1): four"}));
  EXPECT_SAYS(error_of<Unsupported>([&] { import_with_any(config); }), "Lambda (2): one, two",
              "LSTM (1): three", "MyOwn (1): four");
}

TEST(KerasModels, DescriptionsThatDoNotFitTogether) {
  const std::string in = input("in", "[null, 4]") + ",";
  const std::string dense = R"("units": 2)";
  const auto error = [&](const std::string& layers, const std::string& outputs) {
    return error_of<IoError>(
        [&] { import_with_any(functional(in + layers, R"([["in", 0, 0]])", outputs)); });
  };
  EXPECT_SAYS(error(node("Dense", "a", dense, R"([[["a", 0, 0, {}]]])"), R"([["a", 0, 0]])"),
              "'a'");
  EXPECT_SAYS(error(node("Dense", "a", dense, R"([[["no", 0, 0, {}]]])"), R"([["a", 0, 0]])"),
              "'a'");
  EXPECT_SAYS(error(node("Dense", "a", dense, R"([[["in", 0, 0, {}]]])"), R"([["b", 0, 0]])"),
              "'b'");
  EXPECT_SAYS(error(node("Dense", "a", dense, R"([[["in", 0, 0, {}]]])"), R"([["a", 7, 0]])"),
              "'a'");
  EXPECT_SAYS(error(node("Dense", "in", dense, "[]"), R"([["in", 0, 0]])"), "two layers", "'in'");
  EXPECT_SAYS(error(node("Dense", "a", dense, "[[7]]"), R"([["in", 0, 0]])"), "inbound_nodes");
  EXPECT_SAYS(error(node("Dense", "", dense, "[]"), R"([["in", 0, 0]])"), "name");
  EXPECT_SAYS(error(node("Dense", "a", dense, R"([[]])"), R"([["a", 0, 0]])"), "no input");
  EXPECT_SAYS(error(node("Dense", std::string(5000, 'a'), dense, "[]"), R"([["in", 0, 0]])"),
              "5000");
  EXPECT_SAYS(error_of<Unsupported>([&] {
                parse_model_config(Json::parse(R"({"class_name": "MyModel", "config": {}})"));
              }),
              "MyModel", "Functional");
  EXPECT_SAYS(error_of<IoError>([&] {
                import_with_any(functional(node("Dense", "a", dense, "[]"), R"([["a", 0, 0]])",
                                           R"([["a", 0, 0]])"));
              }),
              "'a'", "shape");
}

// Each model calls the one inside it twice: 2^30 calls in a small file.
TEST(KerasModels, ModelsThatGrowWithoutEndAreRefused) {
  std::string inner =
      node("Activation", "act", R"("activation": "relu")", R"([[["i", 0, 0, {}]]])");
  std::string name = "act";
  for (int depth = 0; depth < 30; ++depth) {
    const Json model = functional(input("i", "[null, 2]") + "," + inner, R"([["i", 0, 0]])",
                                  R"([[")" + name + R"(", 0, 0]])");
    name = concat("m", depth);
    inner = R"({"class_name": "Functional", "name": ")" + name + R"(", "config": )" +
            model.at("config").dump() + R"(, "inbound_nodes": [[["i", 0, 0, {}]], [[")" + name +
            R"(", 0, 0, {}]]]})";
  }
  const Json bomb = functional(input("i", "[null, 2]") + "," + inner, R"([["i", 0, 0]])",
                               R"([[")" + name + R"(", 1, 0]])");
  EXPECT_SAYS(error_of<Unsupported>([&] { import_with_any(bomb); }), "calls");
}

}  // namespace
}  // namespace pando::keras
