// load.csv of a run directory: how much of the processor, the memory and the disks the run used
// over its time, for the report of the run.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace pando::app {

inline constexpr const char* kLoadFile = "load.csv";

// What happened since the row before.
struct LoadRow {
  double seconds = 0;             // of the run, at the end of the row
  double process_percent = 0;     // processor time of this process; 100 is one core
  double machine_percent = 0;     // of all cores of the machine, by all processes; at most 100
  double resident_bytes = 0;      // memory of this process
  double read_per_second = 0;     // bytes that this process read from disks
  double written_per_second = 0;  // bytes that it wrote to disks
};

// Reads a file of rows and skips lines that are not rows. Empty if the file does not exist.
std::vector<LoadRow> read_load(const std::filesystem::path& run_directory);

struct LoadRecorderOptions {
  std::filesystem::path folder;
  double seconds_before = 0;  // of a resumed run, whose rows up to here stay
  std::chrono::milliseconds period{1000};
  size_t most_rows = 1000;  // when there are more, every second one goes and the period doubles
};

// Writes rows from a thread of its own until it is stopped, a few microseconds of work each. What
// cannot be read or written ends the recording, never the run.
class LoadRecorder {
 public:
  explicit LoadRecorder(const LoadRecorderOptions& options);
  ~LoadRecorder();
  LoadRecorder(const LoadRecorder&) = delete;
  LoadRecorder& operator=(const LoadRecorder&) = delete;

  // Ends the recording, if that has not happened yet. Returns why it failed; empty if it did not.
  const std::string& stop();

 private:
  std::string failure_;  // of the thread until it is joined
  std::jthread thread_;
};

// Joins neighbouring rows: the mean of what is a rate, weighted by time, and the larger memory.
std::vector<LoadRow> halved(const std::vector<LoadRow>& rows, double begin);

}  // namespace pando::app
