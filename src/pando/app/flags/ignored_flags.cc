// SPDX-License-Identifier: MIT
#include "pando/app/flags/ignored_flags.h"

#include <utility>
#include <variant>

namespace pando::app {
namespace {

// Choices of a flag, the default first; "" stands for none.
using Words = std::vector<std::string>;

struct IgnoredFlag {
  std::string name;
  std::string reason;
  std::variant<bool, int64_t, Words> fallback;  // a switch, a number of bytes or choices
};

const std::vector<IgnoredFlag>& ignored_flags() {
  static const std::vector<IgnoredFlag> flags = {
      {"stable-norm", "deviations are always taken from the mean before they are squared", false},
      {"accelerator-side-reduction", "devices always reduce metrics", false},
      {"on-demand", "devices are cores, which need not be attached", true},
      {"optimizer-state-offloading", "devices use the memory of the host", true},
      {"internal-exchange-optimization-target", "cores share their memory and exchange nothing",
       Words{"", "cycles", "memory", "balanced"}},
      {"max-reduce-many-buffer-size", "cores sum in place, without a buffer", int64_t{0}},
      {"conv-dithering", "the memory of convolutions is not divided among cores", false},
      {"gather-conv-output", "results of convolutions are never scattered", false},
      {"min-remote-tensor-size", "devices use the memory of the host", int64_t{128}},
      {"scheduling-algorithm", "programs run in the order of their graph",
       Words{"CHOOSE_BEST", "CLUSTERING", "POST_ORDER", "LOOK_AHEAD", "SHORTEST_PATH"}},
  };
  return flags;
}

}  // namespace

void add_ignored_flags(OptionTable& table, IgnoredFlags& flags) {
  table.begin_group("Ignored flags", Effect::none);
  for (const IgnoredFlag& flag : ignored_flags()) {
    const std::string help = "ignored: " + flag.reason;
    if (const bool* on = std::get_if<bool>(&flag.fallback)) {
      table.add(flag.name, flags.switches.try_emplace(flag.name, *on).first->second, help);
    } else if (const int64_t* size = std::get_if<int64_t>(&flag.fallback)) {
      table.add(flag.name, flags.sizes.try_emplace(flag.name, *size).first->second, help)
          .with_hint("BYTES")
          .at_least(0);
    } else {
      std::vector<std::pair<std::string, std::optional<std::string>>> choices;
      for (const std::string& word : std::get<Words>(flag.fallback)) {
        if (!word.empty()) choices.emplace_back(word, word);
      }
      std::optional<std::string> first = std::get<Words>(flag.fallback).front();
      if (first->empty()) first.reset();
      table.add_choice(flag.name, flags.words.try_emplace(flag.name, first).first->second,
                       std::move(choices), help);
    }
  }
}

std::vector<std::string> ignored_warnings(const OptionTable& table) {
  std::vector<std::string> warnings;
  for (const IgnoredFlag& flag : ignored_flags()) {
    const Option& option = *table.find_exact(flag.name);
    // Files that --print-config wrote contain every flag with its default.
    const bool is_given = option.origin.kind == Origin::Kind::command_line;
    if (!is_given && !is_changed(option)) continue;
    warnings.push_back(concat("--", flag.name, " is ignored: ", flag.reason));
  }
  return warnings;
}

}  // namespace pando::app
