#include "pando/launch/job_output.h"

#include <sstream>

#include <gtest/gtest.h>

#include "pando/base/strings.h"
#include "tests/support/expect_error.h"

namespace pando::launch {
namespace {

class JobOutputTest : public ::testing::Test {
 protected:
  void begin(JobOutput::Options options) {
    output_ = std::make_unique<JobOutput>(out_, err_, options);
  }
  void out(int instance, const std::string& text) { output_->take({instance, Stream::out, text}); }
  void err(int instance, const std::string& text) { output_->take({instance, Stream::err, text}); }
  void block(const std::string& text) {
    err(-1, std::string(74, '-'));
    for (const std::string& line : split(text, '\n')) err(-1, line);
    err(-1, std::string(74, '-'));
  }

  std::ostringstream out_;
  std::ostringstream err_;
  std::unique_ptr<JobOutput> output_;
};

constexpr const char* kSignalLine =
    "mpirun noticed that process rank 1 with PID 0 on node vm exited on signal 9 (Killed).";

TEST_F(JobOutputTest, LinesHaveTheirTags) {
  begin({});
  out(0, "hello");
  err(1, "oh");
  out(-1, "of mpirun");
  EXPECT_EQ(out_.str(), "[1,0]<stdout>:hello\nof mpirun\n");
  EXPECT_EQ(err_.str(), "[1,1]<stderr>:oh\n");
}

TEST_F(JobOutputTest, KeepsStatusesAndChatterBack) {
  begin({});
  err(1, "pando: instance 1 on b (pid 12): started");
  err(1, "pando: instance 1 on b (pid 12): exit code 3");
  err(-1, "mpirun: Forwarding signal 10 to job");
  err(-1, "[vm:1] 1 more process has sent help message help-mpi-api.txt / mpi-abort");
  err(-1, "[vm:1] Set MCA parameter \"orte_base_help_aggregate\" to 0 to see all");
  block(kSignalLine);
  out(-1, std::string(83, '='));
  out(-1, "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES");
  out(-1, std::string(83, '='));
  out(-1, "Please see the FAQ page for debugging suggestions");
  output_->finish(true);
  EXPECT_EQ(out_.str() + err_.str(), "");
  EXPECT_TRUE(output_->failures().has_failed());
  EXPECT_EQ(output_->failures().first()->text, "exit code 3");
}

TEST_F(JobOutputTest, ShowsTheCauseThatAProgramTells) {
  begin({.only_instance = 1, .verbose = false});
  err(0, "pando: instance 2 on b (pid 12): died: its connection closed without a goodbye");
  EXPECT_EQ(err_.str(),
            "[1,0]<stderr>:pando: instance 2 on b (pid 12): died: its connection "
            "closed without a goodbye\n");
}

TEST_F(JobOutputTest, ShowsAnErrorOnce) {
  begin({});
  err(0, "pando: error: no such file");
  err(0, "pando: instance 0 on b (pid 12): no such file");
  EXPECT_EQ(err_.str(), "[1,0]<stderr>:pando: error: no such file\n");
  EXPECT_TRUE(output_->failures().first()->is_shown);
  err(1, "pando: instance 1 on b (pid 13): no such file");
  EXPECT_SAYS(err_.str(), "(pid 13): no such file\n") << "instance 1 has not shown the error yet";
}

TEST_F(JobOutputTest, TellsWhatTheLauncherSays) {
  begin({.only_instance = 1, .verbose = false});
  output_->say("hello");
  EXPECT_EQ(err_.str(), "pando: hello\n");
}

TEST_F(JobOutputTest, ShowsBlocksThatTellSomethingElse) {
  begin({});
  block("mpirun was unable to find\nthe host");
  EXPECT_EQ(err_.str(), "mpirun was unable to find\nthe host\n");
  err(-1, std::string(74, '-'));
  err(-1, "without an end");
  output_->finish(false);
  EXPECT_EQ(err_.str(), "mpirun was unable to find\nthe host\nwithout an end\n");
}

TEST_F(JobOutputTest, VerboseShowsAll) {
  begin({.only_instance = std::nullopt, .verbose = true});
  err(1, "pando: instance 1 on b (pid 12): started");
  err(-1, "mpirun: Forwarding signal 10 to job");
  block(kSignalLine);
  const std::string rule = std::string(74, '-') + "\n";
  EXPECT_EQ(err_.str(),
            "[1,1]<stderr>:pando: instance 1 on b (pid 12): started\n"
            "mpirun: Forwarding signal 10 to job\n" +
                rule + kSignalLine + "\n" + rule);
  EXPECT_TRUE(output_->failures().has_failed());
}

TEST_F(JobOutputTest, OneInstanceAlone) {
  begin({.only_instance = 1, .verbose = false});
  out(0, "zero");
  out(1, "one");
  err(0, "error of zero");
  err(1, "error of one");
  output_->finish(false);
  EXPECT_EQ(out_.str(), "[1,1]<stdout>:one\n");
  EXPECT_EQ(err_.str(), "[1,1]<stderr>:error of one\n");
}

TEST_F(JobOutputTest, LastErrorsOfTheInstanceThatFailedAreShown) {
  begin({.only_instance = 1, .verbose = false});
  for (int i = 0; i < 40; ++i) err(0, concat("line ", i));
  err(2, "of another");
  err(0, "pando: instance 0 on b (pid 12): exit code 3");
  output_->finish(true);
  EXPECT_EQ(split(err_.str(), '\n').size(), 31u) << err_.str();
  EXPECT_EQ(err_.str().substr(0, 23), "[1,0]<stderr>:line 10\n[");
}

TEST_F(JobOutputTest, ErrorsOfAllAreShownWhenNobodyKnowsWhoFailed) {
  begin({.only_instance = 1, .verbose = false});
  err(0, "zero");
  err(2, "two");
  output_->finish(true);
  EXPECT_EQ(err_.str(), "[1,0]<stderr>:zero\n[1,2]<stderr>:two\n");
}

TEST_F(JobOutputTest, KnowsWhenNobodyReads) {
  begin({});
  EXPECT_FALSE(output_->is_broken());
  out_.setstate(std::ios::failbit);
  EXPECT_TRUE(output_->is_broken());
}

}  // namespace
}  // namespace pando::launch
