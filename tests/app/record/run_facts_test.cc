#include "pando/app/record/run_facts.h"

#include "pando/base/error.h"
#include "tests/app/test_folder.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

using testing_support::error_of;

RunFacts some_facts() {
  RunFacts facts;
  facts.command = "pando train --model 'a b'";
  facts.model = "mnist_cnn";
  facts.task = "classification";
  facts.seed = 7;
  facts.parameters = int64_t{1} << 40;
  facts.machine = this_machine();
  return facts;
}

TEST(RunFacts, AreReadAsTheyWereWritten) {
  const TestFolder folder;
  EXPECT_FALSE(read_run_facts(folder.path).has_value());
  const RunFacts facts = some_facts();
  write_run_facts(folder.path, facts);
  const RunFacts read = read_run_facts(folder.path).value();
  EXPECT_EQ(read.command, facts.command);
  EXPECT_EQ(read.parameters, facts.parameters);
  EXPECT_EQ(read.machine.processor, facts.machine.processor);
  EXPECT_GT(read.machine.cores, 0);
}

TEST(RunFacts, RefuseWhatIsNoRecordOfARun) {
  const TestFolder folder;
  folder.write("run.json", "{\"model\": \"m\", \"seed\":");
  EXPECT_SAYS(error_of<IoError>([&] { read_run_facts(folder.path); }), "run.json", "not a record");
  folder.write("run.json", "{\"seed\": \"x\"}");
  EXPECT_SAYS(error_of<IoError>([&] { read_run_facts(folder.path); }), "run.json", "seed");
  folder.write("run.json", "{}");
  EXPECT_EQ(read_run_facts(folder.path)->command, "");
}

TEST(RunFacts, QuoteArgumentsForAShell) {
  EXPECT_EQ(shell_quoted("--seed=3"), "--seed=3");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("it's <b>"), "'it'\\''s <b>'");
  EXPECT_SAYS(command_of_this_process(), "app_html_tests");
}

}  // namespace
}  // namespace pando::app
