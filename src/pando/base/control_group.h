// The control groups of this process, versions 1 and 2.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace pando {

struct ControlGroup {
  std::filesystem::path folder;
  std::string name;        // "/a/b"
  std::string controller;  // "memory", "cpu,cpuacct"; empty: version 2, which has all
  bool is_version_2() const { return controller.empty(); }
};

// The groups of a process whose /proc/self/cgroup reads `membership`, below `root`
// (/sys/fs/cgroup), with all their parents: the limits of all of them apply, and a container often
// sees its own group as the root. Folders that do not exist are listed too.
std::vector<ControlGroup> control_groups(const std::string& root, std::string_view membership);

// The text of a small file of the system; empty if it cannot be read.
std::string read_system_file(const std::filesystem::path& path);

}  // namespace pando
