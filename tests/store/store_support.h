// Helpers that the tests of store share: a directory that removes itself, whole files, an example.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "pando/store/weights_file.h"
#include "tests/support/temp_folder.h"

namespace pando::store {

using testing_support::TempFolder;

inline std::string read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// The message of the E that `call` throws; fails the test when it throws none.
template <typename E, typename Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const E& error) {
    return error.what();
  }
  ADD_FAILURE() << "expected an error";
  return "";
}

inline void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
}

inline WeightsFile small_example() {
  WeightsFile file;
  file.layers = {
      {"input_1", {}},
      {"conv2d",
       {{"kernel", Tensor::of_f32({1, 2, 1, 2}, {1, -2, 3.5f, 4})},
        {"bias", Tensor::of_f32({2}, {0.25f, -1})}}},
      {"block1/bn", {{"gamma", Tensor::of_f32({2}, {1, 1})}}},
  };
  file.attributes = {{"pando_version", "0.1.0"}};
  file.state = {{"adam/step", Tensor::of_i32({}, {7})},
                {"adam/m/conv2d/bias", Tensor::of_f32({2}, {5, 6})},
                {"rng", Tensor(DType::u8, {3})}};
  file.state[2].value.u8()[1] = 200;
  return file;
}

inline void expect_same_weights(const std::vector<NamedWeight>& a,
                                const std::vector<NamedWeight>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    ASSERT_EQ(a[i].value.dtype(), b[i].value.dtype()) << a[i].name;
    ASSERT_EQ(a[i].value.shape(), b[i].value.shape()) << a[i].name;
    EXPECT_TRUE(
        std::equal(a[i].value.data(), a[i].value.data() + a[i].value.bytes(), b[i].value.data()))
        << a[i].name;
  }
}

inline void expect_same_layers(const WeightsFile& a, const WeightsFile& b) {
  ASSERT_EQ(a.layers.size(), b.layers.size());
  for (size_t i = 0; i < a.layers.size(); ++i) {
    EXPECT_EQ(a.layers[i].layer, b.layers[i].layer);
    expect_same_weights(a.layers[i].weights, b.layers[i].weights);
  }
}

}  // namespace pando::store
