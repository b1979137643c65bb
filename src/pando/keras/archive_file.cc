// `.keras` archives.
// SPDX-License-Identifier: MIT
#include <memory>

#include "pando/base/error.h"
#include "pando/base/paths.h"
#include "pando/data/sources/gzip.h"
#include "pando/data/sources/zip.h"
#include "pando/keras/files.h"
#include "pando/keras/files_impl.h"

namespace pando::keras {
namespace {

constexpr uint64_t kMostMembers = 10000;
constexpr uint64_t kMostExpansion = 1100;          // deflate reaches 1032
constexpr uint64_t kMostText = uint64_t{1} << 26;  // bytes of a JSON member

class KerasArchive {
 public:
  KerasArchive(std::vector<uint8_t> content, std::string place)
      : content_(std::move(content)), place_(std::move(place)) {
    const std::vector<data::ZipMember> all = data::zip_members(content_, place_);
    if (all.size() > kMostMembers) {
      throw IoError(place_, ": expected at most ", kMostMembers, " members, got ", all.size());
    }
    for (const data::ZipMember& member : all) {
      check(member);
      if (!members_.emplace(member.name, member).second) {
        throw IoError(place_, ": member '", member.name.substr(0, 200), "' occurs twice");
      }
    }
  }

  const data::ZipMember& member(const std::string& name) const {
    const auto found = members_.find(name);
    if (found != members_.end()) return found->second;
    throw IoError(place_, ": expected the member '", name, "' of a Keras model, found none");
  }

  // `most` bounds what a small archive unpacks to, not what it holds as it is.
  std::vector<uint8_t> read(const std::string& name, uint64_t most) const {
    const data::ZipMember& wanted = member(name);
    if (wanted.bytes > most && wanted.bytes > wanted.stored) {
      throw IoError(place_, ": member '", name, "': expected to unpack at most ", most,
                    " bytes, got ", wanted.bytes);
    }
    return data::read_zip_member(content_, wanted, place_);
  }

 private:
  void check(const data::ZipMember& member) const {
    const std::string name = member.name.substr(0, 200);
    if (!stays_inside(member.name)) {
      throw IoError(place_, ": member '", name, "' leaves the folder");
    }
    if (member.bytes / kMostExpansion > member.stored) {
      throw IoError(place_, ": member '", name, "': ", member.stored, " bytes cannot become ",
                    member.bytes);
    }
  }

  std::vector<uint8_t> content_;
  std::string place_;
  std::map<std::string, data::ZipMember> members_;
};

}  // namespace

std::map<std::string, std::string> texts_of(const Json& object) {
  std::map<std::string, std::string> texts;
  for (const Json::Member& member : object.members()) {
    if (member.value.is_string()) texts[member.key] = member.value.get<std::string>();
  }
  return texts;
}

ModelFile parse_keras_archive(std::vector<uint8_t> content, const std::string& place) {
  const auto archive = std::make_shared<const KerasArchive>(std::move(content), place);
  const auto json = [&](const std::string& name) {
    const std::vector<uint8_t> bytes = archive->read(name, kMostText);
    return parse_json(std::string(bytes.begin(), bytes.end()), place, name);
  };
  ModelFile file{.config = json("config.json")};
  const Json metadata = json("metadata.json");
  const auto version = metadata.get<std::string>("keras_version");
  file.major = major_version(version);
  file.producer = "Keras " + version;
  file.metadata = texts_of(metadata);
  if (const Json* training = file.config.find("compile_config")) file.training = *training;
  archive->member("model.weights.h5");
  file.weights = deferred_weights([archive, place](uint64_t most_bytes) {
    const std::string inner = place + ": model.weights.h5";
    const std::vector<uint8_t> weights = archive->read("model.weights.h5", most_bytes);
    return counted_weights(variables_of(weights, inner, most_bytes), inner);
  });
  return file;
}

ModelFile read_keras_archive(const std::string& path) {
  return parse_keras_archive(data::read_file(path), path);
}

ModelFile read_model_file(const std::string& path) {
  std::vector<uint8_t> content = data::read_file(path);
  const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
  if (text.starts_with("\x89HDF\r\n\x1a\n")) return parse_hdf5_model(std::move(content), path);
  if (text.starts_with("PK")) return parse_keras_archive(std::move(content), path);
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') return read_tfjs_model(path);
  throw IoError(path, ": expected a Keras model: HDF5, a .keras archive or model.json of tfjs");
}

}  // namespace pando::keras
