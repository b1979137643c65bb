// SPDX-License-Identifier: MIT
#include "pando/benchmark/console.h"

#include <iostream>

#include <fmt/core.h>
#include <unistd.h>

#include "pando/base/strings.h"
#include "pando/benchmark/valid_text.h"

namespace pando::benchmark {

Console::Console(std::ostream& out, std::ostream& err, Level level, const std::string& log)
    : out_(out),
      err_(err),
      level_(level),
      log_(log),
      is_terminal_(&err == &std::cerr && isatty(STDERR_FILENO) == 1 && level <= Level::info) {}

void Console::say(Level level, const std::string& line) {
  clear_progress();
  const std::string text = valid_utf8(line) + "\n";
  if (level >= level_) out_ << text << std::flush;
  log_.append(text);
}

void Console::show_progress(double seconds) {
  if (!is_terminal_) return;
  err_ << fmt::format("\r  {:.0f} s ", seconds) << std::flush;
  has_progress_ = true;
}

void Console::clear_progress() {
  if (!has_progress_) return;
  err_ << "\r\x1b[K" << std::flush;
  has_progress_ = false;
}

std::string metric_line(const Spread& spread) {
  if (spread.values.empty()) return spread.name + " = none";
  std::string line = fmt::format("{} = {:.6g}", spread.name, spread.middle());
  if (spread.values.size() > 1) {
    line += fmt::format(" ({:.6g} to {:.6g})", spread.low(), spread.high());
  }
  return line;
}

std::vector<std::string> summary_lines(const std::vector<VariantResult>& results) {
  std::vector<std::string> lines = {
      "", "=================== short test summary info ====================", ""};
  int passed = 0;
  int failed = 0;
  int skipped = 0;
  for (const VariantResult& one : results) {
    const std::string name = concat(one.benchmark->name, "::", one.variant.name);
    if (one.has_failed()) {
      ++failed;
      lines.push_back(concat("FAILED ", name, " - ", one.failure()));
    } else if (!one.repetitions.empty()) {
      ++passed;
      lines.push_back("PASSED " + name);
    } else {
      ++skipped;
      lines.push_back(concat("SKIPPED ", name, " - ", one.skipped));
    }
  }
  lines.insert(lines.end(), {"", concat("================ ", failed, " failed, ", passed, " passed",
                                        skipped > 0 ? concat(", ", skipped, " skipped") : "",
                                        " ===============")});
  return lines;
}

}  // namespace pando::benchmark
