// SPDX-License-Identifier: MIT
#include "pando/app/job/agreement.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>

#include <fmt/core.h>

#include "pando/app/job/exit_code.h"
#include "pando/base/json.h"
#include "pando/base/named_values.h"
#include "pando/data/tfrecord/crc32c.h"
#include "pando/options/config_value.h"

namespace pando::app {

namespace {

// Folders and cores may differ between machines. Options for files that only the first instance
// reads or writes may be missing elsewhere. The default number of slices depends on the cores; all
// instances use that of the first.
constexpr std::array kMayDiffer = {"dataset-path",
                                   "checkpoint-output-dir",
                                   "checkpoint-input-dir",
                                   "weights",
                                   "dump-ir",
                                   "threads",
                                   "cores-per-device",
                                   "core-sets",
                                   "slices"};

std::string shown(const Facts& facts, const std::string& name) {
  const std::string* const found = find_named(facts, name);
  return found == nullptr ? "nothing" : concat("'", *found, "'");
}

// The name of the first fact that differs; empty if all are equal.
std::string first_difference(const Facts& first, const Facts& other) {
  const auto [at, at_other] = std::ranges::mismatch(first, other);
  if (at != first.end()) return at->first;
  return at_other != other.end() ? at_other->first : "";
}

}  // namespace

Facts option_facts(const std::string& config_text) {
  const ConfigValue config = parse_yaml(config_text, "configuration");
  Facts facts;
  for (size_t i = 0; i < config.keys.size(); ++i) {
    if (std::ranges::find(kMayDiffer, config.keys[i]) != kMayDiffer.end()) continue;
    facts.emplace_back("--" + config.keys[i], to_yaml(config.items[i]));
  }
  return facts;
}

std::string program_fact() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  std::vector<char> bytes(size_t{1} << 20);
  int64_t size = 0;
  uint32_t checksum = 0;
  while (file) {
    file.read(bytes.data(), std::ssize(bytes));
    const auto count = static_cast<size_t>(file.gcount());
    checksum = data::crc32c({reinterpret_cast<const uint8_t*>(bytes.data()), count}, checksum);
    size += file.gcount();
  }
  return fmt::format("{} bytes with checksum {:08x}", size, checksum);
}

void check_agreement(const Instances& instances, const Facts& own) {
  if (instances.count() == 1) return;
  const std::vector<std::string> all = instances.gather(Json(own).dump());
  const auto facts_of = [&](size_t i) { return Json::parse(all[i]).get<Facts>(); };
  const Facts first = facts_of(0);
  for (size_t i = 1; i < all.size(); ++i) {
    if (all[i] == all[0]) continue;
    const Facts other = facts_of(i);
    const std::string name = first_difference(first, other);
    throw AgreedFailure(
        kUsage,
        concat("the instances of this job disagree: ", name, " is ", shown(first, name),
               " on instance 0 and ", shown(other, name), " on instance ", i,
               "; start all instances with the same program, options and data"),
        instances.is_first());
  }
}

}  // namespace pando::app
