// TensorBoard's event files: numbers, histograms and texts of a run by step, as records of protocol
// buffers in the frame of TFRecord.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pando::store {

// Counts of values between limits. Bucket i counts the values below limits[i] that are not below
// limits[i - 1].
struct Histogram {
  double min = 0;
  double max = 0;
  double num = 0;
  double sum = 0;
  double sum_squares = 0;
  std::vector<double> limits;
  std::vector<double> counts;
};

// Uses the limits of TensorBoard's own writers: 0 and +-1e-12 times powers of 1.1. Empty buckets
// are left out, except those in front of a bucket with values. Values that are not finite are not
// counted.
Histogram histogram_of(std::span<const float> values);

struct EventFileOptions {
  std::function<double()> clock;  // seconds since 1970; empty: the system's
  std::string host;               // in the name of the file; empty: this machine
};

// Owns the open file, `events.out.tfevents.<seconds>.<host>.<process>.<number>` in a folder that
// must exist: a new one every time, since TensorBoard reads all files of a folder. When a call
// returns, the system has its data. One thread at a time. Throws IoError with path and reason;
// after that the file must not be written again.
class EventFile {
 public:
  explicit EventFile(const std::filesystem::path& folder, EventFileOptions options = {});

  const std::filesystem::path& path() const { return path_; }

  using Scalars = std::vector<std::pair<std::string, double>>;
  void add_scalars(int64_t step, const Scalars& scalars);
  using Histograms = std::vector<std::pair<std::string, Histogram>>;
  void add_histograms(int64_t step, const Histograms& histograms);
  // `text` is Markdown.
  void add_text(int64_t step, const std::string& tag, const std::string& text);
  // The run restarts at this step: TensorBoard ignores data of earlier files from this step on.
  void restart(int64_t step);

 private:
  using Bytes = std::vector<uint8_t>;
  void write_event(int64_t step, uint32_t kind, const Bytes& content);

  std::function<double()> clock_;
  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace pando::store
