// Describes the network between the instances of a job, as users write it: bandwidth and latency
// with their units, and the names of common networks.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pando/options/option_types.h"

namespace pando::plan {

struct Bandwidth {
  double bytes_per_second = 0;
  bool operator==(const Bandwidth&) const = default;
};

struct Latency {
  double seconds = 0;
  bool operator==(const Latency&) const = default;
};

// Parses "10Gbit", "25 Gbit/s", "1.25GB/s", "800MiB/s", "100Gbps": a number above 0, then K, M, G
// or T (with an i: powers of 1024), then bits or bytes. Returns nothing for other text.
std::optional<Bandwidth> parse_bandwidth(std::string_view text);
// Parses "50us", "2 ms", "0.1s", "500ns". Returns nothing for other text and for negative numbers.
std::optional<Latency> parse_latency(std::string_view text);

std::string to_string(const Bandwidth& bandwidth);  // "1.25GB/s"
std::string to_string(const Latency& latency);      // "50us"

// The connection of a machine to the others. A message occupies it for `overhead` plus the time for
// its bytes, and arrives `latency` later.
struct Link {
  Bandwidth bandwidth;  // in each direction
  Latency latency;
  double overhead = 0;  // seconds per message
  double copies = 0;    // times that a processor copies each byte it sends or receives
};

// One of 10gbe, 25gbe, 100gbe, infiniband, local.
struct NamedLink {
  std::string name;
  Link link;
};
const std::vector<NamedLink>& named_links();
// Throws UsageError that lists the names.
const Link& find_link(std::string_view name);

// The name of the link between instances that share one machine.
inline constexpr std::string_view kLocal = "local";

}  // namespace pando::plan

namespace pando {

template <>
struct OptionType<plan::Bandwidth> {
  static constexpr const char* kWanted = "a number with a unit such as 10Gbit or 1.25GB/s";
  static bool read(const ConfigValue& value, plan::Bandwidth& field);
  static ConfigValue show(const plan::Bandwidth& field);
};

template <>
struct OptionType<plan::Latency> {
  static constexpr const char* kWanted = "a number with a unit such as 50us or 2ms";
  static bool read(const ConfigValue& value, plan::Latency& field);
  static ConfigValue show(const plan::Latency& field);
};

}  // namespace pando
