// SPDX-License-Identifier: MIT
#include "pando/benchmark/suite.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <span>

#include <fmt/core.h>

#include "pando/app/job/exit_code.h"
#include "pando/app/job/stop_signal.h"
#include "pando/base/folder_lock.h"
#include "pando/base/new_file.h"
#include "pando/benchmark/command_run.h"
#include "pando/benchmark/comparison.h"
#include "pando/benchmark/console.h"
#include "pando/benchmark/picture.h"
#include "pando/benchmark/result_files.h"
#include "pando/benchmark/selection.h"
#include "pando/benchmark/variant_run.h"
#include "pando/launch/mpirun.h"
#include "pando/launch/process.h"
#include "pando/options/output_place.h"

namespace pando::benchmark {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOtherPlace = "use --log-dir to name another place for the logs";

std::string log_folder(const BenchmarkOptions& options) {
  std::string name = options.log_dir;
  if (name.empty()) {
    name = "log_" + time_text();
    std::replace(name.begin(), name.end(), ' ', '-');
    std::replace(name.begin(), name.end(), ':', '.');
  }
  const fs::path folder = fs::absolute(name).lexically_normal();
  make_output_folder("--log-dir", folder.string());
  return folder.string();
}

FolderLockOptions lock_options(const std::string& folder) {
  return {.folder = folder, .remedy = kOtherPlace, .when_busy = [folder] {
            throw IoError("another `pando benchmark` writes into '", folder, "'; ", kOtherPlace);
          }};
}

void write_text(const std::string& path, const std::string& text) {
  write_new_file(path, std::as_bytes(std::span(text)));
}

class Suite {
 public:
  Suite(const BenchmarkOptions& options, std::vector<VariantResult> results, std::ostream& out,
        std::ostream& err)
      : options_(options),
        results_(std::move(results)),
        folder_(log_folder(options)),
        lock_(lock_options(folder_)),
        console_(out, err, options.logging, folder_ + "/console.log"),
        output_(folder_ + "/output.log") {
    for (const std::string& path : options.custom_metrics_files) add_custom_metrics(path);
    if (!options.compare.empty()) before_ = load_old_results(options.compare);
    for (VariantResult& one : results_) one.folder = folder_ + "/" + one.folder;
  }

  int run() {
    launch::adopt_orphans();
    begin();
    try {
      for (int i = 1; i <= options_.repetitions && go_on_; ++i) run_all(i);
    } catch (const std::exception&) {
      try {  // what is measured; the first error says more than one of this
        write_results();
      } catch (const std::exception&) {
      }
      throw;
    }
    return end();
  }

 private:
  void add_custom_metrics(const std::string& path) {
    Metrics more = load_custom_metrics(path);
    for (Metric& one : more.data) {
      columns_.metrics.push_back(one.name);
      custom_.data.push_back(std::move(one));
    }
    for (DerivedMetric& one : more.derived) {
      columns_.metrics.push_back(one.name);
      custom_.derived.push_back(std::move(one));
    }
  }

  void begin() {
    columns_.additional = options_.additional_metrics;
    columns_.metrics.insert(columns_.metrics.begin(), options_.csv_metrics.begin(),
                            options_.csv_metrics.end());
    console_.say(Level::info, concat(counted(static_cast<int64_t>(results_.size()), "variant"),
                                     "; logs in ", folder_));
    for (const std::string& flag : options_.idle) console_.say(Level::warning, "note: " + flag);
    for (const VariantResult& one : results_) {
      if (one.skipped.empty()) continue;
      console_.say(Level::warning, concat("skipped ", one.variant.name, ": ", one.skipped));
    }
  }

  // All variants once. They take turns, so that a slow phase of the machine meets all alike.
  void run_all(int repetition) {
    for (size_t i = 0; i < results_.size() && go_on_; ++i) {
      if (!results_[i].skipped.empty()) continue;
      const std::string turn = options_.repetitions > 1
                                   ? fmt::format(", {} of {}", repetition, options_.repetitions)
                                   : "";
      console_.say(Level::info, fmt::format("[{}/{}{}] {}", i + 1, results_.size(), turn,
                                            results_[i].variant.name));
      run_one(results_[i], repetition);
    }
  }

  void run_one(VariantResult& result, int number) {
    result.git_commit = commit_of(working_folder(*result.benchmark));
    if (stopped_) return;
    const std::string folder =
        number == 1 ? result.folder : fmt::format("{}/repetition_{}", result.folder, number);
    console_.say(Level::debug, "  " + result.command);
    const RunContext context{
        .options = options_,
        .custom_metrics = custom_,
        .signals = signals_,
        .all_output = output_,
        .show_progress = [this](double seconds) { console_.show_progress(seconds); }};
    auto repetition = run_variant(result, folder, context);
    if (!repetition) return stop_for_signal();
    result.repetitions.push_back(std::move(*repetition));
    tell(result);
    write_text(result.folder + "/variant_result.json", to_json(result).dump(2) + "\n");
    write_results();
    if (result.has_failed() && options_.stop_on_error) {
      console_.say(Level::error, "stopped after a failure (--stop-on-error)");
      go_on_ = false;
    }
  }

  void tell(const VariantResult& result) {
    const Repetition& last = result.repetitions.back();
    if (last.code != 0) {
      console_.say(Level::error, "  FAILED: " + last.failure + "; see " + result.folder);
      if (!last.last_errors.empty()) {
        console_.say(Level::error, "  last lines of its standard error:");
      }
      for (const std::string& line : last.last_errors) console_.say(Level::error, "    " + line);
    }
    for (const Spread& spread : result.spreads()) {
      if (!spread.values.empty()) console_.say(Level::info, "  " + metric_line(spread));
    }
    for (const std::string& note : last.notes) console_.say(Level::warning, "  note: " + note);
  }

  // Asked once per folder; empty where there is no repository.
  std::string commit_of(const std::string& folder) {
    const auto [place, is_new] = commits_.emplace(folder, "");
    const std::string git = is_new ? launch::find_on_path("git") : "";
    if (git.empty()) return place->second;
    std::string text;
    CommandRequest request{.words = {git, "rev-parse", "HEAD"}, .folder = folder, .timeout = 5};
    request.take_output = [&](Stream stream, std::string_view bytes) {
      if (stream == Stream::out) text += bytes;
    };
    const CommandEnd end = run_command(request, signals_);
    if (end.stop_signal != 0) stop_for_signal();
    if (end.code == 0) place->second = trim(text);
    return place->second;
  }

  void stop_for_signal() {
    go_on_ = false;
    stopped_ = true;
  }

  void write_results() const {
    write_text(folder_ + "/benchmark_results.json", results_json(results_));
    write_text(folder_ + "/benchmark_results.csv", results_csv(results_, columns_));
    write_text(folder_ + "/benchmark_results.xml", results_xml(results_));
  }

  int end() {
    for (VariantResult& one : results_) {
      if (!one.repetitions.empty() || !one.skipped.empty()) continue;
      one.skipped = stopped_ ? "a signal stopped the run" : "the run ended after a failure";
    }
    write_results();
    for (const std::string& line : summary_lines(results_)) console_.say(Level::error, line);
    const bool got_worse = compare_results();
    console_.say(Level::info,
                 "results in " + folder_ + "/benchmark_results.json, .csv, .xml, .svg");
    if (stopped_) {
      console_.say(Level::error, "stopped by a signal; the results until then are written");
      return app::kStopped;
    }
    const bool none_ran = std::ranges::all_of(
        results_, [](const VariantResult& one) { return one.repetitions.empty(); });
    if (none_ran) {
      console_.say(Level::error, "nothing was measured: all variants were skipped, as said above");
    }
    const bool failed = none_ran || std::ranges::any_of(results_, &VariantResult::has_failed);
    return failed || got_worse ? app::kFailed : app::kDone;
  }

  // Also draws the picture, which shows the old values. Returns whether there is a regression.
  bool compare_results() {
    std::optional<Comparison> comparison;
    if (before_) comparison = compare(results_, *before_, options_.regression_limit);
    write_text(folder_ + "/benchmark_results.svg",
               results_svg(results_, comparison ? &*comparison : nullptr));
    if (!comparison) return false;
    write_text(folder_ + "/benchmark_comparison.json",
               to_json(*comparison, options_.regression_limit).dump(2) + "\n");
    console_.say(Level::error, "");
    std::string text = to_text(*comparison, options_.regression_limit);
    text.pop_back();  // the last line break
    console_.say(Level::error, text);
    return comparison->regressions() > 0;
  }

  const BenchmarkOptions& options_;
  std::vector<VariantResult> results_;
  std::string folder_;
  FolderLock lock_;
  Console console_;
  app::AppendFile output_;
  Metrics custom_;
  CsvColumns columns_;
  std::optional<OldResults> before_;
  std::map<std::string, std::string> commits_;  // by folder
  launch::SignalInbox signals_;
  bool go_on_ = true;
  bool stopped_ = false;
};

void list_variants(const std::vector<VariantResult>& results, std::ostream& out) {
  std::string benchmark;
  for (const VariantResult& one : results) {
    if (one.benchmark->name != benchmark && !one.benchmark->description.empty()) {
      out << "# " << trim(one.benchmark->description) << "\n";
    }
    benchmark = one.benchmark->name;
    out << one.variant.name << (one.skipped.empty() ? "" : "  (" + one.skipped + ")") << "\n    "
        << one.command << "\n";
  }
}

}  // namespace

int run_benchmarks(const BenchmarkOptions& options, std::ostream& out, std::ostream& err) {
  const std::vector<Benchmark> benchmarks = load_specs(options.specs);
  std::vector<VariantResult> results = select_variants(benchmarks, options);
  if (options.list) {
    list_variants(results, out);
    return app::kDone;
  }
  return Suite(options, std::move(results), out, err).run();
}

}  // namespace pando::benchmark
