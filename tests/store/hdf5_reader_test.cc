#include "pando/store/hdf5_reader.h"

#include <algorithm>
#include <cstring>

#include "pando/store/hdf5/checksum.h"
#include "pando/store/hdf5_writer.h"
#include "tests/store/store_support.h"

namespace pando::store {
namespace {

using FileContent = std::vector<uint8_t>;

constexpr Hdf5Reader::Options kAnySums{.check_sums = false};

FileContent content_of(Hdf5Writer& hdf5) {
  const std::span<const std::byte> bytes = hdf5.finish();
  const auto* begin = reinterpret_cast<const uint8_t*>(bytes.data());
  return {begin, begin + bytes.size()};
}

FileContent small_file() {
  Hdf5Writer hdf5 = Hdf5Writer::create("memory.h5", 0);
  hdf5.write_tensor("/a/b", Tensor::of_f32({3}, {1, 2, 4}));
  hdf5.write_string("/", "text", "value");
  hdf5.write_strings("/a", "names", {"x", "longer"});
  return content_of(hdf5);
}

// The place of the only occurrence of the bytes.
size_t place_of(const FileContent& content, const FileContent& bytes) {
  const auto found = std::search(content.begin(), content.end(), bytes.begin(), bytes.end());
  EXPECT_NE(found, content.end());
  return static_cast<size_t>(found - content.begin());
}

std::string refusal(const FileContent& content, const std::string& path = "/a/b") {
  return message_of<IoError>([&] {
    Hdf5Reader file(content, "memory.h5", kAnySums);
    file.read_tensor(path);
  });
}

TEST(Hdf5Reader, ReadsBytesInMemory) {
  const FileContent content = small_file();
  Hdf5Reader file(content, "memory.h5", {});
  EXPECT_EQ(file.children("/"), std::vector<std::string>{"a"});
  EXPECT_TRUE(file.is_group("/"));
  EXPECT_TRUE(file.is_dataset("a/b"));
  EXPECT_FALSE(file.is_dataset("/a"));
  EXPECT_EQ(file.read_tensor("/a/b").f32()[2], 4.0f);
  EXPECT_EQ(file.attribute_names("/a"), std::vector<std::string>{"names"});
  EXPECT_EQ(file.string_attributes("/").at("text"), "value");
}

TEST(Hdf5Reader, TheSameObjectMayBeReadAnyNumberOfTimes) {
  const FileContent content = small_file();
  Hdf5Reader file(content, "memory.h5", {});
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(file.read_tensor("/a/b").f32()[2], 4.0f);
    ASSERT_EQ(file.read_strings("/a", "names").size(), 2u);
  }
}

TEST(Hdf5Reader, NamesFileObjectAndCause) {
  const FileContent content = small_file();
  Hdf5Reader file(content, "memory.h5", {});
  const auto expect_refused = [](const std::vector<std::string>& tokens, const auto& call) {
    const std::string message = message_of<IoError>(call);
    expect_contains(message, "memory.h5");
    for (const std::string& token : tokens) expect_contains(message, token);
  };
  expect_refused({"'/b'", "no 'b'"}, [&] { file.read_tensor("/b"); });
  expect_refused({"not a dataset"}, [&] { file.read_tensor("/"); });
  expect_refused({"attribute 'names' of '/'"}, [&] { file.read_strings("/", "names"); });
  expect_refused({"expected numbers", "string"}, [&] { file.read_numbers("/", "text"); });
  expect_refused({"'/c'"}, [&] { file.has_attribute("/c", "x"); });
  expect_refused({"'/c'"}, [&] { file.string_attributes("/c"); });
  expect_refused({"'/c'"}, [&] { file.children("/c"); });
}

TEST(Hdf5Reader, OtherFilesHaveNoSignature) {
  const TempFolder dir;
  write_bytes(dir.path("text"), "this is no HDF5 file at all");
  const std::string message = message_of<IoError>([&] { Hdf5Reader file(dir.path("text")); });
  expect_contains(message, dir.path("text"));
  expect_contains(message, "signature");
}

TEST(Hdf5Reader, MetadataWithAWrongChecksumIsDamaged) {
  FileContent content = small_file();
  const size_t name = place_of(content, {'n', 'a', 'm', 'e', 's'});
  content[name] ^= 1;
  Hdf5Reader file(content, "memory.h5", {});
  const std::string message = message_of<IoError>([&] { file.read_tensor("/a/b"); });
  expect_contains(message, "checksum");
}

TEST(Hdf5Reader, AGroupMayContainItself) {
  const FileContent content = small_file();
  FileContent loop = content;
  // The link "b" of the group a leads to a's header, whose address is where the link "a" leads.
  const size_t a = place_of(content, {1, 'a'}) + 2;
  const size_t b = place_of(content, {1, 'b'}) + 2;
  std::copy_n(content.begin() + static_cast<std::ptrdiff_t>(a), 8,
              loop.begin() + static_cast<std::ptrdiff_t>(b));
  Hdf5Reader file(loop, "memory.h5", kAnySums);
  EXPECT_EQ(file.children("/a/b/b/b/b"), std::vector<std::string>{"b"});
}

TEST(Hdf5Reader, AnExtentThatTheFileDoesNotHoldIsRefusedBeforeAllocating) {
  FileContent content = small_file();
  // A dataspace of version 2: rank 1, with a largest shape, simple, and its extent.
  const size_t space = place_of(content, {2, 1, 1, 1, 3, 0, 0, 0, 0, 0, 0, 0});
  content[space + 8] = 4;  // 2^34 + 3 elements
  expect_contains(refusal(content), "12 are stored");
  content[space + 11] = 1;  // 2^56 + ...
  expect_contains(refusal(content), "too large");
}

TEST(Hdf5Reader, ALoopOfHeaderPartsEnds) {
  // A header of version 1 with one message: a continuation that is the header's own messages.
  FileContent content = small_file();
  uint64_t root = 0;
  constexpr size_t kRoot = 36;  // of a superblock of version 2
  std::memcpy(&root, content.data() + kRoot, 8);
  FileContent header = {1, 0, 1, 0, 1,    0, 0,  0, 24, 0, 0, 0,
                        0, 0, 0, 0, 0x10, 0, 16, 0, 0,  0, 0, 0};
  const uint64_t messages = root + 16;
  const uint64_t bytes = 24;
  const auto append = [&](uint64_t number) {
    const auto* begin = reinterpret_cast<const uint8_t*>(&number);
    header.insert(header.end(), begin, begin + 8);
  };
  append(messages);
  append(bytes);
  std::copy(header.begin(), header.end(), content.begin() + static_cast<std::ptrdiff_t>(root));
  expect_contains(refusal(content, "/a"), "loop");
}

TEST(Hdf5Reader, TensorsTogetherAreLimited) {
  const FileContent content = small_file();
  Hdf5Reader file(content, "memory.h5", {.most_bytes = 0});
  const size_t most = 64 * content.size() / 12;
  for (size_t i = 0; i < most; ++i) file.read_tensor("/a/b");
  expect_contains(message_of<IoError>([&] { file.read_tensor("/a/b"); }), "expands");
}

TEST(Hdf5Checksums, AreThoseOfTheFormat) {
  const std::string text = "Four score and seven years ago";
  const std::span bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  EXPECT_EQ(hdf5::metadata_checksum(bytes), 0x17770551u);
  EXPECT_EQ(hdf5::metadata_checksum({}), 0xdeadbeefu);
  const uint8_t words[] = {0, 1, 0, 2, 3};
  EXPECT_EQ(hdf5::fletcher32(words), (4u + 0x303u) << 16 | 0x303u);
}

}  // namespace
}  // namespace pando::store
