// SPDX-License-Identifier: MIT
#include "pando/benchmark/variants.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

#include "pando/base/named_values.h"
#include "pando/options/option_types.h"
#include "pando/options/usage_error.h"

namespace pando::benchmark {
namespace {

using Words = std::vector<std::string>;

[[noreturn]] void refuse_variants(const Benchmark& benchmark, const std::string& count) {
  throw UsageError(benchmark.place, ": '", benchmark.name, "' has ", count,
                   " variants, expected at most ", kMostVariants,
                   "; give its parameters fewer "
                   "values");
}

// Every choice with every other; the first name varies fastest.
std::vector<Words> combined(const Benchmark& benchmark) {
  const Parameters& parameters = benchmark.parameters;
  std::vector<Words> rows = {Words()};
  for (const Words& choices : parameters.choices) {
    // Neither factor is above its limit, so the product fits into its type.
    if (choices.size() > kMostVariants || rows.size() * choices.size() > kMostVariants) {
      refuse_variants(benchmark, "more than " + with_thousands(kMostVariants));
    }
    std::vector<Words> longer;
    for (const std::string& choice : choices) {
      for (const Words& row : rows) {
        longer.push_back(row);
        longer.back().push_back(choice);
      }
    }
    rows = std::move(longer);
  }
  return rows;
}

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

Words split_at_spaces(const std::string& text) {
  Words words;
  bool in_word = false;
  for (const char c : text) {
    if (is_space(c)) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    words.back() += c;
  }
  return words;
}

// Removes flags that begin with --wandb and their values: all values of --wandb-tags and similar
// flags, and a truth value after --wandb.
Words without_wandb(const Words& words) {
  Words kept;
  for (size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("--wandb")) {
      kept.push_back(words[i]);
      continue;
    }
    if (words[i].find('=') != std::string::npos) continue;
    const bool is_switch = words[i] == "--wandb";
    while (i + 1 < words.size() && words[i + 1][0] != '-' &&
           (!is_switch || parse_bool(words[i + 1]))) {
      ++i;
    }
  }
  return kept;
}

// `python3 train.py` gets the path of its script, so that a log says which one it was.
void make_script_absolute(const Benchmark& benchmark, Words& words) {
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] != "python3" && words[i] != "python") continue;
    if (words[i + 1][0] == '-' || words[i + 1][0] == '$') return;
    const auto folder = std::filesystem::path(benchmark.path).parent_path() / benchmark.location;
    words[i + 1] = (folder / words[i + 1]).lexically_normal().string();
    return;
  }
}

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

}  // namespace

std::vector<Variant> make_variants(const Benchmark& benchmark) {
  const Parameters& parameters = benchmark.parameters;
  const std::vector<Words> rows = parameters.rows.empty() ? combined(benchmark) : parameters.rows;
  if (rows.size() > kMostVariants) {
    refuse_variants(benchmark, with_thousands(static_cast<int64_t>(rows.size())));
  }
  std::vector<Variant> variants;
  std::set<std::string> names;
  for (const Words& row : rows) {
    Variant variant{.name = benchmark.name};
    for (size_t i = 0; i < row.size(); ++i) {
      variant.parameters.emplace_back(parameters.names[i], row[i]);
    }
    std::sort(variant.parameters.begin(), variant.parameters.end());
    for (const auto& [name, value] : variant.parameters) variant.name += "_" + name + "_" + value;
    if (!names.insert(variant.name).second) {
      throw UsageError(benchmark.place, ": '", benchmark.name, "' has two variants '", variant.name,
                       "'; remove one of the equal values of its parameters");
    }
    variants.push_back(std::move(variant));
  }
  return variants;
}

std::string command_of(const Benchmark& benchmark, const Variant& variant, CommandChanges changes) {
  if (benchmark.cmd.empty()) {
    throw UsageError(benchmark.place, ": '", benchmark.name, "' has no cmd, the command to run");
  }
  const auto value_of = [&](const std::string& name) -> std::optional<std::string> {
    const std::string* const found = find_named(variant.parameters, name);
    return found == nullptr ? std::nullopt : std::optional(*found);
  };
  const std::string where = concat(benchmark.place, ": cmd of '", benchmark.name, "'");
  Words words = split_at_spaces(fill_in(benchmark.cmd, value_of, where));
  if (words.empty()) throw UsageError(where, ": expected a command, got nothing");
  make_script_absolute(benchmark, words);
  if (!changes.allow_wandb && !benchmark.allow_wandb) words = without_wandb(words);
  if (changes.compile_only) words.emplace_back("--compile-only");
  return join(words, " ");
}

std::string fill_in(std::string_view text, const FindValue& value, const std::string& place) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c != '{' && c != '}') {
      out += c;
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == c) {
      out += c;
      ++i;
      continue;
    }
    const size_t end = c == '{' ? text.find('}', i) : std::string_view::npos;
    if (end == std::string_view::npos) {
      throw UsageError(place, ": '", c, "' stands alone; write ", c, c, " for a brace");
    }
    const std::string name(text.substr(i + 1, end - i - 1));
    const auto found = value(name);
    if (!found) {
      throw UsageError(place, ": there is no parameter '", name, "' for {", name,
                       "}; write {{ and }} for braces");
    }
    out += *found;
    i = end;
  }
  return out;
}

std::string expand_variables(std::string_view text, const FindValue& value) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool in_braces = text.substr(i).starts_with("${");
    const size_t begin = i + (in_braces ? 2 : 1);
    size_t end = begin;
    while (text[i] == '$' && end < text.size() && is_name_character(text[end])) ++end;
    const bool is_whole = end > begin && (!in_braces || (end < text.size() && text[end] == '}'));
    const auto found =
        is_whole ? value(std::string(text.substr(begin, end - begin))) : std::nullopt;
    if (!found) {
      out += text[i];
      continue;
    }
    out += *found;
    i = end - (in_braces ? 0 : 1);
  }
  return out;
}

int processes_of(const std::string& command) {
  const Words words = split_at_spaces(command);
  auto word = std::find(words.begin(), words.end(), "mpirun");
  for (; word != words.end(); ++word) {
    std::string number;
    if (word->starts_with("--np=")) {
      number = word->substr(std::string_view("--np=").size());
    } else if ((*word == "--np" || *word == "-np" || *word == "-n") && word + 1 != words.end()) {
      number = *(word + 1);
    }
    const auto count = parse_int(number);
    if (count && *count > 0 && *count <= 1 << 20) return static_cast<int>(*count);
  }
  return 1;
}

}  // namespace pando::benchmark
