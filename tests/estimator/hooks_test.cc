#include "pando/estimator/hooks.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;
using Clock = std::chrono::steady_clock;

// A run with given values and a clock that the test sets.
class LoggedRun {
 public:
  // The hook with the clock of this run and both values in its log().
  LoggingHook& use(LoggingHookOptions options) {
    options.clock = [this] { return now_; };
    hook_.emplace(std::move(options));
    hook_->log({"loss", "accuracy"});
    return *hook_;
  }
  void begin() {
    HookContext context = this->context();
    hook_->begin(context);
  }
  // An execution of one replica whose steps have these losses; each accuracy is a tenth of the
  // loss.
  void execute(const std::vector<double>& losses) {
    std::vector<StepValues> values;
    for (const double loss : losses) {
      values.push_back({.step = static_cast<int64_t>(values.size()), .logs = logs(loss)});
    }
    execute_values(values);
  }
  void execute_values(const std::vector<StepValues>& values) {
    HookContext context = this->context();
    context.values = &values;
    hook_->after_execution(context);
  }
  void end() {
    HookContext context = this->context();
    hook_->end(context);
  }
  static Logs logs(double loss) { return {{"loss", loss}, {"accuracy", loss / 10}}; }

  void wait(double seconds) {
    now_ += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }
  std::vector<std::string> lines;

 private:
  HookContext context() {
    return {.names = {"loss", "accuracy"},
            .tell = [this](std::string_view line) { lines.emplace_back(line); }};
  }
  Clock::time_point now_ = Clock::time_point() + std::chrono::hours(1);
  std::optional<LoggingHook> hook_;
};

using ToldLines = std::vector<std::string>;

TEST(LoggingHook, WantsExactlyOneInterval) {
  EXPECT_SAYS(error_of([] { LoggingHook({.every_n_iter = 1, .every_n_secs = 1.0}); }),
              "every_n_iter and every_n_secs, or at_end, got both");
  EXPECT_SAYS(error_of([] { LoggingHook({}); }), "got none");
  EXPECT_SAYS(
      error_of([] { LoggingHook({.every_n_iter = 1, .every_n_secs = 1.0, .at_end = true}); }),
      "got both");
  EXPECT_SAYS(error_of([] { LoggingHook({.every_n_iter = 0}); }),
              "every_n_iter: expected at least 1, got 0");
  EXPECT_SAYS(error_of([] { LoggingHook({.every_n_secs = -0.5}); }),
              "every_n_secs: expected at least 0, got -0.5");
  EXPECT_NO_THROW(LoggingHook({.at_end = true}));
}

TEST(LoggingHook, LogIsCalledOnceWithKnownNames) {
  HookContext context{.names = {"loss", "accuracy"}};
  LoggingHook never({.every_n_iter = 1});
  EXPECT_SAYS(error_of([&] { never.begin(context); }), "log() was not called");
  EXPECT_SAYS(error_of([&] { never.log({}); }), "log() needs");

  LoggingHook twice({.every_n_iter = 1});
  twice.log({"loss"});
  EXPECT_SAYS(error_of([&] { twice.log({"accuracy"}); }), "log() was called twice");
  EXPECT_NO_THROW(twice.begin(context));

  LoggingHook unknown({.every_n_iter = 1});
  unknown.log({"loss", "acuracy"});
  const std::string message = error_of([&] { unknown.begin(context); });
  EXPECT_SAYS(message, "value 'acuracy'");
  EXPECT_SAYS(message, "accuracy");
}

TEST(LoggingHook, CountsExecutionsAndTheFirstAlwaysLogs) {
  LoggedRun run;
  run.use({.every_n_iter = 3});
  run.begin();
  for (const double loss : {1, 2, 3, 4, 5, 6, 7, 8}) {
    run.execute({loss + 100, loss});  // two steps; only the last one counts
    run.wait(0.5);
  }
  run.end();
  EXPECT_EQ(run.lines,
            (ToldLines{"loss = 1, accuracy = 0.1", "loss = 4, accuracy = 0.4 (1.500 sec)",
                       "loss = 7, accuracy = 0.7 (1.500 sec)"}));
}

TEST(LoggingHook, CountsSecondsSinceTheLastLine) {
  LoggedRun run;
  run.use({.every_n_secs = 2.0});
  run.begin();
  run.execute({1});  // the first execution
  run.wait(1.5);
  run.execute({2});
  run.wait(0.75);
  run.execute({3});  // 2.25 s after the line
  run.wait(1.9);
  run.execute({4});
  run.wait(0.1);
  run.execute({5});  // 2 s after it
  EXPECT_EQ(run.lines,
            (ToldLines{"loss = 1, accuracy = 0.1", "loss = 3, accuracy = 0.3 (2.250 sec)",
                       "loss = 5, accuracy = 0.5 (2.000 sec)"}));
}

TEST(LoggingHook, AllIsTheMeanOfAllStepsSinceTheLastLine) {
  LoggedRun run;
  EXPECT_TRUE(run.use({.every_n_iter = 2, .mode = LoggingMode::all}).wants_all_values());
  run.begin();
  run.execute({1, 3});
  run.execute({10, 20});
  run.execute({30, 60});
  run.execute({1000});
  EXPECT_EQ(run.lines,
            (ToldLines{"loss = 2, accuracy = 0.2", "loss = 30, accuracy = 3 (0.000 sec)"}));
}

TEST(LoggingHook, LastIsTheMeanOfTheReplicasAtTheLastStep) {
  LoggedRun run;
  EXPECT_FALSE(run.use({.every_n_iter = 1}).wants_all_values());
  run.begin();
  run.execute_values({{.step = 0, .replica = 0, .logs = LoggedRun::logs(100)},
                      {.step = 1, .replica = 0, .logs = LoggedRun::logs(4)},
                      {.step = 0, .replica = 1, .logs = LoggedRun::logs(200)},
                      {.step = 1, .replica = 1, .logs = LoggedRun::logs(6)}});
  EXPECT_EQ(run.lines, ToldLines{"loss = 5, accuracy = 0.5"});
}

TEST(LoggingHook, AtEndAloneWritesOneLine) {
  LoggedRun run;
  run.use({.at_end = true, .mode = LoggingMode::all});
  run.begin();
  run.execute({1, 2});
  run.execute({3});
  EXPECT_TRUE(run.lines.empty());
  run.end();
  EXPECT_EQ(run.lines, ToldLines{"loss = 2, accuracy = 0.2"});
}

TEST(LoggingHook, AtEndWritesWhatCameAfterTheLastLine) {
  LoggedRun run;
  run.use({.every_n_iter = 2, .at_end = true});
  run.begin();
  run.execute({1});
  run.execute({2});
  run.end();
  EXPECT_EQ(run.lines,
            (ToldLines{"loss = 1, accuracy = 0.1", "loss = 2, accuracy = 0.2 (0.000 sec)"}));
  run.end();
  EXPECT_EQ(run.lines.size(), 2u);  // no new values
}

TEST(LoggingHook, AnotherRunBeginsAnew) {
  LoggedRun run;
  run.use({.every_n_iter = 5, .mode = LoggingMode::all});
  for (int i = 0; i < 2; ++i) {
    run.begin();
    run.execute({1});
    run.execute({100});  // not logged, and must not count in the next run
  }
  EXPECT_EQ(run.lines, (ToldLines{"loss = 1, accuracy = 0.1", "loss = 1, accuracy = 0.1"}));
}

TEST(LoggingHook, AFormatterMakesTheLine) {
  LoggedRun run;
  run.use({.every_n_iter = 1,
           .formatter = [](const Logs& logs) { return logs[0].first + "/" + logs[1].first; }});
  run.begin();
  run.execute({1});
  EXPECT_EQ(run.lines, ToldLines{"loss/accuracy"});
}

TEST(LoggingHook, WithoutValuesThereIsNothingToWrite) {
  LoggedRun run;
  run.use({.every_n_iter = 1, .at_end = true});
  run.begin();
  run.execute_values({});
  run.end();
  EXPECT_TRUE(run.lines.empty());
}

TEST(LoggingHook, MakeGivesASharedOne) {
  const auto hook = make_logging_hook({.every_n_iter = 1, .mode = LoggingMode::all});
  EXPECT_TRUE(hook->wants_all_values());
  EXPECT_SAYS(error_of([] { make_logging_hook({}); }), "LoggingHook");
}

}  // namespace
}  // namespace pando
