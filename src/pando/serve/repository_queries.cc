// Queries of the repository: versions that answer, and the states of all versions.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/serve/repository.h"

namespace pando::serve {

namespace {

std::string request_text(const ModelSpec& spec) {
  if (spec.version) return concat("Specific(", spec.name, ", ", *spec.version, ")");
  return concat("Latest(", spec.name, ")");
}

Status not_found(const ModelSpec& spec) {
  return failure(Code::not_found, "Servable not found for request: ", request_text(spec));
}

}  // namespace

const LoadedModel* Repository::latest_of(const Entry& entry) const {
  for (auto at = entry.versions.rbegin(); at != entry.versions.rend(); ++at) {
    if (at->second.state == VersionState::available) return at->second.model.get();
  }
  return nullptr;
}

Result<std::shared_ptr<const LoadedModel>> Repository::find(const ModelSpec& spec) const {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(spec.name);
  if (entry == entries_.end()) return not_found(spec);
  ModelSpec wanted = spec;
  if (!spec.label.empty()) {
    const auto label = entry->second.config.labels.find(spec.label);
    if (label == entry->second.config.labels.end()) {
      return failure(Code::invalid_argument, "Unrecognized servable version label: ", spec.label);
    }
    wanted.version = label->second;
  }
  if (!wanted.version) {
    const LoadedModel* latest = latest_of(entry->second);
    if (latest != nullptr) wanted.version = latest->version();
  }
  if (!wanted.version) return not_found(spec);
  const auto version = entry->second.versions.find(*wanted.version);
  const bool is_there =
      version != entry->second.versions.end() && version->second.state == VersionState::available;
  if (!is_there) return not_found(wanted);
  const std::shared_ptr<const LoadedModel> model = version->second.model;
  if (!spec.signature_name.empty() && spec.signature_name != model->signature()) {
    return failure(Code::failed_precondition, "Serving signature name: \"", spec.signature_name,
                   "\" not found in signature def");
  }
  return model;
}

VersionStatus Repository::status_of(int64_t number, const Version& version) {
  return {.version = number, .state = version.state, .status = version.status};
}

ModelStatus Repository::status_of(const Entry& entry) const {
  ModelStatus status{.name = entry.config.name, .versions = {}, .labels = entry.config.labels};
  for (auto at = entry.versions.rbegin(); at != entry.versions.rend(); ++at) {
    status.versions.push_back(status_of(at->first, at->second));
  }
  return status;
}

Result<ModelStatus> Repository::status(const ModelSpec& spec) const {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(spec.name);
  if (entry == entries_.end() || entry->second.versions.empty()) {
    const bool has_problem = entry != entries_.end() && !entry->second.problem.ok();
    return failure(Code::not_found, "Could not find any versions of model ", spec.name,
                   has_problem ? ": its base path cannot be read" : "");
  }
  ModelStatus status = status_of(entry->second);
  std::optional<int64_t> wanted = spec.version;
  if (!spec.label.empty()) {
    const auto label = status.labels.find(spec.label);
    if (label == status.labels.end()) {
      return failure(Code::invalid_argument, "Unrecognized servable version label: ", spec.label);
    }
    wanted = label->second;
  }
  if (!wanted) return status;
  std::erase_if(status.versions, [&](const VersionStatus& one) { return one.version != *wanted; });
  if (status.versions.empty()) {
    return failure(Code::not_found, "Could not find version ", *wanted, " of model ", spec.name);
  }
  return status;
}

std::vector<ModelStatus> Repository::models() const {
  const std::lock_guard lock(mutex_);
  std::vector<ModelStatus> models;
  for (const auto& [name, entry] : entries_) models.push_back(status_of(entry));
  return models;
}

bool Repository::all_available() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::all_of(entries_, [&](const auto& entry) {
    return entry.second.is_leaving || latest_of(entry.second) != nullptr;
  });
}

std::vector<std::shared_ptr<const LoadedModel>> Repository::loaded() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<const LoadedModel>> models;
  for (const auto& [name, entry] : entries_) {
    for (const auto& [number, version] : entry.versions) {
      if (version.model != nullptr) models.push_back(version.model);
    }
  }
  return models;
}

bool Repository::is_settled(const Entry& entry) {
  const auto is_done = [](const auto& version) {
    const VersionState state = version.second.state;
    return state == VersionState::available || state == VersionState::unloading ||
           state == VersionState::end || !version.second.status.ok();
  };
  return entry.is_known && std::ranges::all_of(entry.versions, is_done);
}

bool Repository::await_settled(std::chrono::duration<double> at_most) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, at_most, [&] {
    return std::ranges::all_of(entries_, [](const auto& entry) {
      return entry.second.is_leaving || is_settled(entry.second);
    });
  });
}

}  // namespace pando::serve
