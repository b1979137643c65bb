#include "pando/data/sources/cifar/cifar.h"

#include <algorithm>
#include <array>
#include <functional>

#include <gtest/gtest.h>

#include "pando/data/sources/cifar/batch.h"
#include "pando/data/sources/gzip.h"
#include "tests/data/cifar_files.h"
#include "tests/data/idx_files.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using data::CifarKind;

std::string io_error(const std::function<void()>& call) {
  return testing_support::error_of<IoError>(call);
}

std::string binary_error(const Bytes& content, CifarKind kind = CifarKind::cifar10) {
  return io_error([&] { data::parse_cifar_binary(content, "file", kind); });
}

TEST(Cifar, RoundTripsInBothVersions) {
  const CifarFiles files = random_files();
  const CifarFiles many = random_files(100);
  for (const bool python : {false, true}) {
    const TempFolder directory;
    (python ? write_cifar10_python : write_cifar10_binary)(directory.path("a/b"), files);
    const CifarFiles back = read_cifar10(directory.path("a/b"));
    EXPECT_TRUE(same_images(back.train, files.train));
    EXPECT_TRUE(same_images(back.test, files.test));
    (python ? write_cifar100_python : write_cifar100_binary)(directory.path("c"), many);
    const CifarFiles many_back = read_cifar100(directory.path("c"));
    EXPECT_TRUE(same_images(many_back.train, many.train));
    EXPECT_TRUE(same_images(many_back.test, many.test));
  }
}

TEST(Cifar, ARecordIsLabelAndPlanes) {
  const TempFolder directory;
  const CifarFiles files = random_files();
  write_cifar10_binary(directory.path(), files);
  // 13 images over five files: 2, 3, 2, 3, 3.
  const Bytes second = data::read_file(directory.path("data_batch_2.bin"));
  ASSERT_EQ(second.size(), 3 * 3073u);
  EXPECT_EQ(second[0], files.train.labels.i32()[2]);
  const auto pixels = files.train.images.u8().subspan(2 * 3072, 3072);
  for (const size_t pixel : {0u, 1u, 32u, 1023u}) {
    for (size_t colour = 0; colour < 3; ++colour) {
      EXPECT_EQ(second[1 + colour * 1024 + pixel], pixels[3 * pixel + colour]);
    }
  }
  EXPECT_EQ(data::read_file(directory.path("batches.meta.txt")).size(), 60u);
}

TEST(Cifar, LoadsAsBytesOrNumbers) {
  const TempFolder directory;
  const CifarFiles files = random_files();
  write_cifar10_binary(directory.path(), files);
  const TrainTest real = load_cifar10(directory.path());
  const TrainTest bytes = load_cifar10(directory.path(), {.x = DType::u8});
  EXPECT_EQ(to_string(real.train.fields()), "x f32[32,32,3], y i32[]");
  EXPECT_EQ(to_string(bytes.test.fields()), "x u8[32,32,3], y i32[]");
  EXPECT_EQ(real.classes, 10);
  EXPECT_EQ(real.train.size(), 13);
  EXPECT_EQ(real.test.size(), 4);
  const uint8_t byte = files.train.images.u8()[5 * 3072 + 7];
  EXPECT_EQ(bytes.train.get(5).x().u8()[7], byte);
  EXPECT_EQ(real.train.get(5).x().f32()[7], static_cast<float>(byte) * (1.0f / 255.0f));
  EXPECT_EQ(real.train.get(5).y().i32()[0], files.train.labels.i32()[5]);
  EXPECT_SAYS(testing_support::error_of([&] { load_cifar10(directory.path(), {.x = DType::i32}); }),
              "CIFAR", "i32", "f32 or u8");
}

TEST(Cifar, CoarseLabelsOfCifar100) {
  const TempFolder directory;
  const CifarFiles files = random_files(100);
  write_cifar100_binary(directory.path(), files);
  const TrainTest fine = load_cifar100(directory.path());
  const TrainTest coarse = load_cifar100(directory.path(), {.labels = CifarLabels::coarse});
  EXPECT_EQ(fine.classes, 100);
  EXPECT_EQ(coarse.classes, 20);
  EXPECT_EQ(fine.train.get(3).y().i32()[0], files.train.labels.i32()[3]);
  EXPECT_EQ(coarse.train.get(3).y().i32()[0], files.train.coarse_labels.i32()[3]);
  EXPECT_SAYS(testing_support::error_of(
                  [&] { load_cifar10(directory.path(), {.labels = CifarLabels::coarse}); }),
              "CIFAR-10", "coarse");
}

TEST(Cifar, FindsTheFolderOfTheArchive) {
  const TempFolder directory;
  write_cifar10_python(directory.path("cifar-10-batches-py"), random_files());
  EXPECT_EQ(load_cifar10(directory.path()).train.size(), 13);
  // The binary version comes first.
  make_cifar10(directory.path(), {.train = 20, .test = 10});
  EXPECT_EQ(load_cifar10(directory.path()).train.size(), 20);
  EXPECT_EQ(load_cifar10(directory.path("cifar-10-batches-py")).train.size(), 13);
  write_cifar100_binary(directory.path("cifar-100-binary"), random_files(100));
  EXPECT_EQ(load_cifar100(directory.path()).test.size(), 4);
}

TEST(Cifar, SaysWhichFilesAreMissingAndWhatHelps) {
  const TempFolder directory;
  EXPECT_SAYS(io_error([&] { load_cifar10("/absent"); }), "/absent", "data_batch_1.bin",
              "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin",
              "test_batch.bin", "cifar-10-batches-bin", "cifar-10-batches-py",
              "cifar-10-binary.tar.gz", "https://www.cs.toronto.edu/~kriz/cifar.html", "unpack",
              "name");
  directory.write("cifar-100-python.tar.gz", {1});
  EXPECT_SAYS(io_error([&] { load_cifar100(directory.path()); }), directory.path(), "train.bin",
              "test.bin", "cifar-100-binary", "unpack", "cifar-100-python.tar.gz");
  write_cifar10_binary(directory.path("cifar-10-batches-bin"), random_files());
  std::filesystem::remove(directory.path("cifar-10-batches-bin/data_batch_3.bin"));
  std::filesystem::remove(directory.path("cifar-10-batches-bin/test_batch.bin"));
  EXPECT_SAYS(io_error([&] { load_cifar10(directory.path()); }),
              directory.path("cifar-10-batches-bin"), "data_batch_1.bin", "data_batch_2.bin",
              "data_batch_4.bin", "data_batch_5.bin", "data_batch_3.bin", "test_batch.bin",
              "cifar-10-binary.tar.gz");
}

TEST(Cifar, LengthsAndLabelsOfTheBinaryVersion) {
  EXPECT_SAYS(binary_error({}), "offset 0", "0 bytes", "0 records", "3073 bytes");
  EXPECT_SAYS(binary_error(Bytes(3075)), "offset 3073", "2 bytes", "1 records", "3073 bytes");
  EXPECT_SAYS(binary_error(gzip(Bytes(3073))), "compressed", "gzip", "unpack");
  Bytes content(2 * 3073);
  content[3073] = 10;
  EXPECT_SAYS(binary_error(content), "offset 3073", "label 10", "0 to 9");
  Bytes fine(2 * 3074);
  fine[3074] = 20;
  EXPECT_SAYS(binary_error(fine, CifarKind::cifar100), "offset 3074", "label 20", "0 to 19");
  fine[3074] = 19;
  fine[3075] = 100;
  EXPECT_SAYS(binary_error(fine, CifarKind::cifar100), "offset 3075", "label 100", "0 to 99");
  for (size_t kept = 1; kept < content.size(); kept += kept < 3080 ? 7 : 331) {
    if (kept == 3073) continue;
    EXPECT_SAYS(binary_error(Bytes(kept)), "3073 bytes") << kept;
  }
}

TEST(Cifar, ErrorsNameTheFile) {
  const TempFolder directory;
  write_cifar10_binary(directory.path(), random_files());
  Bytes content = data::read_file(directory.path("data_batch_4.bin"));
  content[3073] = 200;
  const std::string path = directory.write("data_batch_4.bin", content);
  EXPECT_SAYS(io_error([&] { load_cifar10(directory.path()); }), path, "offset 3073", "label 200",
              "0 to 9");
}

TEST(Cifar, BadRecordsCanBeLeftOut) {
  const TempFolder directory;
  const CifarFiles files = random_files(100);
  write_cifar100_binary(directory.path(), files);
  Bytes content = data::read_file(directory.path("train.bin"));
  content[3074 * 2] = 20;       // a coarse label
  content[3074 * 5 + 1] = 100;  // a fine label
  content.resize(content.size() + 7);
  const std::string path = directory.write("train.bin", content);
  std::vector<BadRecord> skipped;
  const TrainTest sets = load_cifar100(directory.path(), {.x = DType::u8, .skipped = &skipped});
  EXPECT_EQ(sets.train.size(), 11);
  EXPECT_EQ(sets.test.size(), 4);
  ASSERT_EQ(skipped.size(), 3u);
  EXPECT_EQ(std::ranges::count(skipped, path, &BadRecord::file), 3);
  EXPECT_EQ(std::ranges::count(skipped, 3074u * 2, &BadRecord::offset), 1);
  EXPECT_EQ(std::ranges::count(skipped, 3074u * 5 + 1, &BadRecord::offset), 1);
  const Sample third = sets.train.get(2);  // image 3 of the file
  EXPECT_EQ(third.y().i32()[0], files.train.labels.i32()[3]);
  EXPECT_TRUE(std::ranges::equal(third.x().u8(), files.train.images.u8().subspan(3 * 3072, 3072)));
}

// The labels come before the images in the file, as in the official one.
TEST(Cifar, ATruncatedPickleGivesTheImagesBeforeTheCut) {
  const TempFolder directory;
  const CifarFiles files = random_files(100);
  write_cifar100_python(directory.path(), files);
  const Bytes whole = data::read_file(directory.path("train"));
  for (const size_t missing : {1u, 600u, 4000u, 20000u, 35000u}) {
    SCOPED_TRACE(missing);
    const std::string path = directory.write(
        "train", Bytes(whole.begin(), whole.end() - static_cast<std::ptrdiff_t>(missing)));
    EXPECT_SAYS(io_error([&] { load_cifar100(directory.path()); }), path, "truncated");
    std::vector<BadRecord> skipped;
    const TrainTest sets = load_cifar100(directory.path(), {.x = DType::u8, .skipped = &skipped});
    ASSERT_EQ(skipped.size(), 1u);
    EXPECT_EQ(skipped[0].file, path);
    EXPECT_SAYS(skipped[0].why, "truncated", concat(sets.train.size(), " of 13 images"));
    EXPECT_GE(sets.train.size(), 13 - static_cast<int64_t>(missing / 3072) - 1);
    for (int64_t i = 0; i < sets.train.size(); ++i) {
      const Sample sample = sets.train.get(i);
      EXPECT_EQ(sample.y().i32()[0], files.train.labels.i32()[static_cast<size_t>(i)]);
      EXPECT_TRUE(std::ranges::equal(
          sample.x().u8(), files.train.images.u8().subspan(static_cast<size_t>(i) * 3072, 3072)));
    }
  }
  directory.write("train", Bytes(whole.begin(), whole.begin() + 200));  // no image is whole
  std::vector<BadRecord> skipped;
  EXPECT_SAYS(io_error([&] { load_cifar100(directory.path(), {.skipped = &skipped}); }),
              "truncated");
}

TEST(Cifar, NamesAreInOrder) {
  EXPECT_EQ(cifar10_names().size(), 10u);
  EXPECT_EQ(cifar10_names()[8], "ship");
  EXPECT_EQ(cifar100_names().size(), 100u);
  EXPECT_TRUE(std::ranges::is_sorted(cifar100_names()));
  EXPECT_EQ(cifar100_coarse_names().size(), 20u);
  EXPECT_TRUE(std::ranges::is_sorted(cifar100_coarse_names()));
}

TEST(WriteCifar, RefusesWhatTheFilesCannotHold) {
  const TempFolder directory;
  const auto error = [&](const std::function<void(CifarFiles&)>& spoil, int32_t classes = 10) {
    CifarFiles files = random_files(classes);
    spoil(files);
    const auto write = classes == 10 ? write_cifar10_binary : write_cifar100_python;
    return testing_support::error_of([&] { write(directory.path("out"), files); });
  };
  EXPECT_SAYS(error([](CifarFiles& files) { files.train = random_images(4, 1); }), "CIFAR",
              "u8[4,32,32,3]", "[count,32,32,3]", "at least 5");
  EXPECT_SAYS(error([](CifarFiles& files) {
                files.test.images = Tensor(DType::u8, {4, 3072});
              }),
              "images are u8[4,3072]");
  EXPECT_SAYS(error([](CifarFiles& files) { files.test.labels = Tensor(DType::i32, {3}); }),
              "CIFAR", "i32[3]", "i32[4]");
  EXPECT_SAYS(error([](CifarFiles& files) { files.test.labels.i32()[1] = 10; }), "CIFAR", "10",
              "image 1", "0 to 9");
  EXPECT_SAYS(error([](CifarFiles& files) { files.train.coarse_labels.i32()[2] = -1; }, 100),
              "CIFAR", "coarse", "image 2", "0 to 19");
  EXPECT_FALSE(std::filesystem::exists(directory.path("out")));
}

TEST(WriteCifar, SaysWhatCannotBeWritten) {
  const TempFolder directory;
  const std::string file = directory.write("file", {1});
  EXPECT_SAYS(io_error([&] { write_cifar10_binary(file + "/sub", random_files()); }),
              "cannot make the folder");
  std::filesystem::create_directories(directory.path("test_batch.bin/full"));
  EXPECT_SAYS(io_error([&] { write_cifar10_binary(directory.path(), random_files()); }),
              "test_batch.bin");
}

TEST(MakeCifar, IsAPureFunctionOfItsOptions) {
  const CifarFiles a = make_cifar10_images({.train = 30, .test = 20, .seed = 3});
  EXPECT_TRUE(same_images(a.train, make_cifar10_images({.train = 30, .test = 9, .seed = 3}).train));
  EXPECT_FALSE(
      same_images(a.train, make_cifar10_images({.train = 30, .test = 9, .seed = 4}).train));
  std::array<int, 10> counts{};
  for (const int32_t label : a.train.labels.i32()) ++counts[static_cast<size_t>(label)];
  for (const int count : counts) EXPECT_EQ(count, 3);
  EXPECT_SAYS(testing_support::error_of([] { make_cifar10_images({.train = 4}); }), "4 training",
              "500 test", "at least 5");
}

TEST(MakeCifar, WritesTheOfficialLayout) {
  for (const bool python : {false, true}) {
    const TempFolder directory;
    const MakeCifarOptions options{.train = 12, .test = 3, .seed = 1, .python = python};
    const std::string folder = make_cifar10(directory.path(), options);
    EXPECT_EQ(folder, directory.path(python ? "cifar-10-batches-py" : "cifar-10-batches-bin"));
    EXPECT_TRUE(
        same_images(read_cifar10(directory.path()).test, make_cifar10_images(options).test));
  }
}

}  // namespace
}  // namespace pando
