// SPDX-License-Identifier: MIT
#include "pando/data/sources/numpy/npz.h"

#include "pando/data/sources/numpy/npy.h"

namespace pando::data {

std::map<std::string, ZipMember> npz_members(std::span<const uint8_t> archive,
                                             const std::string& place) {
  constexpr std::string_view kEnding = ".npy";
  std::map<std::string, ZipMember> members;
  for (ZipMember& member : zip_members(archive, place)) {
    if (!member.name.ends_with(kEnding)) continue;
    const std::string name = member.name.substr(0, member.name.size() - kEnding.size());
    if (!members.emplace(name, std::move(member)).second) {
      throw IoError(place, ": has the array '", name, "' twice, expected each once");
    }
  }
  return members;
}

std::map<std::string, Tensor> parse_npz(std::span<const uint8_t> content,
                                        const std::string& place) {
  std::map<std::string, Tensor> arrays;
  for (const auto& [name, member] : npz_members(content, place)) {
    arrays.emplace(
        name, parse_npy(read_zip_member(content, member, place), concat(place, ": ", member.name)));
  }
  return arrays;
}

}  // namespace pando::data
