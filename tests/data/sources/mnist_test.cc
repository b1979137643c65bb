#include "pando/data/sources/mnist.h"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "tests/data/counting.h"
#include "tests/data/idx_files.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

Bytes images(uint32_t count, uint32_t height = 3) {
  return idx_header(0x08, {count, height, 2}) + counting_bytes(size_t{count} * height * 2);
}

Bytes digit_labels(uint32_t count) { return idx_header(0x08, {count}) + counting_bytes(count, 10); }

// Four small files that form a data set.
void write_all(const TempFolder& directory) {
  directory.write("train-images-idx3-ubyte", images(12));
  directory.write("train-labels-idx1-ubyte.gz", gzip(digit_labels(12)));
  directory.write("t10k-images-idx3-ubyte.gz", gzip(images(4)));
  directory.write("t10k-labels-idx1-ubyte", digit_labels(4));
}

TEST(Mnist, ReadsTheFourFiles) {
  const TempFolder directory;
  write_all(directory);
  const TrainTest sets = load_mnist(directory.path());
  EXPECT_EQ(sets.classes, 10);
  EXPECT_EQ(sets.train.size(), 12);
  EXPECT_EQ(sets.test.size(), 4);
  EXPECT_EQ(to_string(sets.train.fields()), "x f32[3,2,1], y i32[]");
  EXPECT_EQ(sets.train.get(2).x().f32()[1], 13.0f * (1.0f / 255.0f));
  EXPECT_EQ(sets.train.get(11).y().i32()[0], 1);
}

TEST(Mnist, SaysWhichFilesAreMissingAndWhatHelps) {
  const TempFolder directory;
  write_all(directory);
  std::filesystem::remove(directory.path("t10k-labels-idx1-ubyte"));
  EXPECT_SAYS(error_of<IoError>([&] { load_fashion_mnist(directory.path()); }), directory.path(),
              "t10k-labels-idx1-ubyte", ".gz", "'apt-get install dataset-fashion-mnist'",
              "/usr/share/datasets/fashion-mnist", "'pando data fetch fashion_mnist'", "name");
  EXPECT_SAYS(error_of<IoError>([] { load_mnist("/absent"); }), "/absent",
              "train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
              "t10k-labels-idx1-ubyte", ".gz", "'pando data fetch mnist'", "name");
  EXPECT_NE(error_of<IoError>([] { load_mnist_like("/absent"); }).find("put them there"),
            std::string::npos);
}

TEST(Mnist, CountsMustAgree) {
  const TempFolder directory;
  write_all(directory);
  const std::string path = directory.write("t10k-labels-idx1-ubyte", digit_labels(5));
  EXPECT_SAYS(error_of<IoError>([&] { load_mnist(directory.path()); }), path, "5 labels",
              directory.path("t10k-images-idx3-ubyte.gz"));
}

TEST(Mnist, ImagesAndLabelsMustBeWhatTheyAreCalled) {
  const TempFolder directory;
  write_all(directory);
  const std::string path = directory.write("train-images-idx3-ubyte", digit_labels(12));
  EXPECT_SAYS(error_of<IoError>([&] { load_mnist(directory.path()); }), path, "u8[12]",
              "[count,height,width]");
}

TEST(Mnist, LabelsMustBeClasses) {
  const TempFolder directory;
  write_all(directory);
  EXPECT_SAYS(error_of<IoError>([&] { load_mnist_like(directory.path(), {.classes = 9}); }),
              directory.path("train-labels-idx1-ubyte.gz"), "label 9", "0 to 8");
}

TEST(Mnist, SamplesWithOtherLabelsCanBeLeftOut) {
  const TempFolder directory;
  write_all(directory);  // 12 and 4 samples, labelled 0 to 9, 0, 1 and 0 to 3
  std::vector<BadRecord> skipped;
  const TrainTest sets =
      load_mnist_like(directory.path(), {.classes = 9, .x = DType::u8, .skipped = &skipped});
  EXPECT_EQ(sets.train.size(), 11);
  EXPECT_EQ(sets.test.size(), 4);
  EXPECT_EQ(sets.train.get(9).y().i32()[0], 0);  // the next sample moved up, with its image
  const TrainTest all = load_mnist_like(directory.path(), {.x = DType::u8});
  EXPECT_TRUE(std::ranges::equal(sets.train.get(9).x().u8(), all.train.get(10).x().u8()));
  ASSERT_EQ(skipped.size(), 1u);
  EXPECT_EQ(skipped[0], (BadRecord{directory.path("train-labels-idx1-ubyte.gz"), 8 + 9,
                                   "label 9 is 9, expected 0 to 8"}));
}

TEST(Mnist, BytesOrNumbers) {
  const TempFolder directory;
  write_all(directory);
  const TrainTest bytes = load_mnist(directory.path(), {.x = DType::u8});
  const TrainTest numbers = load_mnist(directory.path());
  EXPECT_EQ(bytes.train.fields()[0].dtype, DType::u8);
  EXPECT_EQ(numbers.train.get(1).x().f32()[0],
            static_cast<float>(bytes.train.get(1).x().u8()[0]) * (1.0f / 255.0f));
  EXPECT_SAYS(error_of([&] { load_mnist(directory.path(), {.x = DType::i32}); }), "MNIST", "i32",
              "f32 or u8");
}

TEST(Mnist, TrainAndTestMustHaveOneSize) {
  const TempFolder directory;
  write_all(directory);
  directory.write("t10k-images-idx3-ubyte.gz", images(4, 5));
  EXPECT_SAYS(error_of<IoError>([&] { load_mnist(directory.path()); }),
              directory.path("t10k-images-idx3-ubyte.gz"),
              directory.path("train-images-idx3-ubyte"), "f32[5,2,1]", "f32[3,2,1]");
}

TEST(FashionMnist, HasTheKnownContents) {
  if (!std::filesystem::exists(kFashionMnistDirectory)) {
    GTEST_SKIP() << "the package dataset-fashion-mnist is not installed";
  }
  const TrainTest sets = load_fashion_mnist();
  EXPECT_EQ(to_string(sets.train.fields()), "x f32[28,28,1], y i32[]");
  for (const auto& [set, each] : {std::pair{&sets.train, 6000}, std::pair{&sets.test, 1000}}) {
    EXPECT_EQ(set->size(), 10 * each);
    std::array<int, 10> histogram{};
    float darkest = 0;
    Batch batch;
    auto stream = set->shuffle({.seed = 1}).batch(512).prefetch(2);
    while (stream.next(batch)) {
      for (const int32_t label : labels(batch)) ++histogram[static_cast<size_t>(label)];
      for (const float value : batch.x().f32()) darkest = std::max(darkest, value);
    }
    for (const int count : histogram) EXPECT_EQ(count, each);
    EXPECT_EQ(darkest, 1.0f);
  }
}

}  // namespace
}  // namespace pando
