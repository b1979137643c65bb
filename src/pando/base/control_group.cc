// SPDX-License-Identifier: MIT
#include "pando/base/control_group.h"

#include <fstream>
#include <sstream>

#include "pando/base/strings.h"

namespace pando {

std::string read_system_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  return text.str();
}

// Each line is "id:controllers:path"; version 2 has id 0 and no controllers.
std::vector<ControlGroup> control_groups(const std::string& root, std::string_view membership) {
  std::vector<ControlGroup> groups;
  for (const std::string& line : split(membership, '\n')) {
    const std::vector<std::string> parts = split(line, ':');
    if (parts.size() < 3) continue;
    ControlGroup group{root, "/", parts[1]};
    group.folder /= parts[1];
    groups.push_back(group);
    std::filesystem::path name = "/";
    for (const auto& part : std::filesystem::path(parts[2]).relative_path()) {
      group.folder /= part;
      name /= part;
      group.name = name.string();
      groups.push_back(group);
    }
  }
  return groups;
}

}  // namespace pando
