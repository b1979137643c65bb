// SPDX-License-Identifier: MIT
#include "pando/benchmark/output_scan.h"

#include <algorithm>

#include "pando/base/strings.h"

namespace pando::benchmark {
namespace {

constexpr size_t kLongestLine = 1 << 20;  // longer ones are scanned in pieces
constexpr size_t kMostFoundValues = 1'000'000;
constexpr size_t kMostErrorLines = 10;
constexpr size_t kLongestErrorLine = 500;
constexpr size_t kLongestExample = 60;

void add_match(std::string_view text, Found& found) {
  if (found.values.size() == kMostFoundValues) {
    found.too_many = true;
    return;
  }
  const auto value = parse_double(trim(text));
  if (value) {
    found.values.push_back(*value);
  } else if (found.no_number.empty()) {
    found.no_number = concat("'", text.substr(0, kLongestExample), "'");
  }
}

void scan_line(const Metric& metric, std::string_view line, Found& found) {
  const bool done =
      metric.pattern->find_all(line, [&](std::string_view text) { add_match(text, found); });
  found.too_slow = found.too_slow || !done;
}

Metric compile_time_metric() {
  Metric metric{.name = "total_compiling_time", .regexp = "compilation time: *([0-9.]+) s"};
  metric.pattern = std::make_shared<const Pattern>(metric.regexp, metric.name);
  return metric;
}

}  // namespace

OutputScan::OutputScan(const std::vector<Metric>& metrics)
    : metrics_(metrics), compile_time_(compile_time_metric()), found_(metrics.size()) {}

void OutputScan::take(Stream stream, std::string_view bytes) {
  std::string& begun = begun_[static_cast<size_t>(stream)];
  while (!bytes.empty()) {
    const size_t end = bytes.find_first_of("\r\n");
    begun += bytes.substr(0, end);
    if (end == std::string_view::npos && begun.size() < kLongestLine) return;
    scan(stream, begun);
    begun.clear();
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
  }
}

void OutputScan::finish() {
  for (const Stream stream : {Stream::out, Stream::err}) {
    std::string& begun = begun_[static_cast<size_t>(stream)];
    if (!begun.empty()) scan(stream, begun);
    begun.clear();
  }
}

void OutputScan::scan(Stream stream, std::string_view line) {
  if (line.empty()) return;
  ++lines_;
  for (size_t i = 0; i < metrics_.size(); ++i) {
    scan_line(metrics_[i], line, found_[i][static_cast<size_t>(stream)]);
  }
  scan_line(compile_time_, line, compile_times_);
  if (stream == Stream::out) return;
  last_errors_.emplace_back(line.substr(0, kLongestErrorLine));
  if (last_errors_.size() > kMostErrorLines) last_errors_.pop_front();
}

Found OutputScan::found(size_t metric) const {
  Found all = found_[metric][0];
  const Found& more = found_[metric][1];
  all.values.insert(all.values.end(), more.values.begin(), more.values.end());
  if (all.no_number.empty()) all.no_number = more.no_number;
  all.too_slow = all.too_slow || more.too_slow;
  all.too_many = all.too_many || more.too_many;
  return all;
}

std::optional<double> OutputScan::compile_seconds() const {
  const std::vector<double>& times = compile_times_.values;
  if (times.empty()) return std::nullopt;
  return *std::max_element(times.begin(), times.end());
}

}  // namespace pando::benchmark
