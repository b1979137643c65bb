// Measuring the pipelines of data sets: checks which stages there are and what they count, never a
// time.
// SPDX-License-Identifier: MIT
#include "pando/datasets/tools/benchmark.h"

#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "pando/data/sources/cosmoflow.h"
#include "pando/data/tfrecord/example.h"
#include "tests/data/cifar_files.h"
#include "tests/data/record_files.h"
#include "tests/data/test_images.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

constexpr DataBenchmarkOptions kShort = {.workers = 2, .seconds = 0.01, .batch_size = 4};

// Checks that all figures are plausible and returns the names of the stages.
std::vector<std::string> stages_of(const DataBenchmarkReport& report) {
  std::vector<std::string> names;
  for (const int workers : {1, 2}) {
    double shares = 0;
    for (const StageRate& stage : report.stages) {
      if (stage.workers != workers) continue;
      if (workers == 1) names.push_back(stage.stage);
      EXPECT_GT(stage.samples, 0) << stage.stage;
      EXPECT_GT(stage.seconds, 0) << stage.stage;
      EXPECT_GT(stage.bytes_in, 0) << stage.stage;
      EXPECT_GT(stage.bytes_out, 0) << stage.stage;
      EXPECT_GE(stage.share, 0) << stage.stage;
      EXPECT_FALSE(stage.what.empty()) << stage.stage;
      EXPECT_NEAR(stage.samples_per_second() * stage.ms_per_sample(), 1000, 1e-6);
      shares += stage.share;
    }
    EXPECT_NEAR(shares, 1, 1e-9) << workers;
  }
  EXPECT_EQ(report.stages.size(), 2 * names.size());
  EXPECT_EQ(report.copies.size(), 2u);
  EXPECT_GT(report.copies.at(1).bytes_per_second, 0);
  return names;
}

// The bytes per sample in the first measurement of a stage.
double bytes_per_sample(const DataBenchmarkReport& report, const std::string& name, bool in) {
  for (const StageRate& stage : report.stages) {
    if (stage.stage != name) continue;
    return (in ? stage.bytes_in : stage.bytes_out) / static_cast<double>(stage.samples);
  }
  return 0;
}

using Names = std::vector<std::string>;

TEST(BenchmarkDataset, Mnist) {
  const TempFolder folder;
  for (const char* part : {"train", "t10k"}) {
    folder.write(concat(part, "-images-idx3-ubyte"),
                 idx_header(8, {10, 2, 2}) + counting_bytes(40));
    folder.write(concat(part, "-labels-idx1-ubyte"), idx_header(8, {10}) + counting_bytes(10));
  }
  DataBenchmarkOptions options = kShort;
  options.batch_size = int64_t{1} << 60;  // more than there are samples
  const DataBenchmarkReport report = benchmark_dataset("fashion_mnist", folder.path(), options);
  EXPECT_EQ(stages_of(report), (Names{"gather", "batch"}));
  EXPECT_EQ(report.format, "fashion_mnist");
  EXPECT_EQ(report.samples, 10);
  EXPECT_EQ(bytes_per_sample(report, "gather", true), 4 + 4);
  EXPECT_EQ(bytes_per_sample(report, "gather", false), 4 * 4 + 4);
}

TEST(BenchmarkDataset, Cifar) {
  const TempFolder folder;
  write_cifar10_binary(folder.path(), random_files());
  const DataBenchmarkReport report = benchmark_dataset("cifar10", folder.path(), kShort);
  EXPECT_EQ(stages_of(report), (Names{"gather", "augment", "batch"}));
  EXPECT_EQ(bytes_per_sample(report, "augment", true), 3072 + 4);
  EXPECT_EQ(bytes_per_sample(report, "augment", false), 4 * 3072 + 4);

  const TempFolder other;
  write_cifar100_python(other.path(), random_files(100));
  const DataBenchmarkReport large = benchmark_dataset(
      "cifar100", other.path(), {.workers = 1, .seconds = 0.01, .batch_size = int64_t{1} << 60});
  EXPECT_EQ(large.batch_size, 13);  // all samples
  EXPECT_EQ(large.stages.size(), 3u);
}

TEST(BenchmarkDataset, ImageFolder) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.path("cat"));
  const Bytes jpeg = encode_jpeg(soft_image({60, 50}).view());
  for (int i = 0; i < 3; ++i) folder.write(concat("cat/", i), jpeg);
  const DataBenchmarkReport report = benchmark_dataset("image_folder", folder.path(), kShort);
  EXPECT_EQ(stages_of(report), (Names{"read", "decode", "augment", "batch"}));
  EXPECT_EQ(bytes_per_sample(report, "read", false), static_cast<double>(jpeg.size()));
  EXPECT_EQ(bytes_per_sample(report, "decode", true), static_cast<double>(jpeg.size()));
  EXPECT_EQ(bytes_per_sample(report, "augment", false), 224 * 224 * 3 * 4);
}

TEST(BenchmarkDataset, Cosmoflow) {
  const TempFolder folder;
  make_cosmoflow(folder.path(), {.train = 3, .validation = 1, .shape = {4, 4, 4, 4}});
  const DataBenchmarkReport report = benchmark_dataset("cosmoflow", folder.path(), kShort);
  EXPECT_EQ(stages_of(report), (Names{"read", "check", "parse", "augment", "batch"}));
  EXPECT_EQ(report.samples, 3);
  EXPECT_GT(bytes_per_sample(report, "check", false), 512);
  EXPECT_EQ(bytes_per_sample(report, "augment", false), 4 * 256 + 4 * 4);
}

TEST(BenchmarkDataset, Tfrecord) {
  const TempFolder folder;
  const Bytes example = ExampleBuilder().text("name", "x").encode();
  folder.write("a.tfrecord", records({example, example}));
  folder.write("b.tfrecord", gzip(records({example, example, example})));
  const DataBenchmarkReport report = benchmark_dataset("tfrecord", folder.path(), kShort);
  EXPECT_EQ(stages_of(report), (Names{"read", "check", "parse"}));
  EXPECT_EQ(report.samples, 5);
  EXPECT_EQ(bytes_per_sample(report, "parse", true), static_cast<double>(example.size()));
}

TEST(BenchmarkDataset, BadFilesAreErrors) {
  const TempFolder folder;
  Bytes content = records({bytes_of("0123456789")});
  content[14] ^= 1;
  folder.write("a.tfrecord", content);
  EXPECT_SAYS(
      error_of<IoError>([&] { benchmark_dataset("tfrecord", folder.path("a.tfrecord"), kShort); }),
      "a.tfrecord", "byte 0", "crc", "10 bytes");
  EXPECT_THROW(benchmark_dataset("cosmoflow", folder.path("none"), kShort), IoError);
}

TEST(BenchmarkDataset, RefusesWhatMakesNoSense) {
  const auto refused = [](const DataBenchmarkOptions& options) {
    return error_of([&] { benchmark_dataset("mnist", "x", options); });
  };
  EXPECT_SAYS(refused({.workers = 0}), "benchmark: 0 workers");
  EXPECT_SAYS(refused({.seconds = 0}), "benchmark: 0 seconds");
  EXPECT_SAYS(refused({.seconds = std::nan("")}), "benchmark: nan seconds");
  EXPECT_SAYS(refused({.batch_size = 0}), "benchmark", "size 0");
  EXPECT_SAYS(error_of([] { benchmark_dataset("x", "y"); }), "'x'");
}

}  // namespace
}  // namespace pando
