#include "pando/launch/words.h"

#include <gtest/gtest.h>

#include "pando/app/job/exit_code.h"
#include "tests/support/expect_error.h"

namespace pando::launch {
namespace {

using testing_support::error_of;
using Words = std::vector<std::string>;

TEST(Words, SplitAsAShellDoes) {
  EXPECT_EQ(split_words("", "x"), Words{});
  EXPECT_EQ(split_words("  --mca a\tb \n", "x"), (Words{"--mca", "a", "b"}));
  EXPECT_EQ(split_words("'a b' \"c d\" e'f'\"g\"", "x"), (Words{"a b", "c d", "efg"}));
  EXPECT_EQ(split_words("'' \"\"", "x"), (Words{"", ""}));
  EXPECT_EQ(split_words(R"(a\ b "c\"d\\e\n" 'f\g' \\)", "x"),
            (Words{"a b", "c\"d\\e\\n", "f\\g", "\\"}));
  EXPECT_EQ(split_words("a\\", "x"), Words{"a\\"});
}

TEST(Words, RefuseAnOpenQuote) {
  const std::string message =
      error_of<UsageError>([] { split_words("a 'b c", "--mpi-local-args"); });
  EXPECT_SAYS(message, "--mpi-local-args: ");
  EXPECT_SAYS(message, "unclosed ' in 'a 'b c'");
  EXPECT_SAYS(error_of<UsageError>([] { split_words("\"a'", "x"); }), "unclosed \"");
}

TEST(Words, QuotedOnesSplitIntoTheSame) {
  EXPECT_EQ(quote_words({"mpirun", "-x", "A=b", "/a/b.c:2"}), "mpirun -x A=b /a/b.c:2");
  EXPECT_EQ(quote_words({"it's", "a b", "", "$HOME", "a*"}), R"('it'\''s' 'a b' '' '$HOME' 'a*')");
  const Words words = {"", " ", "a'b\"c\\d", "\n", "$(x)", "plain"};
  EXPECT_EQ(split_words(quote_words(words), "x"), words);
}

}  // namespace
}  // namespace pando::launch
