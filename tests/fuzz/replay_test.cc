// Feeds every file of the corpora to its fuzz target, so that no input that once crashed a reader
// does so again, with any compiler.
#include <set>

#include "tests/fuzz/corpus.h"

namespace pando {
namespace {

class Replay : public testing::TestWithParam<fuzz::Target> {};

TEST_P(Replay, EveryFileOfTheCorpus) {
  int files = 0;
  for (const fuzz::CorpusFile& file : fuzz::corpus_of(GetParam())) {
    SCOPED_TRACE(file.path);
    EXPECT_NO_THROW(GetParam().run(file.bytes));
    ++files;
  }
  EXPECT_GT(files, 0);
}

TEST_P(Replay, EveryStartOfTheSmallestFile) {
  const std::vector<fuzz::CorpusFile> files = fuzz::corpus_of(GetParam());
  const auto size = [](const fuzz::CorpusFile& file) { return file.bytes.size(); };
  const std::vector<uint8_t>& smallest = std::ranges::min_element(files, {}, size)->bytes;
  for (size_t length = 0; length < smallest.size(); ++length) {
    EXPECT_NO_THROW(GetParam().run(fuzz::Input(smallest).first(length))) << length << " bytes";
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Replay, testing::ValuesIn(fuzz::kTargets),
                         [](const auto& instance) { return instance.param.name; });

TEST(Targets, EveryFolderOfTheCorpusHasOne) {
  std::set<std::string> names;
  for (const fuzz::Target& target : fuzz::kTargets) names.insert(target.name);
  std::set<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(fuzz::kCorpus)) {
    folders.insert(entry.path().filename());
  }
  EXPECT_EQ(folders, names);
}

}  // namespace
}  // namespace pando
