// Weight files in both directions between Pando and h5py, which Keras uses.
#include <cstdlib>

#include "pando/store/hdf5_reader.h"
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
      {"names_are_numbers", "expected strings, got int64"},
      {"name_is_empty", "the weight ''"},
      {"int64", "i32; expected floating point"},
      {"int64_large", "does not fit into int32"},
      {"compound", "a compound type, which is not supported"},
      {"lzf", "the filter lzf is not supported"},
      {"int32", "i32; expected floating point"},
      {"text", "expected floating point or integers, got a variable-length type"},
      {"group", "is not a dataset"},
      {"null", "holds no data"},
      {"huge", "too large for a weight"},
      {"overflow", "too large for a weight"},
      {"large", "0 are stored"},
      {"soft_link_to_nothing", "there is no 'nothing'"},
      {"soft_link_to_itself", "more than 16 soft links"},
      {"external_link", "a link into another file"},
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

// Without a limit, the first would take an hour with sanitizers.
TEST_F(H5py, ChunksWithoutNumberAreReadOrRefused) {
  run("h5py_limits.py", dir_.path());
  for (const std::string name : {"shuffled", "floats"}) {
    SCOPED_TRACE(name);
    const Tensor data = Hdf5Reader(dir_.path(name + ".h5")).read_tensor("/data");
    for (size_t i = 0; i < data.f32().size(); ++i) ASSERT_EQ(data.f32()[i], static_cast<float>(i));
  }
  const auto read = [&] { Hdf5Reader(dir_.path("bytes.h5")).read_tensor("/data"); };
  expect_contains(message_of<IoError>(read), "70000 chunks of 1 bytes");
}

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; hex != "-" && i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

// Compares one line of h5py_random.py with what we read.
void compare_fact(Hdf5Reader& file, const std::vector<std::string>& fields) {
  const std::string& path = fields[1];
  const auto rest = [&](std::ptrdiff_t from) {
    return std::vector<std::string>(fields.begin() + from, fields.end());
  };
  if (fields[0] == "children") {
    EXPECT_TRUE(file.is_group(path));
    EXPECT_EQ(file.children(path), rest(2));
  } else if (fields[0] == "attributes") {
    EXPECT_EQ(file.attribute_names(path), rest(2));
  } else if (fields[0] == "strings") {
    std::vector<std::string> values;
    for (const std::string& value : rest(3)) values.push_back(from_hex(value));
    EXPECT_EQ(file.read_strings(path, fields[2]), values);
  } else if (fields[0] == "numbers") {
    std::vector<double> values;
    for (const std::string& value : rest(3)) values.push_back(std::strtod(value.c_str(), nullptr));
    EXPECT_EQ(file.read_numbers(path, fields[2]), values);
  } else {
    EXPECT_TRUE(file.is_dataset(path));
    const Tensor tensor = file.read_tensor(path);
    EXPECT_EQ(to_string(tensor.dtype()), fields[2]);
    EXPECT_EQ(to_string(tensor.shape()), fields[3] == "-" ? "[]" : "[" + fields[3] + "]");
    const std::string bytes(reinterpret_cast<const char*>(tensor.data()), tensor.bytes());
    EXPECT_TRUE(bytes == from_hex(fields[4]));
  }
}

// PANDO_H5PY_FILES=1000 in the environment compares more.
TEST_F(H5py, ReadsTheSameFromRandomFiles) {
  const char* asked = std::getenv("PANDO_H5PY_FILES");
  const int count = asked == nullptr ? 8 : std::atoi(asked);
  run("h5py_random.py", concat(dir_.path(), " 1 ", count));
  for (int seed = 1; seed <= count; ++seed) {
    const std::string path = dir_.path(concat(seed, ".h5"));
    Hdf5Reader file(path);
    std::ifstream facts(path + ".txt");
    int compared = 0;
    for (std::string line; std::getline(facts, line); ++compared) {
      SCOPED_TRACE(concat(path, ": ", line.substr(0, 100)));
      compare_fact(file, split(line, '\t'));
      if (HasFailure()) return;
    }
    EXPECT_GT(compared, 0);
  }
}

}  // namespace
}  // namespace pando::store
