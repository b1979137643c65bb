// Exchanges CIFAR files between Pando and Python in both directions.
#include <cstdlib>

#include <gtest/gtest.h>

#include "pando/data/sources/cifar/batch.h"
#include "pando/data/sources/gzip.h"
#include "tests/data/cifar_files.h"
#include "tests/data/idx_files.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

class CifarPython : public testing::Test {
 protected:
  void SetUp() override { need("numpy"); }
  static void need(const std::string& module) {
    if (std::system((PANDO_PYTHON " -c 'import " + module + "' 2>/dev/null").c_str()) != 0) {
      GTEST_SKIP() << PANDO_PYTHON " has no " << module << "; on Debian install python3-" << module;
    }
  }
  void run(const std::string& arguments) const {
    const std::string command =
        concat(PANDO_PYTHON, " '", PANDO_SOURCE_DIR, "/tests/data/cifar_check.py' ", arguments);
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
  CifarImages read(const std::string& name, data::CifarKind kind = data::CifarKind::cifar10) const {
    return data::parse_cifar_python(data::read_file(directory_.path(name)), name, kind);
  }
  std::string error_of(const std::string& name) const {
    return testing_support::error_of<IoError>([&] { read(name); });
  }
  TempFolder directory_;
};

// Checks images and labels against those that cifar_check.py makes.
void expect_made_by_python(const CifarImages& batch, int64_t count) {
  ASSERT_EQ(batch.images.shape(), (Shape{count, 32, 32, 3}));
  for (int64_t i = 0; i < count; ++i) {
    ASSERT_EQ(batch.labels.i32()[static_cast<size_t>(i)], (3 * i + 1) % 10);
    for (int64_t pixel = 0; pixel < 1024; ++pixel) {
      for (int64_t colour = 0; colour < 3; ++colour) {
        const int64_t at = colour * 1024 + pixel;
        ASSERT_EQ(batch.images.u8()[static_cast<size_t>(i * 3072 + 3 * pixel + colour)],
                  (at * 7 + i * 31 + at / 256) % 256);
      }
    }
  }
}

TEST_F(CifarPython, WhatEveryProtocolWritesIsRead) {
  run("write '" + directory_.path() + "'");
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("good_")) continue;
    SCOPED_TRACE(name);
    expect_made_by_python(read(name), 20);
    ++files;
  }
  EXPECT_GE(files, 24);
  const CifarImages fine = read("fine_2", data::CifarKind::cifar100);
  EXPECT_EQ(fine.labels.i32()[19], 99 - 19);
  EXPECT_EQ(fine.coarse_labels.i32()[19], 19);
}

TEST_F(CifarPython, WhatIsNoBatchIsRefused) {
  run("write '" + directory_.path() + "'");
  EXPECT_SAYS(error_of("bad_system"), "asks for 'posix.system'");
  EXPECT_SAYS(error_of("bad_float"), "opcode BINFLOAT");
  EXPECT_SAYS(error_of("bad_no_data"), "dict", "keys", "'data'");
  EXPECT_SAYS(error_of("bad_no_labels"), "keys", "'labels'");
  EXPECT_SAYS(error_of("bad_label"), "label 10", "0 to 9");
  EXPECT_SAYS(error_of("bad_label_array"), "label -1", "0 to 9");
  EXPECT_SAYS(error_of("bad_label_kind"), "text", "1 bytes", "integer");
  EXPECT_SAYS(error_of("bad_label_type"), "array", "1 axes", "'f'");
  EXPECT_SAYS(error_of("bad_label_count"), "19 labels", "20");
  EXPECT_SAYS(error_of("bad_shape"), "u1", "[20,3071]", "[count,3072]");
  EXPECT_SAYS(error_of("bad_type"), "f4", "[20,3072]");
  EXPECT_SAYS(error_of("bad_list"), "list", "0 items", "dict");
  EXPECT_SAYS(error_of("fine_2"), "coarse_labels, data");
}

TEST_F(CifarPython, TruncationsAndFlipsAreHarmless) {
  run("write '" + directory_.path() + "'");
  for (const char* name :
       {"good_str_list_2", "good_bytes_list_2", "good_str_list_4", "good_str_list_5"}) {
    const Bytes whole = data::read_file(directory_.path(name));
    const auto parse = [&](const Bytes& content) {
      return data::parse_cifar_python(content, name, data::CifarKind::cifar10);
    };
    for (size_t kept = 0; kept < whole.size(); kept += kept < 400 ? 1 : 997) {
      const Bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(kept));
      EXPECT_THROW(parse(part), IoError) << name << ", " << kept << " bytes kept";
    }
    RandomStream random(5);
    for (int i = 0; i < 2000; ++i) {
      Bytes content = whole;
      const size_t below = i % 4 == 0 ? whole.size() : std::min<size_t>(whole.size(), 500);
      content[random.next_below(below)] ^= static_cast<uint8_t>(1u << random.next_below(8));
      try {
        const CifarImages images = parse(content);
        EXPECT_EQ(images.images.shape()[0], 20);
        for (const int32_t label : images.labels.i32()) EXPECT_TRUE(label >= 0 && label < 10);
      } catch (const IoError&) {
      }
    }
  }
}

// Whatever Python writes with the labels first: the images before the cut are read.
TEST_F(CifarPython, TruncatedPicklesAreSalvaged) {
  run("write '" + directory_.path() + "'");
  for (const char* name : {"good_str_list_2", "good_bytes_list_2", "good_bytes_list_3",
                           "good_str_list_4", "good_str_array_2"}) {
    SCOPED_TRACE(name);
    const Bytes whole = data::read_file(directory_.path(name));
    const auto salvage = [&](size_t kept) {
      const Bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(kept));
      std::vector<data::CifarFlaw> flaws;
      CifarImages images = data::parse_cifar_python(part, name, data::CifarKind::cifar10, &flaws);
      EXPECT_EQ(flaws.size(), 1u);
      return images;
    };
    for (size_t kept = 0; kept < 400; ++kept) {
      EXPECT_THROW(salvage(kept), IoError) << kept << " bytes kept";
    }
    expect_made_by_python(salvage(whole.size() - 1), 20);
    const CifarImages some = salvage(whole.size() / 2);
    EXPECT_NEAR(static_cast<double>(some.images.shape()[0]), 10, 1);
    expect_made_by_python(some, some.images.shape()[0]);
  }
}

TEST_F(CifarPython, ReadsWhatWeWrite) {
  write_cifar10_python(directory_.path("cifar-10-batches-py"), random_files());
  write_cifar10_binary(directory_.path("cifar-10-batches-bin"), random_files());
  write_cifar100_python(directory_.path("cifar-100-python"), random_files(100));
  write_cifar100_binary(directory_.path("cifar-100-binary"), random_files(100));
  run("read '" + directory_.path() + "'");
}

TEST_F(CifarPython, TorchvisionReadsWhatWeWrite) {
  need("torchvision");
  if (IsSkipped()) return;
  write_cifar10_python(directory_.path("cifar-10-batches-py"), random_files());
  write_cifar10_binary(directory_.path("cifar-10-batches-bin"), random_files());
  write_cifar100_python(directory_.path("cifar-100-python"), random_files(100));
  write_cifar100_binary(directory_.path("cifar-100-binary"), random_files(100));
  run("torchvision '" + directory_.path() + "'");
}

}  // namespace
}  // namespace pando
