#include "pando/data/tfrecord/record_file.h"

#include <csignal>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "pando/data/sources/gzip.h"
#include "tests/data/record_files.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

// Made with python3-crc32c from the description of the format: "pando", then an empty record.
const Bytes kGolden = {0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xea, 0xb2, 0x04, 0x3e, 0x70,
                       0x61, 0x6e, 0x64, 0x6f, 0xb2, 0xdd, 0x13, 0x85, 0x00, 0x00, 0x00, 0x00, 0x00,
                       0x00, 0x00, 0x00, 0x29, 0x03, 0x98, 0x07, 0xd8, 0xea, 0x82, 0xa2};

const std::vector<Bytes> kPayloads = {bytes_of("first"), {}, bytes_of("the third record")};

struct Outcome {
  std::vector<Bytes> payloads;
  std::string error;  // of the first bad record or file
};

Outcome read_all(RecordReader& reader) {
  Outcome outcome;
  try {
    while (const auto payload = reader.next()) {
      outcome.payloads.emplace_back(payload->begin(), payload->end());
    }
  } catch (const IoError& error) {
    outcome.error = error.what();
  }
  return outcome;
}

Outcome read_all(const Bytes& content, const RecordReaderOptions& options = {}) {
  try {
    RecordReader reader(content, "dir/file", options);
    return read_all(reader);
  } catch (const IoError& error) {
    return {{}, error.what()};
  }
}

Bytes compressed(const Bytes& plain, Compression compression) {
  if (compression == Compression::none) return plain;
  Bytes packed;
  data::Deflater deflater(compression, 6, [&](std::span<const uint8_t> bytes) {
    packed.insert(packed.end(), bytes.begin(), bytes.end());
  });
  deflater.write(plain);
  deflater.finish();
  return packed;
}

Bytes first_bytes(const Bytes& bytes, size_t count) {
  return Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
}

TEST(RecordFile, GoldenBytes) {
  EXPECT_EQ(records({bytes_of("pando"), {}}), kGolden);
  const Outcome outcome = read_all(kGolden);
  EXPECT_EQ(outcome.payloads, (std::vector<Bytes>{bytes_of("pando"), {}}));
  EXPECT_EQ(outcome.error, "");
}

TEST(RecordFile, RoundTripInEveryCompression) {
  const TempFolder directory;
  std::vector<Bytes> payloads = kPayloads;
  payloads.push_back(counting_bytes(1'000'003, 250));  // longer than any buffer
  for (int i = 0; i < 3000; ++i) payloads.push_back(counting_bytes(static_cast<size_t>(i % 300)));
  const std::string path = directory.path("file.tfrecord");
  for (const auto compression : {Compression::none, Compression::gzip, Compression::zlib}) {
    RecordWriter writer(path, {.compression = compression});
    for (const Bytes& payload : payloads) writer.write(payload);
    EXPECT_EQ(writer.records(), static_cast<int64_t>(payloads.size()));
    writer.finish();
    for (const auto chosen : {Compression::automatic, compression}) {
      RecordReader reader(path, {.compression = chosen});
      EXPECT_EQ(reader.compression(), compression);
      const Outcome outcome = read_all(reader);
      EXPECT_EQ(outcome.error, "");
      EXPECT_EQ(outcome.payloads, payloads);
      EXPECT_EQ(reader.records(), static_cast<int64_t>(payloads.size()));
    }
  }
}

TEST(RecordFile, AnEmptyFileHasNoRecords) {
  const TempFolder directory;
  RecordWriter(directory.path("empty")).finish();
  EXPECT_EQ(std::filesystem::file_size(directory.path("empty")), 0u);
  RecordReader reader(directory.path("empty"));
  EXPECT_FALSE(reader.next().has_value());
  EXPECT_FALSE(reader.next().has_value());
  for (const auto compression : {Compression::gzip, Compression::zlib}) {
    const Outcome outcome = read_all(compressed({}, compression));
    EXPECT_TRUE(outcome.payloads.empty());
    EXPECT_EQ(outcome.error, "");
    EXPECT_NE(read_all({}, {.compression = compression}).error, "");
  }
}

TEST(RecordFile, KnowsWhereRecordsBegin) {
  const Bytes content = records(kPayloads);
  RecordReader reader(content, "file");
  const std::vector<uint64_t> offsets = {0, 21, 37, content.size()};
  for (size_t i = 0; i < kPayloads.size(); ++i) {
    ASSERT_TRUE(reader.next().has_value());
    EXPECT_EQ(reader.record_offset(), offsets[i]);
    EXPECT_EQ(reader.next_offset(), offsets[i + 1]);
  }
}

// The length 0x88b1f begins like gzip, 0x9c78 like zlib; the valid crcs show that they are lengths.
TEST(RecordFile, APlainFileMayBeginLikeACompressedOne) {
  for (const size_t length : {0x88b1fu, 0x9c78u}) {
    const Bytes content = record(Bytes(length, 1));
    EXPECT_NE(data::sniff_compression(content), Compression::none);
    EXPECT_EQ(read_all(content).payloads.size(), 1u);
  }
}

TEST(RecordFile, TruncatedTailsSayWhatIsWhole) {
  const Bytes content = records(kPayloads);
  EXPECT_SAYS(read_all(first_bytes(content, 60)).error, "dir/file", "2 complete", "truncated",
              "byte 60", "record 2", "byte 37", "20 bytes", "payload", "crc", "11");
  EXPECT_SAYS(read_all(first_bytes(content, 25)).error, "dir/file", "1 complete", "truncated",
              "byte 25", "record 1", "byte 21", "12 bytes", "header");
}

TEST(RecordFile, TruncationAtEveryByte) {
  for (const auto compression : {Compression::none, Compression::gzip, Compression::zlib}) {
    const Bytes content = compressed(records(kPayloads), compression);
    for (size_t kept = 1; kept < content.size(); ++kept) {
      const Outcome outcome = read_all(first_bytes(content, kept), {.compression = compression});
      const bool at_boundary = compression == Compression::none && (kept == 21 || kept == 37);
      EXPECT_EQ(outcome.error.empty(), at_boundary) << to_string(compression) << ' ' << kept;
      if (outcome.error.empty()) continue;
      EXPECT_NE(outcome.error.find(concat(outcome.payloads.size(), " complete record")),
                std::string::npos)
          << outcome.error;
      EXPECT_NE(outcome.error.find("truncated at"), std::string::npos) << outcome.error;
      for (size_t i = 0; i < outcome.payloads.size(); ++i) {
        EXPECT_EQ(outcome.payloads[i], kPayloads[i]);
      }
    }
  }
}

// Every flipped bit in a plain file is detected. A compressed file has bits without a meaning, but
// payloads never change.
TEST(RecordFile, FlippedBitsAtEveryByte) {
  for (const auto compression : {Compression::none, Compression::gzip, Compression::zlib}) {
    const Bytes content = compressed(records(kPayloads), compression);
    for (size_t bit = 0; bit < 8 * content.size(); ++bit) {
      Bytes flipped = content;
      flipped[bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
      const Outcome outcome = read_all(flipped);
      const bool found = !outcome.error.empty();
      EXPECT_TRUE(found || (compression != Compression::none && outcome.payloads == kPayloads))
          << "bit " << bit;
      if (found) {
        EXPECT_TRUE(outcome.error.starts_with("dir/file: ")) << outcome.error;
        EXPECT_NE(outcome.error.find("byte"), std::string::npos) << outcome.error;
      }
      for (size_t i = 0; i < outcome.payloads.size(); ++i) {
        EXPECT_EQ(outcome.payloads[i], kPayloads[i]);
      }
    }
  }
}

TEST(RecordFile, ErrorsNameFoundAndWanted) {
  Bytes content = kGolden;
  content[0] = 6;
  EXPECT_SAYS(read_all(content).error, "dir/file", "record 0", "byte 0", "crc", "length",
              "0x3e04b2ea", "0x37d56973");
  content = kGolden;
  content[17] = 0xb3;
  EXPECT_SAYS(read_all(content).error, "dir/file", "record 0", "byte 0", "crc", "5 bytes",
              "0x8513ddb3", "0x8513ddb2");
  EXPECT_SAYS(read_all(compressed(content, Compression::gzip)).error, "dir/file", "record 0",
              "uncompressed", "byte 0", "crc", "5 bytes", "0x8513ddb3", "0x8513ddb2");
}

TEST(RecordFile, HugeLengthsCostNoMemory) {
  const uint64_t most = std::numeric_limits<uint64_t>::max();
  for (const uint64_t length : {most, most - 15, most - 3, uint64_t{1} << 63, uint64_t{1} << 40}) {
    const Bytes content = header_of_length(length) + bytes_of("payload");
    for (const Bytes& bytes : {content, compressed(content, Compression::gzip)}) {
      const std::string error = read_all(bytes).error;
      EXPECT_SAYS(error, concat(length, " bytes"), "at most 268435456");
    }
  }
  // Within the bound, but more than the file has.
  const Bytes content = header_of_length(kMostRecordBytes) + bytes_of("payload");
  EXPECT_SAYS(read_all(content).error, "dir/file", "0 complete", "truncated", "byte 19", "record 0",
              "byte 0", "268435460 bytes", "payload", "crc");
  EXPECT_SAYS(read_all(compressed(content, Compression::zlib)).error, "dir/file", "0 complete",
              "truncated", "uncompressed", "byte 19", "record 0", "byte 0", "268435460 bytes",
              "payload", "crc");
  // Even without a bound, lengths do not wrap around.
  EXPECT_NE(read_all(header_of_length(most - 3), {.most_record_bytes = most}).error, "");
  EXPECT_NE(read_all(record(Bytes(11)), {.most_record_bytes = 10}).error, "");
  EXPECT_EQ(read_all(record(Bytes(10)), {.most_record_bytes = 10}).error, "");
}

TEST(RecordFile, GoesOnBehindABadPayloadOnly) {
  Bytes content = records(kPayloads);
  content[13] ^= 1;
  RecordReader reader(content, "file");
  EXPECT_THROW(reader.next(), BadRecordError);
  EXPECT_EQ(reader.record_offset(), 0u);
  EXPECT_EQ(reader.next_offset(), 21u);
  EXPECT_EQ(read_all(reader).payloads.size(), 2u);

  content = records(kPayloads);
  content[22] ^= 1;  // the length of the second record
  RecordReader lost(content, "file");
  EXPECT_TRUE(lost.next().has_value());
  for (int i = 0; i < 2; ++i) {
    EXPECT_THROW(lost.next(), BadRecordError);
    EXPECT_EQ(lost.next_offset(), lost.record_offset());
  }
}

TEST(RecordFile, WrongChoiceOfCompressionIsAnError) {
  const Bytes plain = records(kPayloads);
  EXPECT_NE(read_all(plain, {.compression = Compression::gzip}).error, "");
  EXPECT_NE(read_all(plain, {.compression = Compression::zlib}).error, "");
  EXPECT_NE(
      read_all(compressed(plain, Compression::gzip), {.compression = Compression::none}).error, "");
  EXPECT_NE(
      read_all(compressed(plain, Compression::zlib), {.compression = Compression::gzip}).error, "");
}

TEST(RecordFile, MissingFiles) {
  const TempFolder directory;
  EXPECT_THROW(RecordReader(directory.path("absent")), IoError);
  EXPECT_THROW(RecordReader{directory.path()}, IoError);
}

TEST(RecordWriter, NothingStaysWithoutFinish) {
  const TempFolder directory;
  { RecordWriter(directory.path("file")).write(Bytes{1}); }
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

// A limit on file sizes stands in for a full disk.
TEST(RecordWriter, AFullDiskLeavesTheOldFile) {
  const TempFolder directory;
  const std::string path = directory.write("file", record({1}));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 1000, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  std::vector<std::string> errors;
  for (const auto compression : {Compression::none, Compression::gzip}) {
    try {
      RecordWriter writer(path, {.compression = compression, .level = 0});
      for (int i = 0; i < 100; ++i) writer.write(counting_bytes(5000, 253));
      writer.finish();
    } catch (const IoError& error) {
      errors.emplace_back(error.what());
    }
  }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  ASSERT_EQ(errors.size(), 2u);
  for (const std::string& error : errors) {
    EXPECT_SAYS(error, path, "File too large");
  }
  EXPECT_EQ(data::read_file(path), record({1}));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1);
}

TEST(RecordWriter, RefusesWhatItCannotDo) {
  const TempFolder directory;
  const std::string path = directory.path("file");
  EXPECT_THROW(RecordWriter(path, {.compression = Compression::automatic}), InvalidArgument);
  EXPECT_THROW(RecordWriter(path, {.compression = Compression::gzip, .level = 11}),
               InvalidArgument);
  EXPECT_THROW(RecordWriter(directory.path("absent/file")), IoError);
  RecordWriter writer(path);
  writer.finish();
  EXPECT_THROW(writer.write(Bytes{1}), InternalError);
  EXPECT_THROW(writer.finish(), InternalError);
}

}  // namespace
}  // namespace pando
