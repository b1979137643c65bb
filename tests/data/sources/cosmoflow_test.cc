#include "pando/data/sources/cosmoflow.h"

#include <cmath>

#include <gtest/gtest.h>

#include "pando/data/sources/gzip.h"
#include "pando/data/tfrecord/example.h"
#include "tests/data/record_files.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

const Shape kShape = {2, 3, 2, 1};
const std::vector<int16_t> kCounts = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 300, 32767};
const std::vector<float> kTargets = {0.5f, -0.25f, 1.0f, -1.0f};

CosmoflowDataOptions cosmoflow_options(bool apply_log = true) {
  return {.shape = kShape, .apply_log = apply_log};
}

// A record with valid features by default.
Bytes sample_record(const Bytes& x = Bytes(24, 1), const std::vector<float>& y = kTargets) {
  return record(ExampleBuilder().bytes("x", x).floats("y", y).encode());
}

class CosmoflowTest : public testing::Test {
 protected:
  std::string folder() const { return directory_.path(); }
  void write(const Bytes& bytes, const std::string& name = "a.tfrecord") const {
    directory_.write(name, bytes);
  }
  // The message about the only file, without its path.
  std::string error_of(const CosmoflowDataOptions& how = cosmoflow_options()) const {
    try {
      open_cosmoflow(folder(), how).data.get(0);
    } catch (const BadRecordError& error) {
      EXPECT_TRUE(error.record().file.ends_with("/a.tfrecord"));
      return error.record().why;
    }
    return "no error";
  }
  TempFolder directory_;
};

TEST_F(CosmoflowTest, RoundTripInEveryCompression) {
  for (const auto compression : {Compression::none, Compression::gzip, Compression::zlib}) {
    write_cosmoflow_sample(directory_.path("a.tfrecord"), {kCounts, kTargets}, compression);
    const Dataset data = open_cosmoflow(folder(), cosmoflow_options()).data;
    ASSERT_EQ(data.size(), 1);
    const Sample logs = data.get(0);
    EXPECT_EQ(logs.x().shape(), kShape);
    const Sample scaled = open_cosmoflow(folder(), cosmoflow_options(false)).data.get(0);
    double mean = 0;
    for (const int16_t count : kCounts) mean += count / 12.0;
    for (size_t i = 0; i < kCounts.size(); ++i) {
      EXPECT_FLOAT_EQ(logs.x().f32()[i], std::log(static_cast<float>(kCounts[i]) + 1));
      EXPECT_FLOAT_EQ(scaled.x().f32()[i], static_cast<float>(kCounts[i] / mean));
    }
    EXPECT_EQ(std::vector<float>(logs.y().f32().begin(), logs.y().f32().end()), kTargets);
  }
}

// Bytes written by hand: the little-endian counts 1 and 256.
TEST_F(CosmoflowTest, CountsAreLittleEndian) {
  write(sample_record({1, 0, 0, 1}));
  const Sample sample = open_cosmoflow(folder(), {.shape = {1, 1, 2, 1}}).data.get(0);
  EXPECT_FLOAT_EQ(sample.x().f32()[0], std::log(2.0f));
  EXPECT_FLOAT_EQ(sample.x().f32()[1], std::log(257.0f));
}

TEST_F(CosmoflowTest, FilesComeInTheOrderOfTheirNames) {
  for (const char* name : {"c", "a", "b"}) {
    write(sample_record(Bytes(24, 1), {static_cast<float>(name[0]), 0, 0, 0}),
          concat(name, ".tfrecord"));
  }
  write({1, 2, 3}, "notes.txt");
  const Dataset data = open_cosmoflow(folder(), cosmoflow_options()).data;
  ASSERT_EQ(data.size(), 3);
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(data.get(i).y().f32()[0], static_cast<float>('a' + i));
}

// Copies from some systems have files like ._a.tfrecord beside a.tfrecord.
TEST_F(CosmoflowTest, ClutterIsNoSample) {
  for (const char* name : {"._a.tfrecord", ".tfrecord", ".b.tfrecord", "Thumbs.db"}) {
    write({0, 5, 22, 7}, name);
  }
  const auto open = [&] { return open_cosmoflow(folder(), cosmoflow_options()).data; };
  EXPECT_SAYS(testing_support::error_of<IoError>(open), "found none");
  write(sample_record());
  ASSERT_EQ(open().size(), 1);
  EXPECT_EQ(error_of(), "no error");
}

TEST_F(CosmoflowTest, EveryFaultIsNamed) {
  write(sample_record(Bytes(22, 1)));
  EXPECT_SAYS(error_of(), "byte 0", "'x'", "22 bytes", "24", "12", "int16");
  Bytes negative(24, 1);
  negative[7] = 0xff;
  write(sample_record(negative));
  EXPECT_SAYS(error_of(), "byte 0", "'x'", "count 3", "-255");
  write(sample_record(Bytes(24, 0)));
  EXPECT_EQ(error_of(), "no error");
  EXPECT_SAYS(error_of(cosmoflow_options(false)), "byte 0", "'x'", "mean");
  write(sample_record(Bytes(24, 1), {1, 2, 3}));
  EXPECT_SAYS(error_of(), "byte 0", "tf.train.Example", "'y'", "3 values");
  write(sample_record(Bytes(24, 1), {1, 2, NAN, 3}));
  EXPECT_SAYS(error_of(), "byte 0", "'y'", "value 2", "nan", "finite");
  write(record(ExampleBuilder().ints("x", {1}).encode()));
  EXPECT_SAYS(error_of(), "byte 0", "tf.train.Example", "'x'", "int64_list", "bytes_list");
  write({});
  EXPECT_SAYS(error_of(), "byte 0", "empty");
  write(sample_record() + sample_record());
  EXPECT_SAYS(error_of(), "second record");
  write(header_of_length(1 << 20));
  EXPECT_TRUE(error_of().starts_with("record 0 at byte 0: its length is 1048576 bytes"))
      << error_of();
}

TEST_F(CosmoflowTest, TruncationAndFlipsAtEveryByte) {
  for (const Bytes& whole : {sample_record(), gzip(sample_record())}) {
    const bool plain = whole == sample_record();
    for (size_t at = 0; at < whole.size(); ++at) {
      write(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(at)));
      EXPECT_NE(error_of(), "no error") << at;
      Bytes flipped = whole;
      flipped[at] ^= 0x10;
      write(flipped);
      // Only bits that have no meaning in the gzip format may change without an error.
      if (error_of() == "no error") {
        EXPECT_FALSE(plain) << at;
        EXPECT_EQ(open_cosmoflow(folder(), cosmoflow_options()).data.get(0).y().f32()[0],
                  kTargets[0]);
      }
    }
  }
}

TEST_F(CosmoflowTest, SkipLeavesOutAndLists) {
  write(sample_record(), "a.tfrecord");
  write({1, 2, 3}, "b.tfrecord");
  write(sample_record(Bytes(2)), "c.tfrecord");
  CosmoflowDataOptions skip = cosmoflow_options();
  skip.on_bad_record = OnBadRecord::skip;
  const RecordDataset set = open_cosmoflow(folder(), skip);
  EXPECT_EQ(set.data.size(), 1);
  ASSERT_EQ(set.skipped.size(), 2u);
  EXPECT_TRUE(set.skipped[0].file.ends_with("/b.tfrecord"));
  EXPECT_TRUE(set.skipped[0].why.starts_with("0 complete records, truncated at byte 3"));
  std::filesystem::remove(directory_.path("a.tfrecord"));
  EXPECT_THROW(open_cosmoflow(folder(), skip), IoError);
}

TEST_F(CosmoflowTest, FoldersAndOptionsThatCannotServe) {
  EXPECT_THROW(open_cosmoflow(directory_.path("absent"), cosmoflow_options()), IoError);
  EXPECT_THROW(open_cosmoflow(folder(), cosmoflow_options()), IoError);  // no file
  EXPECT_THROW(open_cosmoflow(folder(), {.shape = {2, 2}}), InvalidArgument);
  EXPECT_THROW(open_cosmoflow(folder(), {.shape = {2, 2, 0, 4}}), InvalidArgument);
  EXPECT_THROW(open_cosmoflow(folder(), {.targets = 0}), InvalidArgument);
  EXPECT_THROW(write_cosmoflow_sample(directory_.path("absent/a"), {kCounts, kTargets}), IoError);
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto mean = [](const std::vector<double>& v) {
    double sum = 0;
    for (const double value : v) sum += value;
    return sum / static_cast<double>(v.size());
  };
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double da = a[i] - mean(a);
    const double db = b[i] - mean(b);
    ab += da * db;
    aa += da * da;
    bb += db * db;
  }
  return ab / std::sqrt(aa * bb);
}

// Statistics that a small network can compute: the level, the contrast, and the differences between
// the halves of the depth and between the channels.
std::array<double, 4> statistics(const Tensor& x) {
  const auto per_plane = static_cast<size_t>(x.shape().elements_from(1));
  const auto depth = static_cast<size_t>(x.shape()[0]);
  double sum = 0;
  double squares = 0;
  double behind = 0;
  double last_channels = 0;
  for (size_t i = 0; i < x.f32().size(); ++i) {
    const double value = x.f32()[i];
    sum += value;
    squares += value * value;
    behind += i / per_plane >= depth / 2 ? value : 0;
    last_channels += i % 4 >= 2 ? value : 0;
  }
  const auto count = static_cast<double>(x.elements());
  const double mean = sum / count;
  return {mean, squares / count / (mean * mean), behind / sum, last_channels / sum};
}

TEST_F(CosmoflowTest, MadeVolumesTellTheirTargets) {
  make_cosmoflow(folder(), {.train = 60, .validation = 2, .shape = {12, 12, 12, 4}});
  const CosmoflowDataOptions how = {.shape = {12, 12, 12, 4}};
  EXPECT_EQ(open_cosmoflow(directory_.path("validation"), how).data.size(), 2);
  const Dataset train = open_cosmoflow(directory_.path("train"), how).data;
  ASSERT_EQ(train.size(), 60);
  std::array<std::vector<double>, 4> found;
  std::array<std::vector<double>, 4> targets;
  for (int64_t i = 0; i < train.size(); ++i) {
    const Sample sample = train.get(i);
    const auto values = statistics(sample.x());
    for (size_t t = 0; t < 4; ++t) {
      found[t].push_back(values[t]);
      targets[t].push_back(sample.y().f32()[t]);
      EXPECT_LE(std::abs(targets[t].back()), 1.0);
    }
  }
  for (size_t t = 0; t < 4; ++t)
    EXPECT_GT(correlation(found[t], targets[t]), 0.7) << "target " << t;
}

TEST_F(CosmoflowTest, MadeVolumesDependOnTheSeedOnly) {
  const auto make = [&](const char* name, uint64_t seed) {
    make_cosmoflow(directory_.path(name), {.train = 2,
                                           .validation = 1,
                                           .shape = {4, 4, 4, 4},
                                           .compression = Compression::none,
                                           .seed = seed});
    return data::read_file(directory_.path(concat(name, "/train/sample-00001.tfrecord")));
  };
  const Bytes first = make("a", 1);
  EXPECT_EQ(first, make("b", 1));
  EXPECT_NE(first, make("c", 2));
  EXPECT_NE(first, data::read_file(directory_.path("a/train/sample-00000.tfrecord")));
  EXPECT_NE(data::read_file(directory_.path("a/train/sample-00000.tfrecord")),
            data::read_file(directory_.path("a/validation/sample-00000.tfrecord")));
}

TEST_F(CosmoflowTest, MakingRefusesWhatIsNoVolume) {
  EXPECT_THROW(make_cosmoflow(folder(), {.shape = {4, 4}}), InvalidArgument);
  EXPECT_THROW(make_cosmoflow(folder(), {.train = -1}), InvalidArgument);
  write({1}, "file");
  EXPECT_THROW(make_cosmoflow(directory_.path("file"), {.train = 1}), IoError);
}

}  // namespace
}  // namespace pando
