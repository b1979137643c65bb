#include "pando/app/flags/train_reference.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "pando/app/flags/train_options.h"
#include "tests/options/option_fixture.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

TEST(TrainReference, TheFileIsWhatTheTableSays) {
  std::ifstream file(PANDO_SOURCE_DIR "/docs/reference/train.md");
  std::ostringstream text;
  text << file.rdbuf();
  // Not EXPECT_EQ: it would print both documents.
  EXPECT_TRUE(text.str() == train_reference())
      << "docs/reference/train.md is not what the flags say now; renew it by\n"
         "  pando train --help-markdown > docs/reference/train.md";
}

TEST(TrainReference, IsPrintedByAFlag) {
  std::ostringstream out;
  const std::vector<std::string> args = {"--help-markdown"};
  EXPECT_EQ(parse_train_options(args, out), std::nullopt);
  EXPECT_EQ(out.str(), train_reference());
}

TEST(MarkdownText, HasAllThatIsKnownOfAnOption) {
  const Fixture f;
  const std::string text = markdown_text(f.table);
  EXPECT_EQ(
      text.rfind(
          "### First\n\n- `--on [BOOL]`: a switch.\n  Value: true or false; default `false`.\n", 0),
      0u)
      << text;
  EXPECT_SAYS(text, "\n\n### Second\n\n");
  EXPECT_SAYS(text,
              "- `--count N`: how many.\n  Value: a whole number, at least 1, at most 9; "
              "default `1`.\n");
  EXPECT_SAYS(text, "a whole number, at least 1, below 2^63; default `10`; also `--size`.\n");
  EXPECT_SAYS(text,
              "- `--color VALUE`: a color.\n  Value: one of `red`, `blue`, `azure`; default "
              "`red`.\n");
  EXPECT_SAYS(text,
              "- `--parts VALUE...`: some parts.\n  Value: a list, each item text; not set by "
              "default.\n");
  EXPECT_SAYS(text,
              "- `--params DICT`: parameters.\n  Value: a dictionary; not set by default; keys:\n");
  EXPECT_SAYS(text, "  - `momentum`: a number or a fraction a/b, at most 1\n");
  EXPECT_SAYS(text, "only on the command line.\n");
}

}  // namespace
}  // namespace pando::app
