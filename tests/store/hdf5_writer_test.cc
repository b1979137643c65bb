#include "pando/store/hdf5_writer.h"

#include <thread>

#include "pando/store/hdf5_reader.h"
#include "tests/store/store_support.h"

namespace pando::store {
namespace {

void save(Hdf5Writer& hdf5, const std::string& path) {
  const std::span<const std::byte> bytes = hdf5.finish();
  write_bytes(path, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

TEST(Hdf5Writer, ReadsWhatItWrote) {
  const TempFolder dir;
  const std::string path = dir.path("a.h5");
  {
    Hdf5Writer hdf5 = Hdf5Writer::create(path, 0);
    hdf5.write_tensor("/a/b/c", Tensor::of_f32({2}, {1, 2}));
    hdf5.write_tensor("/scalar", Tensor::of_i32({}, {3}));
    hdf5.write_tensor("/none", Tensor(DType::u8, {0, 4}));
    hdf5.write_strings("/a", "names", {"x", "longer", ""});
    hdf5.write_strings("/a", "no_names", {});
    hdf5.write_string("/", "empty", "");
    hdf5.write_string("/", "large", std::string(200000, 'z'));
    EXPECT_FALSE(std::filesystem::exists(path));
    save(hdf5, path);
  }
  Hdf5Reader hdf5(path);
  EXPECT_TRUE(hdf5.exists("/a/b"));
  EXPECT_FALSE(hdf5.exists("/a/x/y"));
  EXPECT_EQ(hdf5.read_tensor("/a/b/c").f32()[1], 2.0f);
  EXPECT_EQ(hdf5.read_tensor("/scalar").i32()[0], 3);
  EXPECT_EQ(hdf5.read_tensor("/none").shape(), (Shape{0, 4}));
  EXPECT_EQ(hdf5.read_strings("/a", "names"), (std::vector<std::string>{"x", "longer", ""}));
  EXPECT_TRUE(hdf5.read_strings("/a", "no_names").empty());
  EXPECT_TRUE(hdf5.has_attribute("/", "empty"));
  EXPECT_FALSE(hdf5.has_attribute("/", "full"));
  const auto attributes = hdf5.string_attributes("/");
  EXPECT_EQ(attributes.size(), 2u);
  EXPECT_EQ(attributes.at("large"), std::string(200000, 'z'));
}

TEST(Hdf5Writer, KeepsHalfAndWidensBrainFloat) {
  const TempFolder dir;
  const Tensor values = Tensor::of_f32({3}, {1.5F, -0.0009765625F, 65504});
  {
    Hdf5Writer hdf5 = Hdf5Writer::create(dir.path("a.h5"), 0);
    hdf5.write_tensor("/half", cast(values, DType::f16));
    hdf5.write_tensor("/brain", cast(values, DType::bf16));
    save(hdf5, dir.path("a.h5"));
  }
  Hdf5Reader hdf5(dir.path("a.h5"));
  const Tensor half = hdf5.read_tensor("/half");
  ASSERT_EQ(half.dtype(), DType::f16);
  EXPECT_EQ(difference(cast(half, DType::f32), values).absolute, 0);
  const Tensor brain = hdf5.read_tensor("/brain");
  ASSERT_EQ(brain.dtype(), DType::f32);
  EXPECT_EQ(brain.f32()[1], -0.0009765625F);
  EXPECT_EQ(brain.f32()[2], 65536);
}

TEST(Hdf5Writer, RefusesWrongUse) {
  const TempFolder dir;
  Hdf5Writer hdf5 = Hdf5Writer::create("memory.h5", 0);
  hdf5.write_tensor("/a", Tensor::of_f32({1}, {1}));
  const auto expect_refused = [&](const std::string& cause, const auto& call) {
    const std::string message = message_of<IoError>(call);
    expect_contains(message, "memory.h5");
    expect_contains(message, cause);
  };
  expect_refused("dataset '/a'", [&] { hdf5.write_tensor("/a", Tensor::of_f32({1}, {1})); });
  expect_refused("'/a/b'", [&] { hdf5.make_group("/a/b"); });
}

TEST(Hdf5Writer, ThreadsTakeTurns) {
  const TempFolder dir;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&dir, t] {
      const std::string path = dir.path(concat(t, ".h5"));
      for (int round = 0; round < 20; ++round) {
        WeightsFile file = small_example();
        file.layers[1].weights[1].value.f32()[0] = static_cast<float>(t);
        write_weights_file(path, file);
        expect_same_layers(read_weights_file(path), file);
      }
    });
  }
}

}  // namespace
}  // namespace pando::store
