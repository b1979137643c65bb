// Arrays of NumPy: loading for training, verifying, measuring and showing.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "pando/data/sources/numpy/npy.h"
#include "pando/datasets/all_datasets.h"
#include "pando/datasets/numpy_arrays.h"
#include "pando/datasets/tools/benchmark.h"
#include "pando/datasets/tools/show.h"
#include "pando/datasets/tools/verify.h"
#include "pando/options/usage_error.h"
#include "tests/data/numpy_files.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

Tensor filled(DType dtype, const Shape& shape, int modulus) {
  Tensor values(DType::i32, shape);
  for (size_t i = 0; i < values.i32().size(); ++i) {
    values.i32()[i] = static_cast<int32_t>(i) % modulus;
  }
  return dtype == DType::i32 ? values : cast(values, dtype);
}

class NumpyData : public testing::Test {
 protected:
  void save(const std::string& name, const Tensor& tensor) const {
    save_npy(folder_.path(name + ".npy"), tensor);
  }
  // Six samples for training and three for validation.
  void save_all(const std::function<Tensor(int64_t samples, bool labels)>& make) const {
    save("x_train", make(6, false));
    save("y_train", make(6, true));
    save("x_test", make(3, false));
    save("y_test", make(3, true));
  }
  void save_digits() const {
    save_all([](int64_t n, bool labels) {
      return labels ? filled(DType::i32, {n}, 3) : filled(DType::u8, {n, 4, 5}, 256);
    });
  }
  TrainingData load(const DataLoadOptions& options = {}) const {
    return dataset_record("numpy").load(folder_.path(), options);
  }
  std::string failure() const {
    return error_of<IoError>([&] { load(); });
  }

  TempFolder folder_;
};

TEST(NumpyNames, TellWhatArraysAre) {
  const auto role = [](const char* name) -> std::string {
    const auto found = datasets::role_of_array(name);
    return found ? (found->labels ? "y " : "x ") + found->part : "";
  };
  EXPECT_EQ(role("x_train"), "x train");
  EXPECT_EQ(role("X_test"), "x test");
  EXPECT_EQ(role("train_images"), "x train");
  EXPECT_EQ(role("val_labels"), "y val");
  EXPECT_EQ(role("Y_valid"), "y valid");
  EXPECT_EQ(role("y"), "y ");
  EXPECT_EQ(role("images"), "x ");
  for (const char* other : {"arr_0", "x_", "_x", "train", "x_other", "class_names", ""}) {
    EXPECT_EQ(role(other), "") << other;
  }
}

TEST_F(NumpyData, PicturesWithClasses) {
  save_digits();
  const TrainingData data = load();
  EXPECT_EQ(data.task, "classification");
  EXPECT_EQ(data.sets.classes, 3);
  EXPECT_EQ(data.sets.test.size(), 3);
  EXPECT_EQ(to_string(data.sets.train.fields()), "x f32[4,5,1], y i32[]");
  EXPECT_FLOAT_EQ(data.sets.train.get(1).x().f32()[2], 22 / 255.0f);
  EXPECT_EQ(data.sets.train.get(4).y().i32()[0], 1);
  EXPECT_TRUE(data.warnings.empty());
}

TEST_F(NumpyData, PicturesGoToTheDevicesAsBytes) {
  save_digits();
  const TrainingData data = load({.prepare_on_device = true, .eight_bit = true});
  EXPECT_EQ(to_string(data.sets.train.fields()), "x u8[4,5,1], y i32[]");
  EXPECT_TRUE(data.front.has_value());
}

TEST_F(NumpyData, PicturesAreAugmentedAndOtherArraysRefused) {
  save_digits();
  DataLoadOptions options;
  options.augmentation.changes.jitter.brightness = 0.9;
  EXPECT_FALSE(std::ranges::equal(load(options).sets.train.get(1).x().f32(),
                                  load().sets.train.get(1).x().f32()));
  save_all([](int64_t n, bool labels) {
    return labels ? filled(DType::i32, {n}, 3) : filled(DType::f32, {n, 4, 5}, 256);
  });
  EXPECT_SAYS(error_of<UsageError>([&] { load(options); }), "--dataset numpy", "x_train", "f32",
              "cannot be augmented");
}

TEST_F(NumpyData, RealNumbersStayAsTheyAre) {
  save_all([](int64_t n, bool labels) {
    return labels ? filled(DType::u8, {n, 1}, 2) : filled(DType::f32, {n, 4, 4, 3}, 1000);
  });
  const TrainingData data = load();
  EXPECT_EQ(to_string(data.sets.train.fields()), "x f32[4,4,3], y i32[]");
  EXPECT_EQ(data.sets.train.get(1).x().f32()[0], 48);
}

TEST_F(NumpyData, VolumesOfBytesAreScaled) {
  save_all([](int64_t n, bool labels) {
    return labels ? filled(DType::i32, {n}, 2) : filled(DType::u8, {n, 2, 3, 4, 1}, 256);
  });
  const TrainingData data = load();
  EXPECT_EQ(to_string(data.sets.train.fields()), "x f32[2,3,4,1], y i32[]");
  EXPECT_FLOAT_EQ(data.sets.train.get(0).x().f32()[7], 7 / 255.0f);
  EXPECT_SAYS(error_of<Unsupported>([&] { show_dataset("numpy", folder_.path()); }), "volumes");
}

TEST_F(NumpyData, ValuesToPredict) {
  for (const bool several : {false, true}) {
    save_all([&](int64_t n, bool labels) {
      if (!labels) return filled(DType::u8, {n, 4, 5}, 256);
      return several ? filled(DType::f32, {n, 2}, 5) : filled(DType::f32, {n}, 5);
    });
    const TrainingData data = load();
    EXPECT_EQ(data.task, "regression");
    EXPECT_EQ(data.sets.classes, several ? 2 : 1);
    EXPECT_EQ(data.sets.train.fields()[1], (Field{"y", DType::f32, {several ? 2 : 1}}));
  }
  Tensor values = filled(DType::f32, {6, 2}, 5);
  values.f32()[5] = INFINITY;
  save("y_train", values);
  EXPECT_SAYS(failure(), "y_train.npy", "sample 2", "inf", "finite");
}

TEST_F(NumpyData, ClassesOfPixels) {
  save_all([](int64_t n, bool labels) {
    return labels ? filled(DType::u8, {n, 4, 5}, 3) : filled(DType::u8, {n, 4, 5, 3}, 256);
  });
  Tensor masks = filled(DType::u8, {6, 4, 5, 1}, 3);
  masks.u8()[0] = 255;
  save("y_train", masks);
  save("y_test", filled(DType::u8, {3, 4, 5, 1}, 3));
  const TrainingData data = load();
  EXPECT_EQ(data.task, "segmentation");
  EXPECT_EQ(data.sets.classes, 3);
  EXPECT_EQ(to_string(data.sets.train.fields()), "x f32[4,5,3], y i32[4,5]");
  EXPECT_EQ(data.sets.train.get(0).y().i32()[0], -1);
  const VerifyReport report = verify_dataset("numpy", folder_.path());
  EXPECT_TRUE(report.good());
  EXPECT_EQ(report.counted, "pixels");
  EXPECT_GT(show_dataset("numpy", folder_.path(), {.samples = 2}).size.width, 96);
  save("y_train", filled(DType::i32, {6, 4, 5, 1}, 3));
  Tensor low = filled(DType::i32, {3, 4, 5, 1}, 3);
  low.i32()[25] = -2;
  save("y_test", low);
  EXPECT_SAYS(failure(), "y_test.npy", "sample 1", "-2");
}

TEST_F(NumpyData, MasksHaveTheShapeOfTheirPictures) {
  save_all([](int64_t n, bool labels) {
    return labels ? filled(DType::u8, {n, 5, 4}, 3) : filled(DType::u8, {n, 4, 5, 3}, 256);
  });
  EXPECT_SAYS(failure(), "y_train.npy", "u8[6,5,4]", "[6,4,5,3]", "whole numbers [6,4,5]");
  save("y_train", filled(DType::u8, {6, 1, 4, 5}, 3));
  save("y_test", filled(DType::u8, {3, 1, 4, 5}, 3));
  EXPECT_SAYS(failure(), "u8[6,1,4,5]");
}

TEST_F(NumpyData, WarnsOf255InMasksOfLargerNumbers) {
  save_all([](int64_t n, bool labels) {
    return labels ? filled(DType::i32, {n, 4, 5}, 3) : filled(DType::u8, {n, 4, 5, 3}, 256);
  });
  EXPECT_TRUE(load().warnings.empty());
  Tensor masks = filled(DType::i32, {6, 4, 5}, 3);
  masks.i32()[7] = 255;
  save("y_train", masks);
  ASSERT_EQ(load().warnings.size(), 1u);
  EXPECT_SAYS(load().warnings[0], "y_train.npy", "255", "uint8", "-1");
  masks.i32()[7] = 256;
  save("y_train", masks);
  EXPECT_TRUE(load().warnings.empty());
  masks.i32()[47] = 1'000'000;
  save("y_train", masks);
  EXPECT_SAYS(failure(), "y_train.npy", "sample 2", "1000000", "999999");
}

TEST_F(NumpyData, MasksOf0And255HaveTwoClasses) {
  save_all([](int64_t n, bool labels) {
    if (!labels) return filled(DType::u8, {n, 4, 5}, 256);
    Tensor masks = filled(DType::u8, {n, 4, 5}, 2);
    for (uint8_t& value : masks.u8()) value = value == 1 ? 255 : 0;
    return masks;
  });
  const TrainingData data = load();
  EXPECT_EQ(data.sets.classes, 2);
  EXPECT_EQ(data.sets.train.get(0).y().i32()[1], 1);
  ASSERT_EQ(data.warnings.size(), 1u);
  EXPECT_SAYS(data.warnings[0], "0 and 255", "class 1");
}

TEST_F(NumpyData, RowsOfZerosAndOnesAreClasses) {
  const auto flags = [](int64_t n, DType dtype, bool several) {
    Tensor rows(DType::f32, {n, 3});
    for (int64_t i = 0; i < n; ++i) rows.f32()[static_cast<size_t>(3 * i + (i + 1) % 3)] = 1;
    if (several) rows.f32()[0] = 1;
    return cast(rows, dtype);
  };
  for (const DType dtype : {DType::f32, DType::i32}) {
    for (const bool several : {false, true}) {
      save_all([&](int64_t n, bool labels) {
        return labels ? flags(n, dtype, several) : filled(DType::u8, {n, 4, 5}, 256);
      });
      const TrainingData data = load();
      EXPECT_EQ(data.task, several ? "multilabel" : "classification");
      EXPECT_EQ(data.sets.classes, 3);
      if (several) {
        EXPECT_EQ(data.sets.train.get(0).y().f32()[1], 1);
      } else {
        EXPECT_EQ(data.sets.train.get(0).y().i32()[0], 1);
      }
    }
  }
  EXPECT_EQ(verify_dataset("numpy", folder_.path()).parts.at(0).per_class.at(0), 3);
}

TEST_F(NumpyData, ValidationIsTheFirstOfItsNames) {
  save_digits();
  save("x_val", filled(DType::u8, {2, 4, 5}, 256));
  save("y_val", filled(DType::i32, {2}, 2));
  const TrainingData data = load();
  EXPECT_EQ(data.sets.test.size(), 2);
  ASSERT_EQ(data.warnings.size(), 1u);
  EXPECT_SAYS(data.warnings[0], "not read", "x_test, y_test");
}

TEST_F(NumpyData, ValidationMayBeCutOut) {
  save("images", filled(DType::u8, {9, 4, 5}, 256));
  save("labels", filled(DType::i32, {9}, 3));
  EXPECT_SAYS(error_of<UsageError>([&] { load(); }), "--dataset numpy", "x_test",
              "--validation-split");
  const TrainingData data = load({.validation_split = 0.3});
  EXPECT_EQ(data.sets.train.size(), 6);
  EXPECT_EQ(data.sets.test.size(), 3);  // one of every class
  std::set<int32_t> classes;
  for (int64_t i = 0; i < 3; ++i) classes.insert(data.sets.test.get(i).y().i32()[0]);
  EXPECT_EQ(classes.size(), 3u);
  save("labels", filled(DType::f32, {9, 2}, 7));
  EXPECT_EQ(load({.validation_split = 0.3}).sets.test.size(), 3);
}

TEST_F(NumpyData, OneArchive) {
  const auto array = [](const std::string& type, const std::string& shape, const Bytes& bytes) {
    return npy_file(npy_dictionary(type, shape), bytes);
  };
  const Bytes archive =
      zip_archive({{"x_train.npy", array("|u1", "(3, 4, 4)", counting_bytes(48)), true},
                   {"y_train.npy", array("|u1", "(3,)", {0, 1, 2}), true},
                   {"x_test.npy", array("|u1", "(1, 4, 4)", counting_bytes(16)), true},
                   {"y_test.npy", array("|u1", "(1,)", {1}), true}});
  const std::string path = folder_.write("mnist.npz", archive);
  for (const std::string& place : {path, folder_.path()}) {
    const TrainingData data = dataset_record("numpy").load(place, {});
    EXPECT_EQ(data.sets.train.size(), 3);
    EXPECT_EQ(data.sets.classes, 3);
    EXPECT_EQ(to_string(data.sets.test.fields()), "x f32[4,4,1], y i32[]");
  }
  const VerifyReport report = verify_dataset("numpy", path);
  EXPECT_TRUE(report.good());
  EXPECT_EQ(report.samples(), 4);
  EXPECT_EQ(report.parts.at(0).per_class, (std::vector<int64_t>{1, 1, 1}));
}

TEST_F(NumpyData, OtherArraysOfAnArchiveAreNotParsed) {
  const Bytes archive = zip_archive(
      {{"x_train.npy", npy_file(npy_dictionary("|u1", "(2, 4, 4)"), counting_bytes(32))},
       {"y_train.npy", npy_file(npy_dictionary("|u1", "(2,)"), {0, 1})},
       {"class_names.npy", npy_file(npy_dictionary("<U1", "(1,)"), {65, 0, 0, 0})},
       {"x_test.npy", npy_file(npy_dictionary("|u1", "(1, 4, 4)"), counting_bytes(16))},
       {"y_test.npy", npy_file(npy_dictionary("|u1", "(1,)"), {1})}});
  const TrainingData data = dataset_record("numpy").load(folder_.write("a.npz", archive), {});
  EXPECT_EQ(data.sets.train.size(), 2);
  ASSERT_EQ(data.warnings.size(), 1u);
  EXPECT_SAYS(data.warnings[0], "not read: class_names");
}

TEST_F(NumpyData, OnlyTheFolderItselfIsReadHoweverItIsWritten) {
  save_digits();
  std::filesystem::create_directory(folder_.path("old"));
  save("old/x_train", filled(DType::u8, {2, 4, 5}, 256));
  const TrainingData data = dataset_record("numpy").load(folder_.path() + "/", {});
  EXPECT_EQ(data.sets.train.size(), 6);
  EXPECT_TRUE(data.warnings.empty());
}

TEST_F(NumpyData, EveryNumberDecidesAboutTheFingerprint) {
  const auto fingerprint = [&](float x, float y) {
    save_all([&](int64_t n, bool labels) {
      Tensor values = filled(DType::f32, labels ? Shape{n} : Shape{n, 4, 5}, 7);
      values.f32()[0] = labels ? y : x;
      return values;
    });
    return load().fingerprint;
  };
  const std::string before = fingerprint(-1, 30);
  EXPECT_EQ(fingerprint(-1, 30), before);
  EXPECT_NE(fingerprint(-1, 31), before);
  EXPECT_NE(fingerprint(-2, 30), before);
}

TEST_F(NumpyData, SaysWhatIsWrong) {
  EXPECT_SAYS(failure(), folder_.path(), "x_train.npy");
  save("arr_0", filled(DType::u8, {6, 4, 5}, 256));
  EXPECT_SAYS(failure(), "arr_0", "expected x_train and y_train");
  save("x_train", filled(DType::u8, {6, 4, 5}, 256));
  EXPECT_SAYS(failure(), "x_train", "no labels");
  save("y_train", filled(DType::i32, {5}, 3));
  EXPECT_SAYS(failure(), "y_train.npy", "[5]", "[6,4,5]", "x_train.npy");
  save("y_train", filled(DType::i32, {6}, 1));
  EXPECT_SAYS(failure(), "y_train.npy", "two classes");
  save("y_train", Tensor::of_i32({6}, {0, 1, 2, -1, 0, 0}));
  EXPECT_SAYS(failure(), "sample 3", "-1");
  save("y_train", filled(DType::i32, {6, 2}, 9));
  EXPECT_SAYS(failure(), "[6,2]", "whole numbers");
  save("y_train", filled(DType::f32, {6, 2, 2}, 9));
  EXPECT_SAYS(failure(), "f32[6,2,2]", "[6,4,5]");
  save("y_train", filled(DType::i32, {6}, 3));
  save("train_images", filled(DType::u8, {6, 4, 5}, 256));
  EXPECT_SAYS(failure(), "train_images", "x_train", "one of them");
  std::filesystem::remove(folder_.path("train_images.npy"));
  save("x_train", filled(DType::f32, {6, 4}, 9));
  EXPECT_SAYS(failure(), "x_train.npy", "[6,4]", "height, width");
  const VerifyReport report = verify_dataset("numpy", folder_.path());
  EXPECT_EQ(report.bad_count, 1);
  EXPECT_SAYS(report.bad.at(0).why, "[6,4]");
}

TEST_F(NumpyData, PartsMustFitTogether) {
  save_digits();
  save("x_test", filled(DType::u8, {3, 4, 6}, 256));
  EXPECT_SAYS(failure(), "x_test.npy", "[4,6,1]", "[4,5,1]");
  save("x_test", filled(DType::u8, {3, 4, 5}, 256));
  save("y_test", filled(DType::f32, {3}, 3));
  EXPECT_SAYS(failure(), "f32[]", "i32[]");
  save_digits();
  save("x_test", filled(DType::f32, {3, 4, 5}, 256));
  EXPECT_SAYS(failure(), "x_test.npy", "f32[4,5,1]", "x_train.npy", "u8[4,5,1]", "same");
}

TEST_F(NumpyData, RefusesChannelsThatComeFirst) {
  save_all([](int64_t n, bool labels) {
    return labels ? filled(DType::i32, {n}, 3) : filled(DType::u8, {n, 3, 8, 8}, 256);
  });
  EXPECT_SAYS(failure(), "x_train.npy", "[6,3,8,8]", "transpose(0, 2, 3, 1)", "[6,8,8,3]");
}

TEST_F(NumpyData, RefusesFeaturesThatAreNotFinite) {
  save_digits();
  Tensor x = filled(DType::f32, {6, 4, 5}, 9);
  x.f32()[41] = std::nanf("");
  save("x_train", x);
  EXPECT_SAYS(failure(), "x_train.npy", "sample 2", "nan", "finite");
  const VerifyReport report = verify_dataset("numpy", folder_.path());
  ASSERT_EQ(report.bad_count, 1);
  EXPECT_SAYS(report.bad[0].why, "sample 2", "nan");
}

TEST_F(NumpyData, IsShownAndMeasured) {
  save_digits();
  EXPECT_GT(show_dataset("numpy", folder_.path(), {.samples = 4}).size.width, 96);
  EXPECT_NO_THROW(show_dataset("numpy", folder_.path(), {.samples = 1, .test = true}));
  EXPECT_EQ(benchmark_dataset("numpy", folder_.path(), {.seconds = 0.001, .batch_size = 2}).samples,
            6);
  std::filesystem::remove(folder_.path("x_test.npy"));
  std::filesystem::remove(folder_.path("y_test.npy"));
  EXPECT_SAYS(error_of([&] { show_dataset("numpy", folder_.path(), {.test = true}); }), "x_test");
  save("y_train", filled(DType::f32, {6, 2}, 7));
  EXPECT_NO_THROW(show_dataset("numpy", folder_.path(), {.samples = 2}));
}

TEST_F(NumpyData, IsShownAugmentedOrNotAtAll) {
  save_digits();
  const ShowOptions turned{.samples = 4, .augmentation = {.border = 2}};
  const Image plain = show_dataset("numpy", folder_.path(), {.samples = 4, .augment = false});
  EXPECT_EQ(show_dataset("numpy", folder_.path(), {.samples = 4}).pixels, plain.pixels);
  EXPECT_NE(show_dataset("numpy", folder_.path(), turned).pixels, plain.pixels);
  save("x_train", filled(DType::f32, {6, 4, 5, 1}, 7));
  save("x_test", filled(DType::f32, {3, 4, 5, 1}, 7));
  EXPECT_NO_THROW(show_dataset("numpy", folder_.path(), {.samples = 4}));
  EXPECT_SAYS(error_of<UsageError>([&] { show_dataset("numpy", folder_.path(), turned); }),
              "cannot be augmented", "u8");
}

}  // namespace
}  // namespace pando
