#include "pando/launch/run_reference.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "pando/launch/run_options.h"

namespace pando::launch {
namespace {

TEST(RunReference, TheFileIsWhatTheTableSays) {
  std::ifstream file(PANDO_SOURCE_DIR "/docs/reference/run.md");
  std::ostringstream text;
  text << file.rdbuf();
  // Not EXPECT_EQ: it would print both documents.
  EXPECT_TRUE(text.str() == run_reference())
      << "docs/reference/run.md differs from the flags; generate it again:\n"
         "  pando run --help-markdown > docs/reference/run.md";
}

TEST(RunReference, IsPrintedByAFlag) {
  std::ostringstream out;
  const std::vector<std::string> args = {"--help-markdown"};
  EXPECT_FALSE(parse_run_options(args, out).has_value());
  EXPECT_EQ(out.str(), run_reference());
}

}  // namespace
}  // namespace pando::launch
