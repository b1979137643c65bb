#include "pando/launch/program_start.h"

#include <gtest/gtest.h>

#include "pando/app/job/exit_code.h"
#include "tests/support/expect_error.h"

namespace pando::launch {
namespace {

using testing_support::error_of;
using Words = std::vector<std::string>;

class ProgramStartTest : public ::testing::Test {
 protected:
  ProgramStartTest() {
    table_.add("num-instances", number_, "");
    table_.add("host", text_, "");
    table_.add("numa-aware", flag_, "");
    table_.add("verbose", verbose_, "");
  }
  ProgramStart find(const Words& args) { return find_program(table_, args); }

  OptionTable table_;
  int number_ = 1;
  std::string text_;
  bool flag_ = false;
  bool verbose_ = false;
};

TEST_F(ProgramStartTest, IsTheFirstWordThatIsNeitherOptionNorValue) {
  const ProgramStart start = find({"--num-instances", "2", "--host=a", "echo", "--host", "-v"});
  EXPECT_EQ(start.options, (Words{"--num-instances=2", "--host=a"}));
  EXPECT_EQ(start.program, (Words{"echo", "--host", "-v"}));
}

TEST_F(ProgramStartTest, MayStandBehindTwoDashes) {
  EXPECT_EQ(find({"--", "--odd", "--"}).program, (Words{"--odd", "--"}));
  EXPECT_EQ(find({"--num-inst=2", "--", "echo"}).options, Words{"--num-instances=2"});
  EXPECT_EQ(find({"echo", "--", "x"}).program, (Words{"echo", "--", "x"}));
  EXPECT_TRUE(find({}).program.empty());
  EXPECT_EQ(find({""}).program, Words{""});
}

TEST_F(ProgramStartTest, BooleansTakeAValueOnlyIfItIsOne) {
  EXPECT_EQ(find({"--numa-aware", "echo"}).options, Words{"--numa-aware=true"});
  EXPECT_EQ(find({"--numa-aware", "echo"}).program, Words{"echo"});
  EXPECT_EQ(find({"--numa-aware", "echo"}).flag_before_program, "--numa-aware");
  EXPECT_EQ(find({"--numa-aware", "--", "echo"}).flag_before_program, "");
  EXPECT_EQ(find({"--numa-aware", "-v", "echo"}).flag_before_program, "");
  EXPECT_EQ(find({"--numa-aware", "no", "echo"}).options, Words{"--numa-aware=no"});
  EXPECT_EQ(find({"--no-numa-aware", "0"}).options, Words{"--no-numa-aware"});
  EXPECT_EQ(find({"--no-numa-aware", "0"}).program, Words{"0"});
}

TEST_F(ProgramStartTest, ValuesMayLookLikeFlags) {
  EXPECT_EQ(find({"--host", "--x y", "z"}).options, Words{"--host=--x y"});
}

TEST_F(ProgramStartTest, ShortFlags) {
  EXPECT_EQ(find({"-H", "a,b", "-v", "-vv", "x"}).options,
            (Words{"--host=a,b", "--verbose=true", "--verbose=true"}));
  EXPECT_EQ(find({"-h"}).options, Words{"--help"});
}

TEST_F(ProgramStartTest, RefusesWhatItDoesNotKnow) {
  const auto refused = [this](const Words& args) {
    return error_of<UsageError>([&] { find(args); });
  };
  EXPECT_SAYS(refused({"--hots", "a"}), "--hots: ");
  EXPECT_SAYS(refused({"--hots", "a"}), "'--host'");
  EXPECT_SAYS(refused({"-x", "2"}), "'-x': unknown flag");
  EXPECT_SAYS(refused({"-x", "2"}), "--help");
  for (const char* flag : {"-n", "-np"}) {
    EXPECT_SAYS(refused({flag, "2"}), "--num-instances");
  }
  EXPECT_SAYS(refused({"-H"}), "-H: ");
  EXPECT_SAYS(refused({"--num-instances"}), "--num-instances: ");
  EXPECT_SAYS(refused({"--n", "2"}), "--n: ambiguous");
}

}  // namespace
}  // namespace pando::launch
