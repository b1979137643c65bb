// `.keras` archives.
// SPDX-License-Identifier: MIT
#include <filesystem>
#include <set>

#include "pando/base/error.h"
#include "pando/data/sources/gzip.h"
#include "pando/data/sources/zip.h"
#include "pando/keras/files.h"
#include "pando/keras/files_impl.h"

namespace pando::keras {
namespace {

constexpr uint64_t kMostMembers = 10000;
constexpr uint64_t kMostExpansion = 1100;          // deflate reaches 1032
constexpr uint64_t kMostText = uint64_t{1} << 26;  // bytes of a JSON member

std::map<std::string, data::ZipMember> checked_members(std::span<const uint8_t> archive,
                                                       const std::string& place) {
  std::map<std::string, data::ZipMember> members;
  const std::vector<data::ZipMember> all = data::zip_members(archive, place);
  if (all.size() > kMostMembers) {
    throw IoError(place, ": expected at most ", kMostMembers, " members, got ", all.size());
  }
  for (const data::ZipMember& member : all) {
    if (!stays_inside(member.name)) {
      throw IoError(place, ": member '", member.name.substr(0, 200), "' leaves the folder");
    }
    if (member.bytes / kMostExpansion > member.stored) {
      throw IoError(place, ": member '", member.name.substr(0, 200), "': ", member.stored,
                    " bytes cannot become ", member.bytes);
    }
    if (!members.emplace(member.name, member).second) {
      throw IoError(place, ": member '", member.name.substr(0, 200), "' occurs twice");
    }
  }
  return members;
}

}  // namespace

bool stays_inside(const std::string& name) {
  if (name.empty() || name.find('\\') != std::string::npos ||
      name.find('\0') != std::string::npos) {
    return false;
  }
  const std::filesystem::path path(name);
  bool inside = !path.is_absolute();
  for (const auto& part : path) inside = inside && part != "..";
  return inside;
}

std::map<std::string, std::string> texts_of(const Json& object) {
  std::map<std::string, std::string> texts;
  for (const Json::Member& member : object.members()) {
    if (member.value.is_string()) texts[member.key] = member.value.get<std::string>();
  }
  return texts;
}

ModelFile parse_keras_archive(std::span<const uint8_t> content, const std::string& place) {
  const std::map<std::string, data::ZipMember> members = checked_members(content, place);
  const auto read = [&](const std::string& name, uint64_t most) {
    const auto found = members.find(name);
    if (found == members.end()) {
      throw IoError(place, ": expected the member '", name, "' of a Keras model, found none");
    }
    if (found->second.bytes > most) {
      throw IoError(place, ": member '", name, "': expected at most ", most, " bytes, got ",
                    found->second.bytes);
    }
    return data::read_zip_member(content, found->second, place);
  };
  const auto json = [&](const std::string& name) {
    const std::vector<uint8_t> bytes = read(name, kMostText);
    return parse_json(std::string(bytes.begin(), bytes.end()), place, name);
  };
  ModelFile file{.config = json("config.json")};
  const Json metadata = json("metadata.json");
  const auto version = metadata.get<std::string>("keras_version");
  file.major = major_version(version);
  file.producer = "Keras " + version;
  file.metadata = texts_of(metadata);
  if (const Json* training = file.config.find("compile_config")) file.training = *training;
  const std::vector<uint8_t> weights =
      read("model.weights.h5", std::numeric_limits<uint64_t>::max());
  const std::string inner = place + ": model.weights.h5";
  file.weights = counted_weights(variables_of(weights, inner), inner);
  return file;
}

ModelFile read_keras_archive(const std::string& path) {
  return parse_keras_archive(data::read_file(path), path);
}

ModelFile read_model_file(const std::string& path) {
  const std::vector<uint8_t> content = data::read_file(path);
  const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
  if (text.starts_with("\x89HDF\r\n\x1a\n")) return parse_hdf5_model(content, path);
  if (text.starts_with("PK")) return parse_keras_archive(content, path);
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') return read_tfjs_model(path);
  throw IoError(path, ": expected a Keras model: HDF5, a .keras archive or model.json of tfjs");
}

}  // namespace pando::keras
