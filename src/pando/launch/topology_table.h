// The table of --print-topology: which host, replicas, devices and cores each instance has.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/launch/binding.h"
#include "pando/launch/division.h"

namespace pando::launch {

struct TopologyView {
  std::string this_host;             // its name
  std::vector<InstanceCores> bound;  // the instances on this machine; empty: none run here
  bool unicode = true;               // draw with box characters; else with + - |
};

// The table is at most 100 columns wide: further instances follow in tables below. With very many
// instances the last ones are left out.
std::string topology_table(const JobDivision& job, const TopologyView& view);

// Whether a name in a list of hosts means the machine named `this_host`.
bool is_this_host(const std::string& host, const std::string& this_host);

}  // namespace pando::launch
