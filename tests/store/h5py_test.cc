// Weight files in both directions between Pando and h5py, which Keras uses.
#include <cstdlib>

#include "tests/store/store_support.h"

namespace pando::store {
namespace {

class H5py : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system(PANDO_PYTHON " -c 'import h5py' 2>/dev/null") != 0) {
      GTEST_SKIP() << PANDO_PYTHON " has no h5py; on Debian install python3-h5py";
    }
  }
  void run(const std::string& script, const std::string& arguments) {
    const std::string command =
        concat(PANDO_PYTHON, " '", PANDO_SOURCE_DIR, "/tests/store/", script, "' ", arguments);
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
  std::string error_of(const std::string& name) {
    const std::string path = dir_.path("bad_" + name + ".h5");
    const std::string message = message_of<IoError>([&] { read_weights_file(path); });
    expect_contains(message, path);
    return message;
  }
  TempFolder dir_;
};

TEST_F(H5py, ReadsOurFile) {
  write_weights_file(dir_.path("a.h5"), small_example());
  run("h5py_check.py", "small " + dir_.path("a.h5"));
}

TEST_F(H5py, ReadsOurHalfPrecision) {
  WeightsFile file = small_example();
  file.layers[1].weights[0].value = cast(file.layers[1].weights[0].value, DType::f16);
  file.layers[1].weights[1].value = cast(file.layers[1].weights[1].value, DType::bf16);
  write_weights_file(dir_.path("a.h5"), file);
  run("h5py_check.py", "half " + dir_.path("a.h5"));
}

TEST_F(H5py, ReadsOurLongAttributes) {
  WeightsFile file;
  for (int i = 0; i < 1500; ++i) {
    file.layers.push_back({concat("layer_", i, "_", std::string(90, 'x')), {}});
  }
  file.attributes["model_config"] = std::string(100000, '{');
  write_weights_file(dir_.path("a.h5"), file);
  run("h5py_check.py", "long " + dir_.path("a.h5"));
}

TEST_F(H5py, MayChangeOurFile) {
  write_weights_file(dir_.path("a.h5"), small_example());
  run("h5py_check.py", "change " + dir_.path("a.h5"));
  const WeightsFile again = read_weights_file(dir_.path("a.h5"));
  EXPECT_EQ(again.layers[1].weights[1].value.f32()[0], 8.0f);
}

TEST_F(H5py, WritesFilesThatWeRead) {
  run("h5py_make.py", dir_.path());
  for (const std::string name : {"plain", "compressed", "float64", "float16", "float16_big",
                                 "big_endian", "extra", "model"}) {
    for (const std::string version : {"", "_new"}) {
      SCOPED_TRACE(name + version);
      const WeightsFile file = read_weights_file(dir_.path(name + version + ".h5"));
      ASSERT_EQ(file.layers.size(), 3u);
      EXPECT_EQ(file.layers[0].layer, "input_1");
      EXPECT_TRUE(file.layers[0].weights.empty());
      const NamedWeight& kernel = file.layers[1].weights.at(0);
      EXPECT_EQ(kernel.name, "kernel");
      ASSERT_EQ(kernel.value.shape(), (Shape{3, 4, 5, 10}));
      EXPECT_EQ(kernel.value.dtype(), name.starts_with("float16") ? DType::f16 : DType::f32);
      const Tensor wide = cast(kernel.value, DType::f32);
      for (int i = 0; i < 600; ++i) {
        ASSERT_EQ(wide.f32()[static_cast<size_t>(i)], static_cast<float>(i) / 8 - 20);
      }
      EXPECT_EQ(file.layers[2].weights.at(0).name, "model/dense/bias");
      EXPECT_EQ(cast(file.layers[2].weights.at(0).value, DType::f32).f32()[1], -1.5f);
      EXPECT_EQ(file.attributes.at("backend"), "tensorflow");
      EXPECT_EQ(file.attributes.at("keras_version"), "2.11.0");
      EXPECT_EQ(file.attributes.contains("model_config"), name == "model");
      EXPECT_FALSE(file.attributes.contains("many"));
    }
  }
}

TEST_F(H5py, WritesFilesThatWeRefuse) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"no_names", "no attribute 'layer_names'"},
      {"keras3", "layout of Keras 3"},
      {"missing_dataset", "'model/dense/bias:0'"},
      {"missing_group", "layer 'dense'"},
      {"missing_weight_names", "no attribute 'weight_names'"},
      {"names_are_numbers", "does not hold strings"},
      {"name_is_empty", "the weight ''"},
      {"int64", "expected floating point, int32 or uint8"},
      {"int32", "i32; expected floating point"},
      {"text", "expected floating point"},
      {"group", "is not a dataset"},
      {"null", "holds no data"},
      {"huge", "too large for a weight"},
      {"overflow", "too large for a weight"},
      {"large", "0 are stored"},
      {"soft_link_to_nothing", "cannot open the dataset"},
      {"external_link", "cannot open the dataset"},
      {"external_data", "takes its data from other files"},
      {"virtual", "takes its data from other files"},
  };
  std::string names;
  for (const auto& entry : cases) names += " " + entry.first;
  run("h5py_make.py", dir_.path() + names);
  for (const auto& [name, cause] : cases) {
    SCOPED_TRACE(name);
    expect_contains(error_of(name), cause);
  }
}

}  // namespace
}  // namespace pando::store
