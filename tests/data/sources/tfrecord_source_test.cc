#include "pando/data/sources/tfrecord_source.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "pando/data/tfrecord/record_index.h"
#include "tests/data/record_files.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

Bytes labelled(int64_t label) {
  return ExampleBuilder()
      .ints("label", {label})
      .bytes("pixels", Bytes(3, static_cast<uint8_t>(label)))
      .encode();
}

// Pixels and a label below 100.
TfrecordOptions labelled_options(OnBadRecord on_bad_record = OnBadRecord::error) {
  return {.fields = {{"x", DType::u8, {3}}, {"y", DType::i32, {}}},
          .decode =
              [](const Example& example, const SampleView& sample) {
                const int64_t label = example.integer("label");
                if (label >= 100) throw InvalidArgument("label is ", label, ", expected below 100");
                std::ranges::copy(example.bytes("pixels"), sample.u8(0).begin());
                sample.i32(1)[0] = static_cast<int32_t>(label);
              },
          .on_bad_record = on_bad_record};
}

std::vector<int32_t> labels_of(const Dataset& data) {
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < data.size(); ++i) {
    const Sample sample = data.get(i);
    labels.push_back(sample.y().i32()[0]);
    EXPECT_EQ(sample.x().u8()[2], labels.back());
  }
  return labels;
}

class TfrecordSourceTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const Bytes& bytes) {
    return directory_.write(name, bytes);
  }
  TempFolder directory_;
};

TEST_F(TfrecordSourceTest, RecordsOfAllFilesInAnyOrder) {
  const std::vector<std::string> paths = {
      write("a", records({labelled(1), labelled(2)})), write("b", {}),
      write("c", records({labelled(3), labelled(4), labelled(5)}))};
  const RecordDataset set = open_tfrecords(paths, labelled_options());
  EXPECT_TRUE(set.skipped.empty());
  EXPECT_EQ(set.records_per_file, (std::vector<int64_t>{2, 0, 3}));
  EXPECT_EQ(labels_of(set.data), (std::vector<int32_t>{1, 2, 3, 4, 5}));
  std::vector<Tensor> batch = {Tensor(DType::u8, {4, 3}), Tensor(DType::i32, {4})};
  set.data.gather(std::vector<int64_t>{4, 0, 2, 0}, batch);
  EXPECT_EQ(std::vector<int32_t>(batch[1].i32().begin(), batch[1].i32().end()),
            (std::vector<int32_t>{5, 1, 3, 1}));
}

TEST_F(TfrecordSourceTest, WhatTheFunctionLeavesOutIsZero) {
  TfrecordOptions lazy = labelled_options();
  lazy.decode = [](const Example&, const SampleView&) {};
  const RecordDataset set = open_tfrecords({write("a", record(labelled(7)))}, lazy);
  std::vector<Tensor> batch = {Tensor(DType::u8, {1, 3}), Tensor::of_i32({1}, {9})};
  set.data.gather(std::vector<int64_t>{0}, batch);
  EXPECT_EQ(batch[1].i32()[0], 0);
}

TEST_F(TfrecordSourceTest, ABadPayloadIsFoundWhenItIsGathered) {
  Bytes content = records({labelled(1), labelled(2)});
  const size_t second = content.size() / 2;
  content[second + 20] ^= 1;
  const std::string path = write("a", content);
  const RecordDataset set = open_tfrecords({path}, labelled_options());
  EXPECT_EQ(set.data.size(), 2);
  EXPECT_EQ(set.data.get(0).y().i32()[0], 1);
  try {
    set.data.get(1);
    FAIL();
  } catch (const BadRecordError& error) {
    EXPECT_EQ(error.record().file, path);
    EXPECT_EQ(error.record().offset, second);
    EXPECT_TRUE(error.record().why.starts_with(concat("record at byte ", second, ": the crc of")));
  }
}

TEST_F(TfrecordSourceTest, WhatTheFunctionRefusesNamesTheRecord) {
  const std::string path =
      write("a", records({labelled(100), ExampleBuilder().floats("label", {}).encode(), {0x80}}));
  const Dataset data = open_tfrecords({path}, labelled_options()).data;
  EXPECT_SAYS(error_of<IoError>([&] { data.get(0); }), path, "byte 0", "below 100");
  EXPECT_SAYS(error_of<IoError>([&] { data.get(1); }), "tf.train.Example", "'label'", "float_list",
              "int64_list");
  EXPECT_SAYS(error_of<IoError>([&] { data.get(2); }), "byte 0");
}

TEST_F(TfrecordSourceTest, DamagedHeadersAndTruncationAreFoundAtOnce) {
  const Bytes whole = records({labelled(1), labelled(2)});
  const size_t second = whole.size() / 2;
  for (size_t kept = 1; kept < whole.size(); ++kept) {
    const std::string path =
        write("a", Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(kept)));
    if (kept == second) {
      EXPECT_NO_THROW(open_tfrecords({path}, labelled_options()));
      continue;
    }
    const std::string error =
        error_of<IoError>([&] { open_tfrecords({path}, labelled_options()); });
    const std::string wanted =
        concat(path, kept < second ? ": 0 complete records" : ": 1 complete record",
               ", truncated at byte ", kept, ": ");
    EXPECT_TRUE(error.starts_with(wanted)) << error;
  }
  for (size_t byte = 0; byte < data::kRecordHeaderBytes; ++byte) {
    Bytes flipped = whole;
    flipped[second + byte] ^= 0x40;
    const std::string path = write("a", flipped);
    const std::string error =
        error_of<IoError>([&] { open_tfrecords({path}, labelled_options()); });
    EXPECT_TRUE(
        error.starts_with(concat(path, ": record 1 at byte ", second, ": the crc of its length ")))
        << error;
  }
}

TEST_F(TfrecordSourceTest, SkipLeavesOutAndLists) {
  Bytes bad_payload = records({labelled(1), labelled(2), labelled(3)});
  bad_payload[20] ^= 1;
  Bytes bad_header = records({labelled(4), labelled(5), labelled(6)});
  const size_t second = bad_header.size() / 3;
  bad_header[second] ^= 1;
  Bytes cut = records({labelled(7), labelled(8)});
  cut.pop_back();
  const std::vector<std::string> paths = {write("a", bad_payload), write("b", bad_header),
                                          write("c", cut),
                                          write("d", records({labelled(100), labelled(9)}))};
  const RecordDataset set = open_tfrecords(paths, labelled_options(OnBadRecord::skip));
  EXPECT_EQ(labels_of(set.data), (std::vector<int32_t>{2, 3, 4, 7, 9}));
  EXPECT_EQ(set.records_per_file, (std::vector<int64_t>{2, 1, 1, 1}));
  ASSERT_EQ(set.skipped.size(), 4u);
  const std::vector<uint64_t> offsets = {0, second, second, 0};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(set.skipped[i].file, paths[i]);
    EXPECT_EQ(set.skipped[i].offset, offsets[i]);
  }
  EXPECT_TRUE(set.skipped[1].why.ends_with("; the rest of the file is left out"));
  EXPECT_TRUE(set.skipped[2].why.starts_with("1 complete record, truncated at byte "));
  EXPECT_SAYS(set.skipped[3].why, "byte 0", "below 100");
}

TEST_F(TfrecordSourceTest, SkipIsTheSameForAnyNumberOfWorkers) {
  std::vector<std::string> paths;
  for (int64_t file = 0; file < 7; ++file) {
    std::vector<Bytes> payloads;
    for (int64_t i = 0; i < 20; ++i) payloads.push_back(labelled(90 + (file + i) % 13));
    paths.push_back(write(concat("file", file), records(payloads)));
  }
  const RecordDataset alone = open_tfrecords(paths, labelled_options(OnBadRecord::skip));
  EXPECT_EQ(alone.data.size() + std::ssize(alone.skipped), 140);
  EXPECT_GT(alone.skipped.size(), 20u);
  for (const int workers : {2, 5}) {
    TfrecordOptions several = labelled_options(OnBadRecord::skip);
    several.workers = workers;
    several.index_folder = directory_.path("index");
    const RecordDataset set = open_tfrecords(paths, several);
    EXPECT_EQ(set.skipped, alone.skipped);
    EXPECT_EQ(set.records_per_file, alone.records_per_file);
    EXPECT_EQ(labels_of(set.data), labels_of(alone.data));
  }
}

TEST_F(TfrecordSourceTest, SkipTriesTheCheckWhereThereIsOne) {
  TfrecordOptions strict = labelled_options(OnBadRecord::skip);
  strict.check = [](const Example& example) {
    if (example.integer("label") == 2) throw IoError("no twos");
  };
  const std::string path = write("a", records({labelled(1), labelled(2), labelled(3)}));
  const RecordDataset set = open_tfrecords({path}, strict);
  EXPECT_EQ(labels_of(set.data), (std::vector<int32_t>{1, 3}));
  ASSERT_EQ(set.skipped.size(), 1u);
  EXPECT_TRUE(set.skipped[0].why.ends_with(": no twos"));
}

TEST_F(TfrecordSourceTest, AnIndexIsKeptWhereWanted) {
  const std::string path = write("a", records({labelled(1), labelled(2)}));
  TfrecordOptions indexed = labelled_options();
  indexed.index_folder = directory_.path("index");
  EXPECT_EQ(open_tfrecords({path}, indexed).data.size(), 2);
  EXPECT_TRUE(std::filesystem::exists(data::index_path(indexed.index_folder, {path})));
  EXPECT_EQ(labels_of(open_tfrecords({path}, indexed).data), (std::vector<int32_t>{1, 2}));
}

TEST_F(TfrecordSourceTest, NoRecordAtAllIsAnError) {
  const std::string path = write("a", {});
  EXPECT_SAYS(error_of<IoError>([&] { open_tfrecords({path, path}, labelled_options()); }), path);
  const std::string bad = write("b", record(labelled(100)));
  EXPECT_SAYS(
      error_of<IoError>([&] { open_tfrecords({bad}, labelled_options(OnBadRecord::skip)); }), bad,
      "byte 0", "below 100");
}

TEST_F(TfrecordSourceTest, FilesThatCannotServe) {
  const std::string packed = write("a.gz", gzip(record(labelled(1))));
  for (const auto choice : {OnBadRecord::error, OnBadRecord::skip}) {
    EXPECT_SAYS(error_of<IoError>([&] { open_tfrecords({packed}, labelled_options(choice)); }),
                packed, "gzip", "stream", "RecordReader");
    EXPECT_THROW(open_tfrecords({directory_.path("absent")}, labelled_options(choice)), IoError);
  }
  EXPECT_THROW(open_tfrecords({}, labelled_options()), InvalidArgument);
  const std::string path = write("a", record(labelled(1)));
  EXPECT_THROW(open_tfrecords({path}, {.fields = labelled_options().fields}), InvalidArgument);
  EXPECT_THROW(open_tfrecords({path}, {.decode = labelled_options().decode}), InvalidArgument);
  TfrecordOptions idle = labelled_options();
  idle.workers = 0;
  EXPECT_THROW(open_tfrecords({path}, idle), InvalidArgument);
  TfrecordOptions short_records = labelled_options();
  short_records.most_record_bytes = 5;
  EXPECT_THROW(open_tfrecords({path}, short_records), BadRecordError);
}

TEST_F(TfrecordSourceTest, AFileThatShrinksIsNamed) {
  const std::string path = write("a", records({labelled(1), labelled(2)}));
  const Dataset data = open_tfrecords({path}, labelled_options()).data;
  std::filesystem::resize_file(path, 30);
  EXPECT_TRUE(error_of<IoError>([&] {
                data.get(1);
              }).ends_with("the file has become shorter since it was opened"));
}

}  // namespace
}  // namespace pando
