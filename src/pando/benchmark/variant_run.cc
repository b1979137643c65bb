// SPDX-License-Identifier: MIT
#include "pando/benchmark/variant_run.h"

#include <algorithm>
#include <filesystem>

#include <fmt/core.h>

#include "pando/app/job/stop_signal.h"
#include "pando/base/environment.h"
#include "pando/base/named_values.h"
#include "pando/base/paths.h"
#include "pando/benchmark/command_run.h"
#include "pando/benchmark/processor_watch.h"
#include "pando/launch/mpirun.h"
#include "pando/launch/words.h"
#include "pando/options/usage_error.h"

namespace pando::benchmark {
namespace {

namespace fs = std::filesystem;

constexpr int kNotFound = 127;  // as in a shell
constexpr int kNotExecutable = 126;

// What keeps a program from being started, or ends it; becomes the failure of the variant.
struct RunFailure {
  int code = 1;
  std::string text;
};

// Removes the files of an earlier run, because a command may refuse an existing folder.
void make_folder(const std::string& folder) {
  std::error_code error;
  if (path_exists(folder + "/stdout.log")) fs::remove_all(folder, error);
  fs::create_directories(folder, error);
  if (error) {
    throw IoError("cannot make the folder '", folder, "': ", error.message(),
                  "; use --log-dir to name another place for the logs");
  }
}

std::vector<std::string> words_of(const VariantResult& variant, const std::string& folder,
                                  const BenchmarkOptions& options) {
  const auto value_of = [&](const std::string& name) -> std::optional<std::string> {
    if (name == "PANDO_BENCHMARK_DIR") return folder;
    if (const std::string* const found = find_named(variant.benchmark->env, name)) return *found;
    return find_variable(name);
  };
  std::vector<std::string> words =
      launch::split_words(expand_variables(variant.command, value_of), variant.variant.name);
  if (words.empty() || words[0].empty()) throw RunFailure{kNotFound, "the command is empty"};
  for (size_t i = 0; options.profile && i + 1 < words.size(); ++i) {
    if (words[i] != "pando" || words[i + 1] != "train") continue;
    const std::string own = fs::path(variant.folder).filename().string() + "_profile";
    words.insert(words.end(), {"--profile", folder + "/" + own});
    break;
  }
  return words;
}

fs::path this_program() { return fs::read_symlink("/proc/self/exe"); }

// A benchmark measures the program that it is a part of, also where `pando` stands in a script or
// behind `pando run`.
void put_program_on_path(Settings& env) {
  std::string path = find_variable("PATH").value_or("/usr/bin:/bin");
  for (const auto& [name, value] : env) {
    if (name == "PATH") path = value;
  }
  env.emplace_back("PATH", this_program().parent_path().string() + ":" + path);
}

std::string program_path(const std::string& name, const std::string& folder) {
  if (name == "pando") return this_program().string();
  const bool is_path = name.find('/') != std::string::npos;
  const std::string path = is_path ? (fs::path(folder) / name).string() : name;
  const std::string found = launch::find_on_path(path);
  if (!found.empty()) return found;
  if (is_path && path_exists(path)) {
    throw RunFailure{kNotExecutable, concat("the program '", path, "' is not executable")};
  }
  throw RunFailure{kNotFound, is_path ? concat("there is no program '", path, "'")
                                      : concat("cannot find the program '", name, "' on PATH")};
}

std::optional<double> shorter(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

std::string seconds_text(double seconds) { return fmt::format("{:g}", seconds); }

// Runs one repetition: the command, its logs, its metrics.
class VariantRun {
 public:
  VariantRun(const VariantResult& variant, const std::string& folder, const RunContext& context)
      : variant_(variant),
        folder_(folder),
        context_(context),
        metrics_(all_metrics()),
        scan_(metrics_.data),
        out_(folder + "/stdout.log"),
        err_(folder + "/stderr.log") {}

  std::optional<Repetition> run() {
    repetition_.start_time = time_text();
    try {
      const CommandEnd end = run_command(request(), context_.signals);
      if (end.stop_signal != 0) return std::nullopt;
      scan_.finish();
      take_end(end);
    } catch (const RunFailure& failure) {
      fail(failure.code, failure.text);
    } catch (const UsageError& error) {  // a value of a variable has an open quote
      fail(1, error.what());
    }
    repetition_.end_time = time_text();
    if (repetition_.code != 0) {
      repetition_.last_errors.assign(scan_.last_errors().begin(), scan_.last_errors().end());
    }
    return std::move(repetition_);
  }

 private:
  Metrics all_metrics() const {
    if (context_.options.compile_only) return {};
    Metrics all = variant_.benchmark->metrics;
    const Metrics& more = context_.custom_metrics;
    all.data.insert(all.data.end(), more.data.begin(), more.data.end());
    all.derived.insert(all.derived.end(), more.derived.begin(), more.derived.end());
    return all;
  }

  CommandRequest request() {
    CommandRequest request;
    request.folder = working_folder(*variant_.benchmark);
    if (!is_folder(request.folder)) {
      throw RunFailure{kNotExecutable,
                       concat("there is no folder '", request.folder, "' to run in (location)")};
    }
    request.words = words_of(variant_, folder_, context_.options);
    request.words[0] = program_path(request.words[0], request.folder);
    request.env = variant_.benchmark->env;
    request.env.emplace_back("PANDO_BENCHMARK_DIR", folder_);
    put_program_on_path(request.env);
    request.timeout = shorter(context_.options.timeout, variant_.benchmark->timeout);
    request.take_output = [this](Stream stream, std::string_view bytes) {
      take_output(stream, bytes);
    };
    request.progress_period = context_.options.progress_period;
    request.show_progress = context_.show_progress;
    return request;
  }

  void take_output(Stream stream, std::string_view bytes) {
    (stream == Stream::out ? out_ : err_).append(bytes);
    context_.all_output.append(bytes);
    scan_.take(stream, bytes);
    written_ += static_cast<int64_t>(bytes.size());
    if (written_ > kMostOutput) {
      throw RunFailure{1, concat("wrote more than ", human_bytes(kMostOutput), ", and was ended")};
    }
  }

  void take_end(const CommandEnd& end) {
    repetition_.seconds = end.seconds;
    repetition_.other_cores = end.other_cores;
    if (end.left_behind > 0) {
      repetition_.notes.push_back(
          end.left_behind == 1
              ? "left a process running, which was ended"
              : concat("left ", end.left_behind, " processes running, which were ended"));
    }
    if (end.other_cores > kNoisyCores) {
      repetition_.notes.push_back(
          fmt::format("disturbed: other processes used {:.1f} cores meanwhile", end.other_cores));
    }
    if (end.timed_out) {
      const double limit = *shorter(context_.options.timeout, variant_.benchmark->timeout);
      err_.append(concat("\nTimeout (", seconds_text(limit), ")\n"));
      return fail(end.code == 0 ? 1 : end.code,
                  concat("took longer than the timeout of ", seconds_text(limit), " s"));
    }
    if (end.killed_by != 0) {
      return fail(end.code, concat("was killed by ", app::signal_name(end.killed_by)));
    }
    if (end.code != 0) return fail(end.code, concat("ended with exit code ", end.code));
    take_outcomes();
  }

  void take_outcomes() {
    repetition_.outcomes =
        outcomes_of(metrics_, scan_, variant_.variant, processes_of(variant_.command));
    std::vector<std::string> failures;
    for (const Outcome& one : repetition_.outcomes) {
      if (!one.failure.empty()) failures.push_back(one.failure);
    }
    if (failures.empty()) return;
    repetition_.code = 1;
    repetition_.failure = join(failures, "; ");
  }

  void fail(int code, const std::string& text) {
    repetition_.code = code;
    repetition_.failure = text;
    repetition_.outcomes = missing_outcomes(metrics_);
  }

  const VariantResult& variant_;
  std::string folder_;
  const RunContext& context_;
  Metrics metrics_;
  OutputScan scan_;
  app::AppendFile out_;
  app::AppendFile err_;
  int64_t written_ = 0;
  Repetition repetition_;
};

}  // namespace

std::string working_folder(const Benchmark& benchmark) {
  const fs::path folder = fs::path(benchmark.path).parent_path() / benchmark.location;
  return folder.lexically_normal().string();
}

std::optional<Repetition> run_variant(const VariantResult& variant, const std::string& folder,
                                      const RunContext& context) {
  make_folder(folder);
  return VariantRun(variant, folder, context).run();
}

}  // namespace pando::benchmark
