// SPDX-License-Identifier: MIT
#include "pando/plan/link.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "pando/app/job/exit_code.h"
#include "pando/base/strings.h"

namespace pando::plan {

namespace {

struct NumberAndUnit {
  double number = 0;
  std::string_view unit;
};

// Splits after the last digit, so that "2 ms" and "2ms" mean the same.
std::optional<NumberAndUnit> split_unit(std::string_view text) {
  text = trim(text);
  const size_t digit = text.find_last_of("0123456789");
  if (digit == std::string_view::npos) return std::nullopt;
  const auto number = parse_double(text.substr(0, digit + 1));
  if (!number || !std::isfinite(*number)) return std::nullopt;
  return NumberAndUnit{*number, trim(text.substr(digit + 1))};
}

// The factor of a prefix such as "G" or "Gi"; nothing for other text.
std::optional<double> prefix_factor(std::string_view prefix) {
  if (prefix.empty()) return 1;
  constexpr std::string_view kPrefixes = "kmgt";
  const auto first = static_cast<char>(std::tolower(static_cast<unsigned char>(prefix[0])));
  const size_t power = kPrefixes.find(first);
  const bool binary = prefix.size() == 2 && prefix[1] == 'i';
  if (power == std::string_view::npos || (prefix.size() != 1 && !binary)) return std::nullopt;
  return std::pow(binary ? 1024.0 : 1000.0, static_cast<double>(power + 1));
}

// Bytes per second of a unit such as "Gbit/s".
std::optional<double> bandwidth_unit(std::string_view unit) {
  static const std::pair<std::string_view, double> endings[] = {
      {"bit/s", 0.125}, {"bits/s", 0.125}, {"bps", 0.125}, {"bit", 0.125}, {"B/s", 1}, {"B", 1}};
  for (const auto& [ending, bytes] : endings) {
    if (!unit.ends_with(ending)) continue;
    const auto factor = prefix_factor(unit.substr(0, unit.size() - ending.size()));
    if (factor) return *factor * bytes;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Bandwidth> parse_bandwidth(std::string_view text) {
  const auto parts = split_unit(text);
  if (!parts || parts->number <= 0) return std::nullopt;
  const auto unit = bandwidth_unit(parts->unit);
  if (!unit) return std::nullopt;
  return Bandwidth{parts->number * *unit};
}

std::optional<Latency> parse_latency(std::string_view text) {
  const auto parts = split_unit(text);
  if (!parts || parts->number < 0) return std::nullopt;
  static const std::pair<std::string_view, double> units[] = {
      {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
  for (const auto& [unit, seconds] : units) {
    if (parts->unit == unit) return Latency{parts->number * seconds};
  }
  return std::nullopt;
}

std::string to_string(const Bandwidth& bandwidth) {
  const double bytes = bandwidth.bytes_per_second;
  if (bytes >= 1e9) return fmt::format("{:.6g}GB/s", bytes / 1e9);
  if (bytes >= 1e6) return fmt::format("{:.6g}MB/s", bytes / 1e6);
  return fmt::format("{:.6g}kB/s", bytes / 1e3);
}

std::string to_string(const Latency& latency) {
  const double seconds = latency.seconds;
  if (seconds >= 1) return fmt::format("{:.6g}s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.6g}ms", seconds * 1e3);
  return fmt::format("{:.6g}us", seconds * 1e6);
}

// The latencies of Ethernet are those of sockets. Sockets copy each byte twice on each side; remote
// direct memory access does not copy; each process copies shared memory once.
const std::vector<NamedLink>& named_links() {
  static const std::vector<NamedLink> links = {{"10gbe", {{1.25e9}, {30e-6}, 3e-6, 2}},
                                               {"25gbe", {{3.125e9}, {20e-6}, 3e-6, 2}},
                                               {"100gbe", {{12.5e9}, {15e-6}, 3e-6, 2}},
                                               {"infiniband", {{25e9}, {2e-6}, 0.5e-6, 0}},
                                               {std::string(kLocal), {{0}, {2e-6}, 1e-6, 1}}};
  return links;
}

const Link& find_link(std::string_view name) {
  std::vector<std::string> known;
  for (const NamedLink& named : named_links()) {
    if (named.name == name) return named.link;
    known.push_back(named.name);
  }
  throw UsageError("--network: ", unknown_name_message("network", name, known));
}

}  // namespace pando::plan

namespace pando {

bool OptionType<plan::Bandwidth>::read(const ConfigValue& value, plan::Bandwidth& field) {
  const auto parsed =
      value.kind == ConfigValue::Kind::scalar ? plan::parse_bandwidth(value.text) : std::nullopt;
  if (parsed) field = *parsed;
  return parsed.has_value();
}

ConfigValue OptionType<plan::Bandwidth>::show(const plan::Bandwidth& field) {
  return ConfigValue::scalar(plan::to_string(field));
}

bool OptionType<plan::Latency>::read(const ConfigValue& value, plan::Latency& field) {
  const auto parsed =
      value.kind == ConfigValue::Kind::scalar ? plan::parse_latency(value.text) : std::nullopt;
  if (parsed) field = *parsed;
  return parsed.has_value();
}

ConfigValue OptionType<plan::Latency>::show(const plan::Latency& field) {
  return ConfigValue::scalar(plan::to_string(field));
}

}  // namespace pando
