// Feeds every file of the corpora to its fuzz target, so that no input that once crashed a reader
// does so again, with any compiler.
#include <filesystem>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "pando/data/sources/gzip.h"
#include "tests/fuzz/targets.h"

namespace pando {
namespace {

namespace fs = std::filesystem;

struct Target {
  std::string name;  // its folder in the corpus
  void (*run)(fuzz::Input input);
};

const Target kTargets[] = {
    {"archive", fuzz::archive},
    {"boxes", fuzz::boxes},
    {"cifar_binary", fuzz::cifar_binary},
    {"command_line", fuzz::command_line},
    {"compression", fuzz::compression},
    {"cosmoflow", fuzz::cosmoflow},
    {"example", fuzz::example},
    {"graph_text", fuzz::graph_text},
    {"hdf5", fuzz::hdf5},
    {"hosts", fuzz::hosts},
    {"idx", fuzz::idx},
    {"imagenet", fuzz::imagenet},
    {"jpeg", fuzz::jpeg},
    {"json", fuzz::json},
    {"pickle", fuzz::pickle},
    {"png", fuzz::png},
    {"record_index", fuzz::record_index},
    {"tfrecord", fuzz::tfrecord},
    {"views", fuzz::views},
    {"yaml", fuzz::yaml},
};

const fs::path kCorpus = PANDO_SOURCE_DIR "/tests/fuzz/corpus";

class Replay : public testing::TestWithParam<Target> {};

TEST_P(Replay, EveryFileOfTheCorpus) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(kCorpus / GetParam().name)) {
    SCOPED_TRACE(entry.path().string());
    EXPECT_NO_THROW(GetParam().run(data::read_file(entry.path().string())));
    ++files;
  }
  EXPECT_GT(files, 0);
}

TEST_P(Replay, EveryStartOfTheSmallestFile) {
  std::vector<uint8_t> smallest;
  for (const auto& entry : fs::directory_iterator(kCorpus / GetParam().name)) {
    std::vector<uint8_t> bytes = data::read_file(entry.path().string());
    if (smallest.empty() || bytes.size() < smallest.size()) smallest = std::move(bytes);
  }
  for (size_t length = 0; length < smallest.size(); ++length) {
    EXPECT_NO_THROW(GetParam().run(fuzz::Input(smallest).first(length))) << length << " bytes";
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Replay, testing::ValuesIn(kTargets),
                         [](const auto& instance) { return instance.param.name; });

TEST(Targets, EveryFolderOfTheCorpusHasOne) {
  std::set<std::string> names;
  for (const Target& target : kTargets) names.insert(target.name);
  std::set<std::string> folders;
  for (const auto& entry : fs::directory_iterator(kCorpus)) folders.insert(entry.path().filename());
  EXPECT_EQ(folders, names);
}

}  // namespace
}  // namespace pando
