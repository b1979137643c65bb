// Regular expressions as Python's re.findall has them, for the metrics of a benchmark.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace pando::benchmark {

// One thread at a time.
class Pattern {
 public:
  // Throws UsageError that starts with `place` if the text is not a regular expression, or has more
  // than one group, so that it is not clear which of them is the value.
  Pattern(const std::string& text, const std::string& place);

  // Calls `take` with the group of every match in the line, or with the match if there is no group.
  // Any bytes may be in the line. Returns false if a match took too many steps.
  bool find_all(std::string_view line, const std::function<void(std::string_view)>& take) const;

 private:
  struct Compiled;
  struct Deleter {
    void operator()(Compiled* compiled) const;
  };
  std::unique_ptr<Compiled, Deleter> compiled_;
};

}  // namespace pando::benchmark
