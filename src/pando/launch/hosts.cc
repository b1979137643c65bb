// SPDX-License-Identifier: MIT
#include "pando/launch/hosts.h"

#include <algorithm>
#include <fstream>
#include <set>

#include "pando/app/job/exit_code.h"

namespace pando::launch {
namespace {

struct Expansion {
  std::string_view whole;  // for messages
  std::string_view label;

  [[noreturn]] void refuse(const std::string& found, const std::string& wanted) const {
    throw UsageError(label, ": expected ", wanted, ", got ", found, " in '", whole, "'");
  }

  void check_count(size_t count) const {
    if (count > kMostHosts) refuse("more", concat("at most ", kMostHosts, " hosts"));
  }

  int64_t number(std::string_view text) const {
    const bool digits =
        std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    const auto value = parse_int(text);
    if (!digits || !value) {
      refuse(concat("'", text, "'"), "numbers in brackets, such as host[0-2,4]");
    }
    return *value;
  }

  // Expands "08-10" or "12".
  std::vector<std::string> range(std::string_view text) const {
    const size_t dash = text.find('-');
    const std::string_view low_text = text.substr(0, dash);
    const int64_t low = number(low_text);
    const int64_t high = dash == std::string_view::npos ? low : number(text.substr(dash + 1));
    if (high < low) refuse(concat("'", text, "'"), "the lower number first");
    check_count(static_cast<size_t>(high - low) + 1);
    std::vector<std::string> numbers;
    for (int64_t value = low; value <= high; ++value) {
      const std::string digits = std::to_string(value);
      const size_t zeros = std::max(low_text.size(), digits.size()) - digits.size();
      numbers.push_back(std::string(zeros, '0') + digits);
    }
    return numbers;
  }

  // One item of the list, with any number of brackets.
  std::vector<std::string> item(std::string_view text) const {
    const size_t open = text.find('[');
    const size_t close = text.find(']');
    if (open == std::string_view::npos && close == std::string_view::npos) {
      check_name(text);
      return {std::string(text)};
    }
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
      refuse(concat("'", text, "'"), "brackets in pairs, such as host[0-2,4]");
    }
    const std::string_view rest = text.substr(close + 1);
    const std::vector<std::string> ends = rest.empty() ? std::vector<std::string>{""} : item(rest);
    std::vector<std::string> names;
    for (const std::string& part : split(text.substr(open + 1, close - open - 1), ',')) {
      for (const std::string& middle : range(part)) {
        check_count(names.size() + ends.size());
        for (const std::string& end : ends) {
          names.push_back(concat(text.substr(0, open), middle, end));
        }
      }
    }
    check_name(names.front());
    return names;
  }

  // Refuses names that mpirun would read as an option or as a number of slots.
  void check_name(std::string_view name) const {
    const auto is_bad = [](char c) {
      return c <= ' ' || std::string_view(":='\"").find(c) != std::string_view::npos;
    };
    if (name.empty() || name.front() == '-' || std::any_of(name.begin(), name.end(), is_bad)) {
      const bool slots =
          name.find("slots") != std::string_view::npos || name.find(':') != std::string_view::npos;
      refuse(
          concat("'", name, "'"),
          concat("the name or the address of a host",
                 slots ? " without slots (use --num-instances; it is divided evenly over the hosts)"
                       : ""));
    }
  }
};

// Splits at commas outside brackets.
std::vector<std::string> items_of(std::string_view text) {
  std::vector<std::string> items(1);
  int depth = 0;
  for (const char c : text) {
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c == ',' && depth == 0) {
      items.emplace_back();
    } else {
      items.back() += c;
    }
  }
  return items;
}

void append_hosts(std::string_view text, std::string_view label, std::vector<std::string>& hosts,
                  std::set<std::string>& seen) {
  const Expansion expansion{text, label};
  for (const std::string& item : items_of(text)) {
    for (std::string& host : expansion.item(trim(item))) {
      if (!seen.insert(host).second) {
        expansion.refuse(concat("'", host, "' twice"), "each host once");
      }
      hosts.push_back(std::move(host));
      expansion.check_count(hosts.size());
    }
  }
}

}  // namespace

std::vector<std::string> expand_hosts(std::string_view text, std::string_view label) {
  std::vector<std::string> hosts;
  std::set<std::string> seen;
  append_hosts(text, label, hosts, seen);
  return hosts;
}

std::vector<std::string> read_host_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw UsageError("--hostfile: cannot read '", path, "'");
  std::vector<std::string> hosts;
  std::set<std::string> seen;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::string_view text = trim(std::string_view(line).substr(0, line.find('#')));
    if (!text.empty()) append_hosts(text, concat("--hostfile: ", path, ":", number), hosts, seen);
  }
  if (hosts.empty()) {
    throw UsageError("--hostfile: expected at least one host in '", path, "', got none");
  }
  return hosts;
}

}  // namespace pando::launch
