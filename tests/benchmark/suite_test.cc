#include "pando/benchmark/suite.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pando/app/job/exit_code.h"
#include "pando/base/folder_lock.h"
#include "pando/options/usage_error.h"
#include "tests/app/test_folder.h"
#include "tests/benchmark/suite_fixture.h"

namespace pando::benchmark {
namespace {

using testing_support::error_of;
using testing_support::says_all;

constexpr const char* kTwo = R"(
one_gen:
  cmd: sh -c 'echo rate {n}; echo rate 30; echo oops >&2'
  parameters: {n: '1,2'}
  data: {throughput: {regexp: 'rate (.*)'}}
two_gen:
  cmd: sh -c 'echo latency 5'
  data: {latency: {regexp: 'latency (.*)'}}
)";

TEST_F(SuiteTest, RunsAllVariantsAndWritesEverything) {
  const Done done = run(kTwo);
  EXPECT_EQ(done.code, 0) << done.out;
  EXPECT_TRUE(says_all(done.out, {"3 variants", "[1/3] one_gen_n_1", "throughput = 15.5",
                                  "PASSED one_gen::one_gen_n_2", "PASSED two_gen::two_gen",
                                  "0 failed, 3 passed ="}));
  EXPECT_EQ(log("one_gen_n_1/stdout.log"), "rate 1\nrate 30\n");
  EXPECT_EQ(log("one_gen_n_1/stderr.log"), "oops\n");
  EXPECT_TRUE(
      says_all(log("console.log"), {"throughput = 15.5", "PASSED two_gen", "echo latency"}));
  EXPECT_TRUE(says_all(log("output.log"), {"rate 1", "oops", "latency 5"}));
  EXPECT_EQ(results().at("one_gen").items().size(), 2u);
  EXPECT_EQ(Json::parse(log("two_gen/variant_result.json")).get<std::string>("variant_name"),
            "two_gen");
  EXPECT_TRUE(says_all(log("benchmark_results.csv"), {"\"two_gen\",\"two_gen\",\"\",\"5.0\""}));
  EXPECT_TRUE(says_all(log("benchmark_results.xml"), {"<testsuites tests=\"3\" failures=\"0\""}));
  EXPECT_TRUE(says_all(log("benchmark_results.svg"), {"<svg", "one_gen_n_2"}));
  EXPECT_EQ(log(".lock"), "");
}

TEST_F(SuiteTest, ASignalWhileItAsksForTheCommitStopsIt) {
  const std::string before = std::getenv("PATH");
  std::filesystem::create_directory(folder_.path("bin"));
  const std::string git = folder_.write_text("bin/git", "#!/bin/sh\nkill -INT $PPID\nsleep 9\n");
  chmod(git.c_str(), 0755);
  setenv("PATH", (folder_.path("bin") + ":" + before).c_str(), 1);
  const Done done = run(kTwo);
  setenv("PATH", before.c_str(), 1);
  EXPECT_EQ(done.code, app::kStopped) << done.out;
  EXPECT_TRUE(says_all(done.out, {"stopped by a signal", "3 skipped"}));
}

TEST_F(SuiteTest, RepeatsInTurnsAndTakesTheMedian) {
  const Done done = run(R"(
a_gen:
  cmd: sh -c 'echo a >>$PANDO_BENCHMARK_DIR/../order; echo rate $(wc -l <$PANDO_BENCHMARK_DIR/../order)'
  data: {throughput: {regexp: 'rate (.*)'}}
)",
                        {"--repetitions", "1"});
  EXPECT_EQ(done.code, 0) << done.out;
  const Done more = run(R"(
a_gen:
  cmd: sh -c 'echo a >>order; echo rate $(wc -l <order)'
  data: {throughput: {regexp: 'rate (.*)'}}
b_gen:
  cmd: sh -c 'echo b >>order; echo rate $(wc -l <order)'
  data: {throughput: {regexp: 'rate (.*)'}}
)",
                        {"--repetitions", "3"});
  EXPECT_EQ(more.code, 0) << more.out;
  EXPECT_EQ(folder_.read("order"), "a\nb\na\nb\na\nb\n");
  EXPECT_EQ(variant("a_gen").at("results").at("throughput").get<double>("mean"), 3);
  EXPECT_EQ(variant("b_gen").at("ranges").at("throughput").get<double>("high"), 6);
  EXPECT_EQ(log("a_gen/repetition_3/stdout.log"), "rate 5\n");
  EXPECT_TRUE(says_all(more.out, {"[2/2, 3 of 3] b_gen", "throughput = 4 (2 to 6)"}));
}

TEST_F(SuiteTest, SaysHowAVariantFailed) {
  const auto failure = [&](const std::string& entry) {
    const Done done = run("x_gen:\n  " + entry);
    EXPECT_EQ(done.code, 1) << done.out;
    EXPECT_TRUE(says_all(done.out, {"FAILED x_gen::x_gen - ", "1 failed, 0 passed"}));
    const Json json = variant("x_gen");
    EXPECT_NE(json.get<int>("exitcode"), 0);
    return concat(json.get<int>("exitcode"), " ", json.get<std::string>("failure"));
  };
  EXPECT_EQ(failure("cmd: sh -c 'exit 7'"), "7 ended with exit code 7");
  EXPECT_EQ(failure("cmd: sh -c 'kill -9 $$'"), "137 was killed by signal 9");
  EXPECT_EQ(failure("cmd: no-such-program-here --x"),
            "127 cannot find the program 'no-such-program-here' on PATH");
  EXPECT_TRUE(says_all(failure("cmd: ./none.sh"), {"127 there is no program", "none.sh"}));
  folder_.write_text("data.txt", "x");
  EXPECT_TRUE(says_all(failure("cmd: ./data.txt"), {"126", "not executable"}));
  EXPECT_TRUE(says_all(failure("{cmd: echo, location: nowhere}"), {"126", "nowhere", "location"}));
  EXPECT_TRUE(says_all(failure("{cmd: echo x, data: {t: {regexp: 'rate (.*)'}}}"),
                       {"1 t: regexp 'rate (.*)' matches nothing in 1 line"}));
  EXPECT_TRUE(says_all(failure("{cmd: sleep 60, timeout: 0.2}"), {"143 took longer", "0.2 s"}));
  EXPECT_TRUE(says_all(log("x_gen/stderr.log"), {"\nTimeout (0.2)\n"}));
}

TEST_F(SuiteTest, TheShorterTimeoutCounts) {
  const Done done = run("x_gen: {cmd: sleep 60, timeout: 50}", {"--timeout", "0.2"});
  EXPECT_TRUE(says_all(done.out, {"timeout of 0.2 s"}));
}

TEST_F(SuiteTest, ShowsTheLastErrorsOfAFailure) {
  const Done done =
      run(R"(x_gen: {cmd: "sh -c 'echo first; printf \"b\\\\377d\\\\n\" >&2; exit 1'"})");
  EXPECT_TRUE(says_all(done.out, {"last lines of its standard error",
                                  "b\xef\xbf\xbd"
                                  "d"}));
  EXPECT_EQ(log("x_gen/stderr.log"),
            "b\xff"
            "d\n");
  EXPECT_TRUE(says_all(log("benchmark_results.xml"), {"<failure",
                                                      "b\xef\xbf\xbd"
                                                      "d"}));
}

TEST_F(SuiteTest, GoesOnAfterAFailureUnlessToldOtherwise) {
  const std::string spec = "a_gen: {cmd: 'false'}\nb_gen: {cmd: 'true'}\n";
  EXPECT_TRUE(says_all(run(spec).out, {"PASSED b_gen::b_gen", "1 failed, 1 passed"}));
  const Done done = run(spec, {"--stop-on-error"});
  EXPECT_EQ(done.code, 1);
  EXPECT_TRUE(says_all(done.out, {"SKIPPED b_gen::b_gen", "1 failed, 0 passed, 1 skipped"}));
  EXPECT_EQ(benchmarks(), 1u);
}

TEST_F(SuiteTest, WritesMegabytesToItsLogs) {
  const Done done = run(R"(
x_gen:
  cmd: sh -c 'yes 0123456789 | head -c 11000000; echo rate 4'
  data: {throughput: {regexp: 'rate (.*)'}}
)");
  EXPECT_EQ(done.code, 0) << done.out;
  EXPECT_EQ(log("x_gen/stdout.log").size(), 11000007u);
  EXPECT_LT(log("benchmark_results.json").size(), 5000u);
}

TEST_F(SuiteTest, EndsWithAnErrorOnAFullDisk) {
  const std::string spec = R"(
a_gen: {cmd: echo rate 1, data: {throughput: {regexp: 'rate (.*)'}}}
b_gen: {cmd: sh -c 'yes | head -c 3000000; sleep 100'}
)";
  std::string message;
  {
    const app::FileLimit full(1 << 20);
    message = error_of<IoError>([&] { run(spec); });
  }
  EXPECT_TRUE(says_all(message, {".log", "writing failed"})) << message;
  EXPECT_EQ(variant("a_gen").get<int>("exitcode"), 0);  // what was done is written
}

TEST_F(SuiteTest, NeedsAFolderThatItCanWriteAlone) {
  folder_.write_text("file", "");
  EXPECT_TRUE(says_all(error_of<UsageError>([&] {
                         run(kTwo, {"--log-dir", folder_.path("file/log")});
                       }),
                       {"cannot make the folder", "file/log", "--log-dir"}));
  std::filesystem::create_directory(folder_.path("log"));
  const FolderLock lock({.folder = folder_.path("log"), .remedy = "", .when_busy = [] {}});
  EXPECT_TRUE(says_all(error_of<IoError>([&] { run(kTwo); }), {"another `pando benchmark`"}));
}

TEST_F(SuiteTest, StopsAtASignalAndKeepsWhatIsDone) {
  const Done done = run(concat(R"(
a_gen: {cmd: echo rate 1, data: {throughput: {regexp: 'rate (.*)'}}}
b_gen: {cmd: sh -c 'kill -INT )",
                               getpid(), R"(; sleep 100'}
c_gen: {cmd: echo}
)"));
  EXPECT_EQ(done.code, 75);
  EXPECT_TRUE(says_all(done.out, {"PASSED a_gen", "SKIPPED b_gen::b_gen - a signal stopped the run",
                                  "SKIPPED c_gen", "results until then are written"}));
  EXPECT_EQ(benchmarks(), 1u);
  EXPECT_TRUE(says_all(log("benchmark_results.xml"), {"tests=\"3\" failures=\"0\" skipped=\"2\""}));
}

TEST_F(SuiteTest, ARunThatMeasuresNothingFails) {
  const Done none = run("a_gen: {cmd: echo, needs: ./no-such-program}");
  EXPECT_EQ(none.code, app::kFailed);
  EXPECT_TRUE(says_all(none.out, {"SKIPPED a_gen", "nothing was measured"}));
  const Done some = run("a_gen: {cmd: echo, needs: ./no-such-program}\nb_gen: {cmd: echo}");
  EXPECT_EQ(some.code, app::kDone) << some.out;
}

TEST_F(SuiteTest, ComparesWithEarlierResults) {
  const auto spec = [](int rate) {
    return concat("a_gen: {cmd: echo rate ", rate, ", data: {throughput: {regexp: 'rate (.*)'}}}");
  };
  run(spec(100));
  const std::string old = folder_.write_text("old.json", log("benchmark_results.json"));
  const Done worse = run(spec(90), {"--compare", old});
  EXPECT_EQ(worse.code, 1);
  EXPECT_TRUE(says_all(worse.out, {"PASSED a_gen", "-10.0 %", "WORSE", "1 regression beyond 5 %"}));
  EXPECT_TRUE(says_all(log("benchmark_comparison.json"), {"\"worse\"", "\"regressions\": 1"}));
  EXPECT_TRUE(says_all(log("benchmark_results.svg"), {"before: 100"}));
  EXPECT_EQ(run(spec(90), {"--compare", old, "--regression-limit", "15"}).code, 0);
  EXPECT_EQ(run(spec(120), {"--compare", old}).code, 0);
  EXPECT_THROW(run(spec(1), {"--compare", folder_.path("none.json")}), UsageError);
}

TEST_F(SuiteTest, LooksForCustomMetricsEverywhere) {
  const std::string custom = folder_.write_text(
      "m.yml", "data: {size: {regexp: 'size (.*)'}}\nderived: {double: {expr: '{size} * 2'}}");
  const Done done = run("a_gen: {cmd: echo size 4}\nb_gen: {cmd: echo none}\n",
                        {"--custom-metrics-files", custom, "--csv-metrics", "other"});
  EXPECT_EQ(done.code, 0) << done.out;
  EXPECT_EQ(
      log("benchmark_results.csv"),
      "\"benchmark name\",\"Variant name\",\"throughput\",\"latency\",\"total_compiling_time\","
      "\"other\",\"size\",\"double\"\n"
      "\"a_gen\",\"a_gen\",\"\",\"\",\"\",\"\",\"4.0\",\"8.0\"\n"
      "\"b_gen\",\"b_gen\",\"\",\"\",\"\",\"\",\"\",\"\"\n");
}

TEST_F(SuiteTest, CompileOnlyLooksForNoMetrics) {
  const Done done =
      run("a_gen: {cmd: echo, data: {throughput: {regexp: 'rate (.*)'}}}", {"--compile-only"});
  EXPECT_EQ(done.code, 0) << done.out;
  EXPECT_EQ(log("a_gen/stdout.log"), "--compile-only\n");
}

TEST_F(SuiteTest, GivesTheEnvironmentAndItsFolder) {
  const Done done = run(R"(
a_gen:
  cmd: sh -c 'echo $GREETING ${{HOME}}; pwd; cat; touch $PANDO_BENCHMARK_DIR/touched'
  env: {GREETING: hi you, HOME: /there}
  location: sub
)");
  EXPECT_EQ(done.code, 1);
  std::filesystem::create_directory(folder_.path("sub"));
  EXPECT_EQ(run(folder_.read("benchmarks.yml")).code, 0);
  EXPECT_EQ(log("a_gen/stdout.log"), "hi you /there\n" + folder_.path("sub") + "\n");
  EXPECT_TRUE(std::filesystem::exists(folder_.path("log/a_gen/touched")));
}

TEST_F(SuiteTest, ListsWithoutRunning) {
  const Done done =
      run("a_gen: {cmd: 'echo {n}', description: says, parameters: {n: '1,2'}}", {"--list"});
  EXPECT_EQ(done.code, 0);
  EXPECT_EQ(done.out, "# says\na_gen_n_1\n    echo 1\na_gen_n_2\n    echo 2\n");
  EXPECT_FALSE(std::filesystem::exists(folder_.path("log")));
}

TEST_F(SuiteTest, PrintsAsMuchAsWanted) {
  const Done quiet = run(kTwo, {"--logging", "ERROR"});
  EXPECT_EQ(quiet.out.find("throughput ="), std::string::npos);
  EXPECT_TRUE(says_all(quiet.out, {"PASSED two_gen::two_gen"}));
  EXPECT_TRUE(says_all(log("console.log"), {"throughput ="}));
  EXPECT_TRUE(says_all(run(kTwo, {"--logging", "DEBUG"}).out, {"echo latency 5"}));
  EXPECT_TRUE(says_all(run(kTwo, {"--gc-monitor"}).out, {"note: --gc-monitor: ignored"}));
}

TEST_F(SuiteTest, NotesProcessesThatAreLeftBehind) {
  const Done done = run("a_gen: {cmd: sh -c 'sleep 100 & sleep 100 & echo'}");
  EXPECT_EQ(done.code, 0);
  EXPECT_TRUE(says_all(done.out, {"note: left 2 processes running"}));
}

// Starts a process that is busy for some seconds and, because its parent ends, is none of ours.
pid_t start_busy_stranger() {
  prctl(PR_SET_CHILD_SUBREAPER, 0);  // an earlier test may have adopted orphans
  int ends[2] = {};
  EXPECT_EQ(pipe(ends), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    const pid_t child = fork();
    if (child != 0) _exit(write(ends[1], &child, sizeof child) > 0 ? 0 : 1);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < end) {
    }
    _exit(0);
  }
  waitpid(parent, nullptr, 0);
  pid_t busy = 0;
  EXPECT_EQ(read(ends[0], &busy, sizeof busy), static_cast<ssize_t>(sizeof busy));
  close(ends[0]);
  close(ends[1]);
  return busy;
}

TEST_F(SuiteTest, NotesOtherProcessesThatDisturb) {
  const pid_t busy = start_busy_stranger();
  ASSERT_GT(busy, 0);
  const Done done = run("a_gen: {cmd: sleep 1}");
  EXPECT_EQ(kill(busy, SIGKILL), 0);  // it was not ended as a part of the command
  EXPECT_EQ(done.code, 0);
  EXPECT_TRUE(says_all(done.out, {"PASSED a_gen", "note: disturbed: other processes used"}));
  EXPECT_EQ(done.out.find("left"), std::string::npos) << done.out;
}

}  // namespace
}  // namespace pando::benchmark
