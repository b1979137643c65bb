// Compares images with those that torchvision's data sets read, if it is installed.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "pando/data/image/decode.h"
#include "pando/data/image/mask.h"
#include "pando/data/image/png.h"
#include "pando/data/sources/gzip.h"
#include "pando/data/sources/image_folder.h"
#include "pando/data/sources/mnist.h"
#include "tests/data/foreign_software.h"
#include "tests/data/test_images.h"

namespace pando {
namespace {

namespace fs = std::filesystem;
using testing_support::kMissingPackage;
using testing_support::run_python;

constexpr const char* kNoTorchvision =
    "no torchvision in Python; on Debian install python3-torchvision";

// The line that torchvision_check.py prints for a sample.
std::string shown(int32_t label, const std::string& name, const ImageView& image) {
  int64_t sum = 0;
  for (size_t i = 0; i < image.bytes(); ++i) {
    sum += image.pixels[i] * static_cast<int64_t>((i + 1) % 1009);
  }
  const std::string total = name.ends_with("jpg") ? "-" : std::to_string(sum);
  return concat(label, " ", name, " ", image.size.height, " ", image.size.width, " ", total, "\n");
}

TEST(ForeignImages, TorchvisionReadsOurFoldersAsWeDo) {
  const TempFolder directory;
  for (const char* name : {"zebra", "Ant", "cat"}) fs::create_directories(directory.path(name));
  directory.write("zebra/10.png", encode_png(soft_image({20, 31}).view()));
  directory.write("zebra/9.jpg", encode_jpeg(soft_image({33, 17}).view()));
  directory.write("Ant/a.png", encode_png(soft_image({5, 4}, 1).view()));
  directory.write("cat/B.jpg", encode_jpeg(soft_image({40, 40}).view(), {.progressive = true}));
  directory.write("cat/a.jpg", encode_jpeg(soft_image({16, 16}, 1).view()));
  directory.write("cat/.left_out", {1});
  const auto result = run_python("torchvision_check.py", "folder '" + directory.path() + "'");
  if (result.exit_code == kMissingPackage) GTEST_SKIP() << kNoTorchvision;
  ASSERT_EQ(result.exit_code, 0);
  const ImageFolder folder = load_image_folder(directory.path());
  std::string ours;
  for (size_t i = 0; i < folder.files.size(); ++i) {
    const Image image = decode_image(data::read_file(folder.files[i]), folder.files[i]);
    ours += shown(folder.dataset.get(static_cast<int64_t>(i)).y().i32()[0],
                  fs::relative(folder.files[i], directory.path()), image.view());
  }
  EXPECT_EQ(result.output, ours);
}

TEST(ForeignImages, PilReadsMasksAsWeDo) {
  const TempFolder directory;
  const auto result = run_python("pil_masks.py", "'" + directory.path() + "'");
  if (result.exit_code == kMissingPackage) GTEST_SKIP() << "no PIL or numpy in Python";
  ASSERT_EQ(result.exit_code, 0);
  int masks = 0;
  for (const auto& entry : fs::directory_iterator(directory.path())) {
    if (entry.path().extension() != ".png") continue;
    Image mask;
    read_mask(data::read_file(entry.path()), entry.path(), {}, mask);
    EXPECT_EQ(mask.size, (ImageSize{23, 37}));
    EXPECT_EQ(mask.pixels, read_bytes(fs::path(entry.path()).replace_extension(".raw"))) << entry;
    ++masks;
  }
  EXPECT_EQ(masks, 10);
}

TEST(ForeignImages, TorchvisionReadsFashionMnistAsWeDo) {
  const std::string folder = kFashionMnistDirectory;
  if (!fs::exists(folder)) GTEST_SKIP() << "no " << folder << "; install dataset-fashion-mnist";
  const auto result = run_python("torchvision_check.py", "idx " + folder);
  if (result.exit_code == kMissingPackage) GTEST_SKIP() << kNoTorchvision;
  ASSERT_EQ(result.exit_code, 0);
  const Dataset test = load_fashion_mnist(folder).test;
  std::string ours;
  Image image({28, 28}, 1);
  for (int64_t i = 0; i < test.size(); ++i) {
    const Sample sample = test.get(i);
    std::ranges::transform(sample.x().f32(), image.pixels.begin(), [](float value) {
      return static_cast<uint8_t>(std::lround(value * 255));
    });
    ours += shown(sample.y().i32()[0], "-", image.view());
  }
  EXPECT_EQ(result.output, ours);
}

}  // namespace
}  // namespace pando
