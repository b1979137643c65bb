#include "pando/benchmark/pattern.h"

#include <vector>

#include <gtest/gtest.h>

#include "pando/options/usage_error.h"
#include "tests/support/expect_error.h"

namespace pando::benchmark {
namespace {

using testing_support::error_of;
using testing_support::says_all;

using Texts = std::vector<std::string>;

Texts found_in(const std::string& pattern, const std::string& line) {
  Texts all;
  EXPECT_TRUE(Pattern(pattern, "here").find_all(line, [&](std::string_view text) {
    all.emplace_back(text);
  }));
  return all;
}

// What Python's re.findall returns for the same.
TEST(Pattern, FindsAllAsPythonDoes) {
  EXPECT_EQ(found_in(R"(throughput: *(.*?) samples\/sec)",
                     "epoch 1: throughput:  12.5 samples/sec, throughput: 7 samples/sec"),
            (Texts{"12.5", "7"}));
  EXPECT_EQ(found_in(R"(accuracy: *(.*?) \%)", "training accuracy: 92.89 %"), Texts{"92.89"});
  EXPECT_EQ(found_in(R"(loss: *(\d*\.\d*))", "loss: 0.25, val_loss: 1."), (Texts{"0.25", "1."}));
  EXPECT_EQ(found_in("[0-9.]+", "a 1.5 b 2"), (Texts{"1.5", "2"}));
  EXPECT_EQ(found_in("(?P<rate>[0-9]+)/s", "17/s"), Texts{"17"});
  EXPECT_EQ(found_in("(?i)RATE (?:is|was) ([0-9]+)", "Rate was 3"), Texts{"3"});
  EXPECT_EQ(found_in("(?<=x=)[0-9]+$", "x=1 x=22"), Texts{"22"});
  EXPECT_EQ(found_in("^a(b)?", "a"), Texts{""});
  EXPECT_EQ(found_in("x*", "axb"), (Texts{"", "x", "", ""}));
  EXPECT_EQ(found_in("é([0-9])", "é1 é2"), (Texts{"1", "2"}));
}

TEST(Pattern, TakesAnyBytes) {
  EXPECT_EQ(found_in("rate ([0-9]+)", "\xff\xfe rate 5 \xc3 rate 6"), (Texts{"5", "6"}));
  EXPECT_EQ(found_in("rate ([0-9]+)", std::string("\0rate 5", 7)), Texts{"5"});
  EXPECT_EQ(found_in("x*", "é\xff"), (Texts{"", "", ""}));
}

TEST(Pattern, EndsOnLinesThatWouldTakeForEver) {
  const Pattern pattern("^(?:a|aa)+$", "here");
  EXPECT_FALSE(pattern.find_all(std::string(5000, 'a') + "!", [](std::string_view) {}));
  EXPECT_EQ(found_in("(a|b)*c", std::string(10000, 'a') + "c").size(), 1u);
  // A line with a million matches is not read a million times.
  EXPECT_EQ(found_in("[é1]", std::string(1'000'000, '1') + "é").size(), 1'000'001u);
}

TEST(Pattern, NamesWhatIsWrong) {
  EXPECT_TRUE(says_all(error_of<UsageError>([] { Pattern("a(b", "f.yml:3:5"); }),
                       {"f.yml:3:5", "a(b", "parenthesis", "character 4"}));
  EXPECT_TRUE(says_all(error_of<UsageError>([] { Pattern("(a)(b)", "f.yml"); }),
                       {"one group", "got 2", "(?:"}));
}

}  // namespace
}  // namespace pando::benchmark
