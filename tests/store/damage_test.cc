// Files that are cut off or changed: an error or a valid read, never a crash.
#include <random>

#include "tests/store/store_support.h"

namespace pando::store {
namespace {

constexpr size_t kSealBytes = 24;

// Returns true if the file gave weights, false if it gave an error that names the file.
bool reads(const std::string& path) {
  try {
    read_weights_file(path);
    return true;
  } catch (const IoError& error) {
    expect_contains(error.what(), path);
    return false;
  }
}

struct Example {
  TempFolder dir;
  std::string path = dir.path("a.h5");
  std::string bytes;
  Example() {
    write_weights_file(path, small_example());
    bytes = read_bytes(path);
  }
};

TEST(DamagedFile, MissingAndForeignFilesAreErrors) {
  const TempFolder dir;
  EXPECT_FALSE(reads(dir.path("none.h5")));
  EXPECT_FALSE(reads(dir.path()));
  write_bytes(dir.path("empty"), "");
  EXPECT_FALSE(reads(dir.path("empty")));
  write_bytes(dir.path("text"), std::string(5000, 't'));
  EXPECT_FALSE(reads(dir.path("text")));
}

TEST(DamagedFile, EveryCutIsAnError) {
  Example example;
  const size_t content = example.bytes.size() - kSealBytes;
  for (size_t length = 0; length < content; length += 64) {
    write_bytes(example.path, example.bytes.substr(0, length));
    EXPECT_FALSE(reads(example.path)) << length;
  }
  write_bytes(example.path, example.bytes.substr(0, content - 1));
  EXPECT_FALSE(reads(example.path));
  write_bytes(example.path, example.bytes.substr(0, content + 1));
  EXPECT_TRUE(reads(example.path));  // only the seal is damaged
}

TEST(DamagedFile, AnyChangedByteOfASealedFileIsAnError) {
  Example example;
  for (size_t i = 0; i < example.bytes.size() - kSealBytes; i += 7) {
    std::string bad = example.bytes;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    write_bytes(example.path, bad);
    ASSERT_FALSE(reads(example.path)) << i;
  }
}

// The number of errors among 500 damaged copies of a file without a seal.
int count_errors(const Example& example) {
  const std::string unsealed = example.bytes.substr(0, example.bytes.size() - kSealBytes);
  std::mt19937 random(7);
  int errors = 0;
  for (int round = 0; round < 500; ++round) {
    std::string bad = unsealed;
    const int changes = 1 + round % 3;
    for (int i = 0; i < changes; ++i) bad[random() % bad.size()] = static_cast<char>(random());
    write_bytes(example.path, bad);
    if (!reads(example.path)) ++errors;
  }
  return errors;
}

TEST(DamagedFile, ChangedBytesWithoutASealNeverCrash) {
  Example example;
  EXPECT_GT(count_errors(example), 0);
}

}  // namespace
}  // namespace pando::store
