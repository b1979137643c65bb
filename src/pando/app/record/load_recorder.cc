// SPDX-License-Identifier: MIT
#include "pando/app/record/load_recorder.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <system_error>

#include <fmt/core.h>
#include <sys/resource.h>

#include "pando/base/error.h"
#include "pando/base/memory_use.h"
#include "pando/base/strings.h"
#include "pando/base/threads.h"

namespace pando::app {
namespace {

constexpr const char* kLoadHead =
    "seconds,process_percent,machine_percent,resident_bytes,read_per_second,written_per_second\n";

// Counters that only grow.
struct LoadCounters {
  double process_seconds = 0;
  double machine_busy = 0;  // ticks of all cores
  double machine_all = 0;
  double read_bytes = 0;
  double written_bytes = 0;
};

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

// "cpu  user nice system idle iowait irq softirq steal ...".
void read_machine_ticks(LoadCounters& counters) {
  std::ifstream file("/proc/stat");
  std::string word;
  file >> word;
  for (int column = 0; column < 8; ++column) {
    double ticks = 0;
    if (!(file >> ticks)) return;
    counters.machine_all += ticks;
    const bool is_idle = column == 3 || column == 4;
    if (!is_idle) counters.machine_busy += ticks;
  }
}

LoadCounters read_counters() {
  LoadCounters counters;
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  counters.process_seconds = seconds_of(use.ru_utime) + seconds_of(use.ru_stime);
  read_machine_ticks(counters);
  std::ifstream file("/proc/self/io");
  std::string name;
  for (double bytes = 0; file >> name >> bytes;) {
    if (name == "read_bytes:") counters.read_bytes = bytes;
    if (name == "write_bytes:") counters.written_bytes = bytes;
  }
  return counters;
}

LoadRow row_between(const LoadCounters& from, const LoadCounters& to, double elapsed) {
  const double machine = to.machine_all - from.machine_all;
  const double busy = to.machine_busy - from.machine_busy;
  return {.seconds = 0,
          .process_percent = 100 * (to.process_seconds - from.process_seconds) / elapsed,
          .machine_percent = machine > 0 ? std::clamp(100 * busy / machine, 0.0, 100.0) : 0,
          .resident_bytes = static_cast<double>(memory_use().resident),
          .read_per_second = (to.read_bytes - from.read_bytes) / elapsed,
          .written_per_second = (to.written_bytes - from.written_bytes) / elapsed};
}

std::string line_of(const LoadRow& row) {
  return fmt::format("{:.3f},{:.1f},{:.1f},{:.0f},{:.0f},{:.0f}\n", row.seconds,
                     row.process_percent, row.machine_percent, row.resident_bytes,
                     row.read_per_second, row.written_per_second);
}

void write_text(const std::filesystem::path& path, std::string_view text, std::ios::openmode how) {
  std::ofstream file(path, how);
  file << text << std::flush;
  if (!file) {
    throw IoError("cannot write '", path.string(), "': ", std::generic_category().message(errno));
  }
}

void write_rows(const std::filesystem::path& path, const std::vector<LoadRow>& rows) {
  std::string text = kLoadHead;
  for (const LoadRow& row : rows) text += line_of(row);
  write_text(path, text, std::ios::trunc);
}

// Records until the stop.
class LoadLoop {
 public:
  explicit LoadLoop(const LoadRecorderOptions& options)
      : options_(options),
        path_(options.folder / kLoadFile),
        start_(Clock::now()),
        counters_(read_counters()) {
    if (options.seconds_before > 0) rows_ = read_load(options.folder);
    std::erase_if(rows_, [&](const LoadRow& row) { return row.seconds > options.seconds_before; });
    while (rows_.size() > options.most_rows) shorten();
    write_rows(path_, rows_);
  }

  void run(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    const auto period = [&] { return options_.period * factor_; };
    while (!stop.stop_requested()) {
      wake.wait_for(lock, stop, period(), [] { return false; });
      add_row();  // also the rest before the stop
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  void add_row() {
    const Clock::time_point now = Clock::now();
    const double elapsed = std::chrono::duration<double>(now - last_).count();
    constexpr double kLeastSeconds = 0.01;  // too short to measure
    if (elapsed < kLeastSeconds) return;
    const LoadCounters counters = read_counters();
    LoadRow row = row_between(counters_, counters, elapsed);
    row.seconds = options_.seconds_before + std::chrono::duration<double>(now - start_).count();
    counters_ = counters;
    last_ = now;
    rows_.push_back(row);
    if (rows_.size() > options_.most_rows) {
      shorten();
      factor_ *= 2;
      return write_rows(path_, rows_);
    }
    write_text(path_, line_of(row), std::ios::app);
  }

  void shorten() { rows_ = halved(rows_, 0); }

  const LoadRecorderOptions options_;
  const std::filesystem::path path_;
  const Clock::time_point start_;
  Clock::time_point last_ = start_;
  LoadCounters counters_;
  std::vector<LoadRow> rows_;
  int factor_ = 1;
};

}  // namespace

std::vector<LoadRow> halved(const std::vector<LoadRow>& rows, double begin) {
  std::vector<LoadRow> joined;
  for (size_t i = 0; i < rows.size(); i += 2) {
    if (i + 1 == rows.size()) {
      joined.push_back(rows[i]);
      break;
    }
    const LoadRow &a = rows[i], &b = rows[i + 1];
    const double first = a.seconds - begin, second = b.seconds - a.seconds;
    const auto mean = [&](double LoadRow::*rate) {
      return first + second > 0 ? (a.*rate * first + b.*rate * second) / (first + second) : b.*rate;
    };
    joined.push_back({.seconds = b.seconds,
                      .process_percent = mean(&LoadRow::process_percent),
                      .machine_percent = mean(&LoadRow::machine_percent),
                      .resident_bytes = std::max(a.resident_bytes, b.resident_bytes),
                      .read_per_second = mean(&LoadRow::read_per_second),
                      .written_per_second = mean(&LoadRow::written_per_second)});
    begin = b.seconds;
  }
  return joined;
}

std::vector<LoadRow> read_load(const std::filesystem::path& run_directory) {
  std::vector<LoadRow> rows;
  std::ifstream file(run_directory / kLoadFile);
  for (std::string line; std::getline(file, line);) {
    std::vector<double> values;
    for (const std::string& text : split(line, ',')) {
      if (const std::optional<double> value = parse_double(text)) values.push_back(*value);
    }
    if (values.size() != 6) continue;  // the head, or the end of a file that is being written
    rows.push_back({values[0], values[1], values[2], values[3], values[4], values[5]});
  }
  return rows;
}

LoadRecorder::LoadRecorder(const LoadRecorderOptions& options)
    : thread_(start_thread("load", [this, options](const std::stop_token& stop) {
        try {
          give_way();
          LoadLoop(options).run(stop);
        } catch (const std::exception& error) {  // a full disk, for example
          failure_ = error.what();
        }
      })) {}

LoadRecorder::~LoadRecorder() { stop(); }

const std::string& LoadRecorder::stop() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
  return failure_;
}

}  // namespace pando::app
