#include "pando/data/sources/imagenet/imagenet.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "pando/data/stream_order.h"
#include "tests/data/counting.h"
#include "tests/data/imagenet_files.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

ImagenetExample read(const ExampleBuilder& builder, int64_t classes = 1000) {
  static Bytes bytes;  // the result refers to it
  bytes = builder.encode();
  return read_imagenet_example(Example(bytes), classes);
}

std::string read_error(const ExampleBuilder& builder, int64_t classes = 1000) {
  return error_of<IoError>([&] { read(builder, classes); });
}

TEST(ReadImagenetExample, ALabelAndAnImageAreEnough) {
  const ImagenetExample example = read(imagenet_example(7));
  EXPECT_EQ(example.label, 6);
  EXPECT_EQ(Bytes(example.encoded.begin(), example.encoded.end()), small_jpeg());
  EXPECT_EQ(example.text, "");
  EXPECT_TRUE(example.objects.empty());
}

TEST(ReadImagenetExample, TextAndBoxes) {
  ExampleBuilder builder = imagenet_example(1000);
  builder.text("image/class/text", "a tench");
  add_boxes(builder, {0.1f, 0.2f}, {0.3f, 0}, {0.5f, 0.25f}, {0.9f, 1});
  const ImagenetExample example = read(builder);
  EXPECT_EQ(example.label, 999);
  EXPECT_EQ(example.text, "a tench");
  ASSERT_EQ(example.objects.size(), 2u);
  EXPECT_EQ(example.objects[0].x_min, 0.1f);
  EXPECT_EQ(example.objects[0].y_min, 0.3f);
  EXPECT_EQ(example.objects[0].x_max, 0.5f);
  EXPECT_EQ(example.objects[0].y_max, 0.9f);
  EXPECT_EQ(example.objects[1].y_min, 0.0f);
}

TEST(ReadImagenetExample, BoxesAreCutOffAndEmptyOnesLeftOut) {
  ExampleBuilder builder = imagenet_example(1);
  add_boxes(builder, {-0.5f, 0.4f, 1.5f}, {0, 0.1f, 0}, {0.5f, 0.4f, 2}, {1.25f, 0.2f, 1});
  const ImagenetExample example = read(builder);
  ASSERT_EQ(example.objects.size(), 1u);
  EXPECT_EQ(example.objects[0].x_min, 0.0f);
  EXPECT_EQ(example.objects[0].y_max, 1.0f);
}

TEST(ReadImagenetExample, LabelsOutsideTheClasses) {
  EXPECT_SAYS(read_error(imagenet_example(0)), "'image/class/label'", "1 to 1000");
  EXPECT_SAYS(read_error(imagenet_example(-1)), "is -1");
  EXPECT_SAYS(read_error(imagenet_example(1001)), "1001", "1 to 1000");
  EXPECT_SAYS(read_error(imagenet_example(11), 10), "11", "1 to 10");
  EXPECT_SAYS(read_error(imagenet_example(std::numeric_limits<int64_t>::min())), "1 to 1000");
  ExampleBuilder two = imagenet_example(1);
  two.ints("image/class/label", {1, 2});
  EXPECT_SAYS(read_error(two), "image/class/label");
}

TEST(ReadImagenetExample, MissingKeys) {
  ExampleBuilder no_image;
  no_image.ints("image/class/label", {1});
  EXPECT_SAYS(read_error(no_image), "image/encoded");
  ExampleBuilder no_label;
  no_label.text("image/encoded", "x");
  EXPECT_SAYS(read_error(no_label), "image/class/label");
}

TEST(ReadImagenetExample, BoxesThatMakeNoSense) {
  ExampleBuilder lengths = imagenet_example(1);
  add_boxes(lengths, {0, 0}, {0, 0}, {1}, {1, 1});
  EXPECT_SAYS(read_error(lengths), "'image/object/bbox/xmax'", "1 values");
  ExampleBuilder missing = imagenet_example(1);
  missing.floats("image/object/bbox/ymin", {0});
  EXPECT_SAYS(read_error(missing), "'image/object/bbox/xmin'", "0 values");
  ExampleBuilder not_finite = imagenet_example(1);
  add_boxes(not_finite, {0}, {0}, {NAN}, {1});
  EXPECT_SAYS(read_error(not_finite), "'image/object/bbox/xmax'", "value 0", "nan");
  ExampleBuilder reversed = imagenet_example(1);
  add_boxes(reversed, {0, 0.5f}, {0, 0}, {1, 0.25f}, {1, 1});
  EXPECT_SAYS(read_error(reversed), "box 1");
}

class ImagenetTest : public testing::Test {
 protected:
  void write_shard(ImagenetPart part, int shard, int shards, const std::vector<Bytes>& payloads) {
    folder_.write(data::shard_name(part, shard, shards), records(payloads));
  }
  // Two shards of training, one of validation.
  void write_small_set() {
    write_shard(ImagenetPart::train, 0, 2,
                {imagenet_example(1).encode(), imagenet_example(2).encode()});
    write_shard(ImagenetPart::train, 1, 2, {imagenet_example(3).encode()});
    write_shard(ImagenetPart::validation, 0, 1, {imagenet_example(1000).encode()});
  }
  std::string load_error(const ImagenetOptions& options = {}) {
    return error_of<IoError>([&] { load_imagenet(folder_.path(), options); });
  }

  testing_support::TempFolder folder_;
  const ImagenetOptions small_ = {.size = {8, 8}, .short_side = 10};
};

TEST_F(ImagenetTest, BothParts) {
  write_small_set();
  const Imagenet set = load_imagenet(folder_.path(), small_);
  EXPECT_EQ(set.classes, 1000);
  EXPECT_TRUE(set.class_names.empty());
  EXPECT_EQ(to_string(set.train.data.fields()), "x f32[8,8,3], y i32[]");
  EXPECT_EQ(labels(set.train.data), (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(set.train.records_per_file, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(labels(set.validation.data), (std::vector<int32_t>{999}));
}

TEST_F(ImagenetTest, ViewsAreThoseOfTheImage) {
  write_small_set();
  ImagenetOptions bytes = small_;
  bytes.dtype = DType::u8;
  const Imagenet set = load_imagenet(folder_.path(), bytes);
  const Bytes jpeg = small_jpeg();
  ImageReader reader(jpeg, "test");
  Image scratch;
  Tensor eval(DType::u8, {8, 8, 3});
  read_eval_view(reader, {.size = {8, 8}, .short_side = 10}, scratch, PixelTarget(eval.u8()));
  const Sample validation = set.validation.data.get(0);
  EXPECT_TRUE(std::ranges::equal(validation.x().u8(), eval.u8()));
  Tensor train(DType::u8, {8, 8, 3});
  read_train_view(reader, sample_random(0, 4, 1), {}, {.size = {8, 8}}, scratch,
                  PixelTarget(train.u8()));
  const Sample random = set.train.data.get(1, 4);
  EXPECT_TRUE(std::ranges::equal(random.x().u8(), train.u8()));
  const Sample other = set.train.data.get(1, 5);
  EXPECT_FALSE(std::ranges::equal(other.x().u8(), train.u8()));
  ImagenetOptions still = bytes;
  still.random_views = false;
  const Sample middle = load_imagenet(folder_.path(), still).train.data.get(1, 5);
  EXPECT_TRUE(std::ranges::equal(middle.x().u8(), eval.u8()));
}

// The published results are those of images as they are stored.
TEST_F(ImagenetTest, OrientationsOfCamerasAreIgnored) {
  ImagenetOptions bytes = small_;
  bytes.dtype = DType::u8;
  for (const bool turned : {false, true}) {
    const Bytes jpeg = turned ? turned_jpeg(small_jpeg()) : small_jpeg();
    write_shard(ImagenetPart::train, 0, 1, {imagenet_example(1, jpeg).encode()});
    write_shard(ImagenetPart::validation, 0, 1, {imagenet_example(1, jpeg).encode()});
    const Imagenet set = load_imagenet(folder_.path(), bytes);
    const Bytes plain = small_jpeg();
    ImageReader reader(plain, "test");
    Image scratch;
    Tensor train(DType::u8, {8, 8, 3}), eval(DType::u8, {8, 8, 3});
    read_train_view(reader, sample_random(0, 4, 0), {}, {.size = {8, 8}}, scratch,
                    PixelTarget(train.u8()));
    read_eval_view(reader, {.size = {8, 8}, .short_side = 10}, scratch, PixelTarget(eval.u8()));
    EXPECT_TRUE(std::ranges::equal(set.train.data.get(0, 4).x().u8(), train.u8())) << turned;
    EXPECT_TRUE(std::ranges::equal(set.validation.data.get(0).x().u8(), eval.u8())) << turned;
  }
}

// If boxes mark only one corner, random views stay near it.
TEST_F(ImagenetTest, RandomViewsCoverAnObject) {
  Image image({64, 64});
  for (int64_t y = 0; y < 64; ++y) {
    for (int64_t x = 0; x < 64; ++x) {
      image.row(y)[3 * x] = x >= 48 && y >= 48 ? 255 : 0;
    }
  }
  const Bytes jpeg = encode_jpeg(image.view(), {.quality = 100, .full_colour = true});
  ExampleBuilder builder = imagenet_example(1, jpeg);
  add_boxes(builder, {0.75f}, {0.75f}, {1}, {1});
  write_small_set();
  write_shard(ImagenetPart::train, 1, 2, {builder.encode()});
  ImagenetOptions options = small_;
  options.dtype = DType::u8;
  options.box.min_object_covered = 0.9f;
  const Dataset train = open_imagenet(folder_.path(), ImagenetPart::train, options).data;
  for (int64_t epoch = 0; epoch < 30; ++epoch) {
    const Sample sample = train.get(2, epoch);
    int brightest = 0;
    for (const uint8_t value : sample.x().u8()) brightest = std::max<int>(brightest, value);
    EXPECT_GT(brightest, 120) << epoch;
  }
}

TEST_F(ImagenetTest, LabelsFileSaysTheClasses) {
  write_small_set();
  folder_.write_text("labels.txt", "n1\ttench, Tinca tinca\nn2\nn3\tshark\n\n");
  EXPECT_EQ(imagenet_class_names(folder_.path()),
            (std::vector<std::string>{"tench, Tinca tinca", "n2", "shark"}));
  const Imagenet set = load_imagenet(folder_.path(), small_);
  EXPECT_EQ(set.classes, 3);
  EXPECT_EQ(set.class_names[2], "shark");
  EXPECT_EQ(labels(set.train.data), (std::vector<int32_t>{0, 1, 2}));
  EXPECT_SAYS(error_of<BadRecordError>([&] { set.validation.data.get(0); }), "'image/class/label'",
              "1000", "1 to 3");
  folder_.write_text("labels.txt", "a\n\nb\n");
  EXPECT_SAYS(load_error(), "labels.txt", "line 2", "empty", "class");
  folder_.write_text("labels.txt", "");
  EXPECT_SAYS(load_error(), "labels.txt", "line 1", "empty");
}

TEST_F(ImagenetTest, MissingShardsAreNamed) {
  EXPECT_SAYS(load_error(), "train-*-of-*", "1024 record");
  write_shard(ImagenetPart::train, 1, 4, {imagenet_example(1).encode()});
  EXPECT_SAYS(load_error(), "3 of 4", "missing", "train-00000-of-00004", "train-00002-of-00004",
              "train-00003-of-00004");
  std::filesystem::remove(folder_.path("train-00001-of-00004"));
  write_small_set();
  EXPECT_EQ(imagenet_shards(folder_.path(), ImagenetPart::train).size(), 2u);
  std::filesystem::remove(folder_.path("train-00001-of-00002"));
  EXPECT_SAYS(load_error(), "1 of 2", "missing", "train-00001-of-00002");
  write_shard(ImagenetPart::validation, 5, 128, {});
  EXPECT_SAYS(error_of<IoError>([&] { imagenet_shards(folder_.path(), ImagenetPart::validation); }),
              "validation-00000-of-00001", "validation-00005-of-00128");
  std::filesystem::remove(folder_.path("validation-00000-of-00001"));
  EXPECT_SAYS(error_of<IoError>([&] { imagenet_shards(folder_.path(), ImagenetPart::validation); }),
              "and 117 more");
  EXPECT_SAYS(error_of<IoError>([&] { load_imagenet(folder_.path("absent")); }), "absent",
              "build-imagenet");
}

TEST_F(ImagenetTest, OtherNamesAreNoShards) {
  using data::parse_shard_name;
  EXPECT_EQ(parse_shard_name("train-00003-of-01024", ImagenetPart::train).shard, 3);
  EXPECT_EQ(parse_shard_name("train-00003-of-01024", ImagenetPart::train).shards, 1024);
  for (const char* name :
       {"train-00004-of-00004", "train-0003-of-01024", "train-00003-of-01024.tmp",
        "train-00003_of_01024", "train_00003-of-01024", "train-+0003-of-01024",
        "Train-00003-of-01024", "train-00000-of-00000", "train", ""}) {
    EXPECT_EQ(parse_shard_name(name, ImagenetPart::train).shards, 0) << name;
  }
  EXPECT_EQ(parse_shard_name("validation-00003-of-01024", ImagenetPart::train).shards, 0);
}

TEST_F(ImagenetTest, SkipDecodesTheWholeImage) {
  const Bytes good = small_jpeg({200, 40});
  Bytes damaged = good;
  for (size_t i = good.size() - 200; i < good.size() - 20; ++i) damaged[i] = 0xff;
  write_small_set();
  write_shard(ImagenetPart::train, 0, 2,
              {imagenet_example(5, damaged).encode(), imagenet_example(0).encode(),
               imagenet_example(6, good).encode()});
  ImagenetOptions options = small_;
  options.on_bad_record = OnBadRecord::skip;
  options.workers = 2;
  const Imagenet set = load_imagenet(folder_.path(), options);
  EXPECT_EQ(labels(set.train.data), (std::vector<int32_t>{5, 2}));
  ASSERT_EQ(set.train.skipped.size(), 2u);
  EXPECT_SAYS(set.train.skipped[0].why, "'image/encoded'", "damaged", "JPEG");
  EXPECT_SAYS(set.train.skipped[1].why, "'image/class/label' is 0");
  EXPECT_TRUE(set.validation.skipped.empty());
}

TEST_F(ImagenetTest, ImagesThatAreTooLargeAreBadRecords) {
  write_small_set();
  ImagenetOptions options = small_;
  options.limits.max_pixels = 1999;
  const Imagenet set = load_imagenet(folder_.path(), options);
  EXPECT_SAYS(error_of<BadRecordError>([&] { set.train.data.get(0); }), "at most 1,999");
}

TEST_F(ImagenetTest, OptionsThatMakeNoSense) {
  write_small_set();
  const auto error = [&](const ImagenetOptions& options) {
    return error_of([&] { load_imagenet(folder_.path(), options); });
  };
  EXPECT_SAYS(error({.dtype = DType::i32}), "i32", "f32 or u8");
  EXPECT_SAYS(error({.size = {0, 8}}), "0x8", "at least 1x1");
  EXPECT_SAYS(error({.size = {300, 8}}), "256", "300x8");
  EXPECT_SAYS(error({.workers = 0}), "0 workers");
  ImagenetOptions mirrored = {.flip_on_device = true};
  mirrored.augmentation.changes.rotation = 10;
  EXPECT_SAYS(error(mirrored), "ImageNet: flip_on_device", "mirrored before");
  EXPECT_SAYS(error_of([&] { open_imagenet(folder_.path(), ImagenetPart::train, {.size = {}}); }),
              "size 0x0");
}

TEST_F(ImagenetTest, AStreamOfShardsIsTheSameForAnyNumberOfWorkers) {
  make_imagenet(folder_.path(), {.classes = 5,
                                 .train = 30,
                                 .validation = 4,
                                 .train_shards = 5,
                                 .validation_shards = 2,
                                 .size = {24, 30}});
  ImagenetOptions options = small_;
  options.index_folder = folder_.path("index");
  const RecordDataset train = open_imagenet(folder_.path(), ImagenetPart::train, options);
  const Dataset stream = stream_records(train, {.seed = 3, .cycle = 2, .block = 2, .buffer = 8});
  BatchStream alone = stream.batch(4).repeat(2);
  BatchStream several = stream.batch(4).repeat(2).prefetch(4, {.workers = 3});
  Batch a;
  Batch b;
  while (alone.next(a)) {
    ASSERT_TRUE(several.next(b));
    EXPECT_TRUE(std::ranges::equal(a.x().f32(), b.x().f32()));
    EXPECT_TRUE(std::ranges::equal(a.y().i32(), b.y().i32()));
  }
  EXPECT_FALSE(several.next(b));
}

}  // namespace
}  // namespace pando
