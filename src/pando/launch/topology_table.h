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
  std::vector<InstanceCores> bound;  // of the instances of this machine; empty: none run on it
  bool unicode = true;               // lines of boxes; else + - |
};

// At most 100 columns wide; wider ones go on below, and most of very many are left out.
std::string topology_table(const JobDivision& job, const TopologyView& view);

// Whether a name of the list means the machine with this name.
bool is_this_host(const std::string& host, const std::string& this_host);

}  // namespace pando::launch
