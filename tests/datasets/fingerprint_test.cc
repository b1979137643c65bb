// SPDX-License-Identifier: MIT
#include "pando/datasets/fingerprint.h"

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "tests/support/temp_folder.h"

namespace pando::datasets {
namespace {

using testing_support::TempFolder;

Dataset numbers(std::vector<float> values) {
  const auto count = static_cast<int64_t>(values.size());
  Tensor labels(DType::i32, {count});
  return Dataset::from_tensors(Tensor({count, 1}, values), std::move(labels));
}

TEST(Fingerprint, EverySampleOfAnArrayCounts) {
  std::vector<float> values(600, 0.25f);  // more than are read at once
  const std::string first = fingerprint_of_arrays(numbers(values));
  EXPECT_EQ(fingerprint_of_arrays(numbers(values)), first);
  values.back() = 0.5f;
  EXPECT_NE(fingerprint_of_arrays(numbers(values)), first);
}

struct Files {
  explicit Files(int count) {
    for (int i = 0; i < count; ++i) add(std::to_string(i), "content " + std::to_string(i));
  }
  void add(const std::string& name, const std::string& text) {
    names.push_back(folder.write_text(name, text));
  }
  std::string fingerprint() const { return fingerprint_of_files(folder.path(), names); }

  TempFolder folder;
  std::vector<std::string> names;
};

TEST(Fingerprint, ThePlaceOfFilesDoesNotMatter) {
  EXPECT_EQ(Files(5).fingerprint(), Files(5).fingerprint());
  EXPECT_NE(Files(5).fingerprint(), Files(4).fingerprint());
}

TEST(Fingerprint, NamesSizesAndBothEndsOfFilesMatter) {
  const auto of = [](const std::string& name, const std::string& text) {
    Files files(3);
    files.add(name, text);
    return files.fingerprint();
  };
  const std::string large(300000, 'x');
  std::string first = large;
  first.front() = 'y';
  std::string last = large;
  last.back() = 'y';
  const std::string plain = of("a", large);
  EXPECT_EQ(of("a", large), plain);
  EXPECT_NE(of("b", large), plain);
  EXPECT_NE(of("a", large + "x"), plain);
  EXPECT_NE(of("a", first), plain);
  EXPECT_NE(of("a", last), plain);
}

TEST(Fingerprint, SmallFilesAreReadWhole) {
  Files files(1);
  const std::string before = files.fingerprint();
  files.folder.write_text("0", "contend 0");
  EXPECT_NE(files.fingerprint(), before);
}

TEST(Fingerprint, AFileThatIsGoneIsAnError) {
  Files files(2);
  std::filesystem::remove(files.names[0]);
  EXPECT_THROW(files.fingerprint(), IoError);
}

}  // namespace
}  // namespace pando::datasets
