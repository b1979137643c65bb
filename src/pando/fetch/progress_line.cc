// SPDX-License-Identifier: MIT
#include "pando/fetch/progress_line.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "pando/base/clock.h"
#include "pando/base/strings.h"

namespace pando::fetch {

namespace {

constexpr double kBetweenDraws = 0.1;  // seconds
constexpr int64_t kColumns = 80;
constexpr int64_t kLeastBar = 4;
constexpr int64_t kMostBar = 24;
constexpr const char* kClearToEnd = "\x1b[K";

std::string bytes_text(int64_t bytes) { return human_bytes(static_cast<double>(bytes)); }

// "17.2/162.2 MiB"
std::string done_text(int64_t done, int64_t total) {
  double unit = 1;
  while (static_cast<double>(total) / unit >= 1024) unit *= 1024;
  return fmt::format("{:.1f}/{}", static_cast<double>(done) / unit, bytes_text(total));
}

}  // namespace

std::string duration_text(double seconds) {
  const int64_t whole = std::llround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02} min", whole / 60, whole % 60);
  return fmt::format("{}:{:02} h", whole / 3600, whole % 3600 / 60);
}

ProgressLine::ProgressLine(ProgressLineOptions options) : options_(std::move(options)) {
  if (!options_.clock) options_.clock = steady_seconds;
}

void ProgressLine::begin(const std::string& name, int64_t done, int64_t total) {
  name_ = name;
  first_ = done_ = done;
  total_ = total;
  began_ = drawn_ = options_.clock();
  if (options_.is_terminal) draw(began_);
}

void ProgressLine::update(int64_t done) {
  done_ = done;
  const double now = options_.clock();
  if (!options_.is_terminal || now - drawn_ < kBetweenDraws) return;
  draw(now);
}

void ProgressLine::draw(double now) {
  if (options_.out == nullptr) return;
  std::string numbers = done_text(done_, total_);
  const double rate = static_cast<double>(done_ - first_) / std::max(now - began_, 1e-3);
  if (done_ > first_) {
    numbers += fmt::format(", {}/s, {} left", human_bytes(rate),
                           duration_text(static_cast<double>(total_ - done_) / rate));
  }
  // A line that wraps cannot be redrawn.
  const auto others = static_cast<int64_t>(name_.size() + numbers.size()) + 5;
  const int64_t width = std::clamp(kColumns - others, kLeastBar, kMostBar);
  const int64_t full = total_ > 0 ? done_ * width / total_ : width;
  *options_.out << fmt::format("\r{} [{:=<{}}{: <{}}] {}", name_, "", full, "", width - full,
                               numbers)
                << kClearToEnd << std::flush;
  drawn_ = now;
  on_line_ = true;
}

void ProgressLine::end() {
  const double seconds = options_.clock() - began_;
  const double rate = static_cast<double>(done_ - first_) / std::max(seconds, 1e-3);
  const std::string resumed =
      first_ > 0 ? fmt::format(" ({} were already there)", bytes_text(first_)) : "";
  if (options_.out != nullptr) {
    *options_.out << (on_line_ ? "\r" : "")
                  << fmt::format("{}: {}{} in {}, {}/s", name_, bytes_text(total_), resumed,
                                 duration_text(seconds), human_bytes(rate))
                  << (on_line_ ? kClearToEnd : "") << "\n"
                  << std::flush;
  }
  on_line_ = false;
}

void ProgressLine::note(const std::string& text) {
  if (options_.out == nullptr) return;
  *options_.out << (on_line_ ? "\n" : "") << text << "\n" << std::flush;
  on_line_ = false;
}

}  // namespace pando::fetch
