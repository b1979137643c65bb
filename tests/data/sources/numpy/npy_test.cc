// SPDX-License-Identifier: MIT
#include "pando/data/sources/numpy/npy.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "pando/data/sources/zip.h"
#include "tests/data/foreign_software.h"
#include "tests/data/numpy_files.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

template <typename T>
Bytes numbers(std::initializer_list<T> values, bool big_endian = false) {
  Bytes bytes;
  for (const T value : values) {
    Bytes one(sizeof(T));
    std::memcpy(one.data(), &value, sizeof(T));
    if (big_endian) std::reverse(one.begin(), one.end());
    bytes = bytes + one;
  }
  return bytes;
}

Tensor parse(const std::string& type, const std::string& shape, const Bytes& payload,
             uint8_t version = 1, bool fortran = false) {
  return data::parse_npy(npy_file(npy_dictionary(type, shape, fortran), payload, version), "a.npy");
}

std::vector<float> values_of(const Tensor& tensor) {
  const Tensor all = cast(tensor, DType::f32);
  return {all.f32().begin(), all.f32().end()};
}

TEST(Npy, TypesOfNumbers) {
  const std::vector<float> expected = {3, 0, 7};
  for (const bool big : {false, true}) {
    const std::string order = big ? ">" : "<";
    const auto check = [&](const std::string& type, const Bytes& payload, DType dtype) {
      const Tensor tensor = parse(order + type, "(3,)", payload);
      EXPECT_EQ(tensor.dtype(), dtype) << type;
      EXPECT_EQ(tensor.shape(), Shape({3})) << type;
      EXPECT_EQ(values_of(tensor), expected) << type;
    };
    check("u1", numbers<uint8_t>({3, 0, 7}), DType::u8);
    check("i1", numbers<int8_t>({3, 0, 7}), DType::i32);
    check("i2", numbers<int16_t>({3, 0, 7}, big), DType::i32);
    check("u2", numbers<uint16_t>({3, 0, 7}, big), DType::i32);
    check("i4", numbers<int32_t>({3, 0, 7}, big), DType::i32);
    check("u4", numbers<uint32_t>({3, 0, 7}, big), DType::i32);
    check("i8", numbers<int64_t>({3, 0, 7}, big), DType::i32);
    check("u8", numbers<uint64_t>({3, 0, 7}, big), DType::i32);
    check("f2", numbers<uint16_t>({0x4200, 0, 0x4700}, big), DType::f32);
    check("f4", numbers<float>({3, 0, 7}, big), DType::f32);
    check("f8", numbers<double>({3, 0, 7}, big), DType::f32);
  }
  const Tensor flags = parse("|b1", "(2,)", {1, 0});
  EXPECT_EQ(flags.dtype(), DType::i32);
  EXPECT_EQ(values_of(flags), (std::vector<float>{1, 0}));
  EXPECT_EQ(values_of(parse("<i8", "(1,)", numbers<int64_t>({-5}))), (std::vector<float>{-5}));
  EXPECT_TRUE(std::isnan(values_of(parse("<f4", "()", numbers<float>({NAN})))[0]));
}

TEST(Npy, ShapesAndVersions) {
  for (const uint8_t version : {uint8_t{1}, uint8_t{2}, uint8_t{3}}) {
    EXPECT_EQ(parse("|u1", "(2, 3)", counting_bytes(6), version).shape(), Shape({2, 3}));
  }
  EXPECT_EQ(parse("|u1", "(2L, 3L)", counting_bytes(6)).shape(), Shape({2, 3}));
  EXPECT_EQ(parse("|u1", "()", {4}).shape(), Shape({}));
  EXPECT_EQ(parse("|u1", "(0, 5)", {}).elements(), 0);
  const Bytes spaced =
      npy_file("{\"shape\":(2,),\"fortran_order\":False,\"descr\":\"|u1\"}   ", {1, 2});
  EXPECT_EQ(data::parse_npy(spaced, "a").shape(), Shape({2}));
}

TEST(Npy, ColumnsThatLieTogether) {
  const Tensor tensor = parse("|u1", "(2, 3)", {0, 3, 1, 4, 2, 5}, 1, true);
  EXPECT_EQ(values_of(tensor), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  const Tensor cube =
      parse("<i4", "(2, 2, 2)", numbers<int32_t>({0, 4, 2, 6, 1, 5, 3, 7}), 1, true);
  EXPECT_EQ(values_of(cube), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(values_of(parse("<f4", "(2,)", numbers<float>({1, 2}), 1, true)),
            (std::vector<float>{1, 2}));
}

TEST(Npy, SaysWhatIsWrong) {
  const auto error = [](const Bytes& file) {
    return error_of<IoError>([&] { data::parse_npy(file, "a.npy"); });
  };
  const auto dictionary_error = [&](const std::string& text) { return error(npy_file(text, {1})); };
  EXPECT_SAYS(error({'h', 'i'}), "a.npy", "not a NumPy array");
  EXPECT_SAYS(error(npy_file(npy_dictionary("|u1", "(1,)"), {1}, 4)), "version 4");
  Bytes cut = npy_file(npy_dictionary("|u1", "(1,)"), {1});
  cut.resize(30);
  EXPECT_SAYS(error(cut), "truncated", "30 bytes");
  EXPECT_SAYS(dictionary_error(npy_dictionary("|O", "(1,)")), "Python objects", "astype");
  EXPECT_SAYS(dictionary_error(npy_dictionary("<U3", "(1,)")), "'<U3'", "expected numbers");
  EXPECT_SAYS(dictionary_error(npy_dictionary("<f16", "(1,)")), "'<f16'");
  EXPECT_SAYS(dictionary_error(npy_dictionary("u1", "(1,)")), "'u1'");
  EXPECT_SAYS(dictionary_error("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}"),
              "several fields");
  EXPECT_SAYS(dictionary_error("{'descr': '|u1', 'fortran_order': 0, 'shape': (1,)}"),
              "True or False");
  EXPECT_SAYS(dictionary_error("{'descr': '|u1', 'fortran_order': False, 'shape': (-1,)}"),
              "shape");
  EXPECT_SAYS(dictionary_error("{'descr': '|u1', 'fortran_order': False, 'shape': 1}"),
              "expected (");
  EXPECT_SAYS(dictionary_error("{'descr': '|u1', 'shape': (1,)}"), "lacks");
  EXPECT_SAYS(dictionary_error("{'descr': '|u1', 'more': 1}"), "'more'");
  EXPECT_SAYS(dictionary_error("{descr: 1}"), "not in quotes");
  EXPECT_SAYS(dictionary_error("{'descr"), "ends within quotes");
  EXPECT_SAYS(dictionary_error(npy_dictionary("|u1", "(1,)") + "x"), "text after");
  EXPECT_SAYS(dictionary_error(npy_dictionary("|u1", "(3,)")), "1 bytes follow", "expected 3");
  EXPECT_SAYS(dictionary_error(npy_dictionary("|u1", "(0,)")), "expected 0");
  EXPECT_SAYS(dictionary_error(npy_dictionary("<f8", "(99999999999, 99999999999)")),
              "more than any file");
  EXPECT_SAYS(error(npy_file(npy_dictionary("<i8", "(2,)"), numbers<int64_t>({1, 1ll << 40}))),
              "element 1", "1099511627776", "32 bits");
}

TEST(Npy, IsWrittenAndReadAgain) {
  const TempFolder folder;
  const std::string path = folder.path("t.npy");
  for (const Tensor& tensor :
       {Tensor::of_f32({2, 2}, {1, -2, 0.5f, 4}), Tensor::of_i32({3}, {1, -7, 1 << 30})}) {
    save_npy(path, tensor);
    const Tensor read = load_npy(path);
    EXPECT_EQ(read.dtype(), tensor.dtype());
    EXPECT_EQ(read.shape(), tensor.shape());
    EXPECT_EQ(std::memcmp(read.data(), tensor.data(), tensor.bytes()), 0);
    EXPECT_EQ(folder.read("t.npy").find('\n') % 64, 63u);  // the elements are aligned
  }
  save_npy(path, Tensor(DType::u8, {}));
  EXPECT_EQ(load_npy(path).shape(), Shape({}));
  save_npy(path, cast(Tensor::of_f32({1}, {0.25f}), DType::f16));
  EXPECT_EQ(load_npy(path).f32()[0], 0.25f);
  EXPECT_SAYS(error_of([&] { save_npy(path, Tensor(DType::bf16, {1})); }), "bf16", "f32");
  EXPECT_SAYS(error_of<IoError>([&] { load_npy(folder.path("none.npy")); }), "none.npy");
}

TEST(Npz, ArraysByName) {
  const Bytes x = npy_file(npy_dictionary("|u1", "(300,)"), counting_bytes(300, 3));
  const Bytes y = npy_file(npy_dictionary("<i4", "(2,)"), numbers<int32_t>({4, 5}));
  for (const bool zip64 : {false, true}) {
    const Bytes archive = zip_archive(
        {{"x_train.npy", x, true}, {"note.txt", {1}, false}, {"y.npy", y, false}}, zip64);
    const auto arrays = data::parse_npz(archive, "a.npz");
    ASSERT_EQ(arrays.size(), 2u);
    EXPECT_EQ(arrays.at("x_train").u8()[299], 299 % 3);
    EXPECT_EQ(arrays.at("y").i32()[1], 5);
  }
  EXPECT_TRUE(data::parse_npz(zip_archive({}), "a.npz").empty());
}

TEST(Npz, SaysWhatIsWrong) {
  const auto error = [](const Bytes& file) {
    return error_of<IoError>([&] { data::parse_npz(file, "a.npz"); });
  };
  const Bytes x = npy_file(npy_dictionary("|u1", "(300,)"), counting_bytes(300, 3));
  const Bytes whole = zip_archive({{"x.npy", x, true}});
  EXPECT_SAYS(error({1, 2}), "a.npz", "not a zip archive");
  EXPECT_SAYS(error(Bytes(whole.begin(), whole.end() - 1)), "cut short");
  EXPECT_SAYS(error(zip_archive({{"x.npy", x}, {"x.npy", x}})), "'x' twice");
  EXPECT_SAYS(error(zip_archive({{"x.npy", {1, 2}}})), "a.npz: x.npy", "not a NumPy array");
  const size_t directory = whole.size() - 22 - 46 - 5;
  const auto with = [&](size_t at, uint8_t value) {
    Bytes changed = whole;
    changed[at] = value;
    return error(changed);
  };
  EXPECT_SAYS(with(directory, 'x'), "damaged", "member 0 of 1");
  EXPECT_SAYS(with(directory + 8, 1), "encrypted");
  EXPECT_SAYS(with(directory + 10, 12), "method 12");
  EXPECT_SAYS(with(directory + 10, 0), "damaged");  // stored, but smaller than it says
  EXPECT_SAYS(with(directory + 16, static_cast<uint8_t>(whole[directory + 16] + 1)), "checksum");
  EXPECT_SAYS(with(directory + 24, static_cast<uint8_t>(whole[directory + 24] + 1)), "unpacked");
  EXPECT_SAYS(with(directory + 45, 1), "outside");  // the offset of the local header
  EXPECT_SAYS(with(directory + 42, 1), "no member at");
  EXPECT_SAYS(with(whole.size() - 3, 9), "outside");  // the offset of the directory
  Bytes wide = zip_archive({{"x.npy", x}}, true);
  wide[wide.size() - 22 - 20 - 56] = 0;
  EXPECT_SAYS(error(wide), "expected its directory");
}

TEST(ForeignNumpy, WritesWhatWeRead) {
  const TempFolder folder;
  const auto made = testing_support::run_python("numpy_check.py", "write '" + folder.path() + "'");
  if (made.exit_code == testing_support::kMissingPackage) GTEST_SKIP() << "no numpy in Python";
  ASSERT_EQ(made.exit_code, 0);
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    const std::string path = entry.path().string();
    if (entry.path().extension() == ".npy") {
      const Tensor tensor = load_npy(path);
      ASSERT_EQ(tensor.shape(), Shape({3, 4, 2})) << path;
      for (size_t i = 0; i < 24; ++i) {
        const bool flag = path.find("bool") != std::string::npos;
        ASSERT_EQ(values_of(tensor)[i], static_cast<float>(flag ? i % 2 : i)) << path;
      }
    } else {
      const auto arrays = load_npz(path);
      ASSERT_EQ(arrays.size(), 2u) << path;
      EXPECT_EQ(arrays.at("x_train").shape(), Shape({5, 3}));
      EXPECT_EQ(arrays.at("y_train").i32()[4], 4);
    }
    ++files;
  }
  EXPECT_GT(files, 40);
}

TEST(ForeignNumpy, ReadsWhatWeWrite) {
  const TempFolder folder;
  save_npy(folder.path("f32.npy"), Tensor::of_f32({2, 2}, {1.5f, -2, 0, 4}));
  save_npy(folder.path("i32.npy"), Tensor::of_i32({3}, {1, -7, 9}));
  Tensor bytes(DType::u8, {2, 1, 2});
  bytes.u8()[3] = 255;
  save_npy(folder.path("u8.npy"), bytes);
  save_npy(folder.path("scalar.npy"), Tensor::of_f32({}, {2}));
  const auto read = testing_support::run_python("numpy_check.py", "read '" + folder.path() + "'");
  if (read.exit_code == testing_support::kMissingPackage) GTEST_SKIP() << "no numpy in Python";
  EXPECT_EQ(read.exit_code, 0);
  EXPECT_EQ(read.output,
            "f32 float32 [[1.5, -2.0], [0.0, 4.0]]\ni32 int32 [1, -7, 9]\n"
            "scalar float32 2.0\nu8 uint8 [[[0, 0]], [[0, 255]]]\n");
}

}  // namespace
}  // namespace pando
