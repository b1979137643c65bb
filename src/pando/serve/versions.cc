// SPDX-License-Identifier: MIT
#include "pando/serve/versions.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/core.h>

#include "pando/app/run/export_version.h"
#include "pando/base/error.h"
#include "pando/base/paths.h"
#include "pando/train/load_model.h"

namespace pando::serve {

namespace {

namespace fs = std::filesystem;

constexpr size_t kMostFolderEntries = 100'000;  // a base path with more is a mistake

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::error_code failure;
  std::vector<fs::path> entries;
  for (fs::directory_iterator at(folder, failure), end; !failure && at != end;
       at.increment(failure)) {
    entries.push_back(at->path());
    if (entries.size() > kMostFolderEntries) {
      throw IoError("'", folder.string(), "' has more than ", kMostFolderEntries, " entries");
    }
  }
  if (failure) throw IoError("cannot read '", folder.string(), "': ", failure.message());
  std::ranges::sort(entries);
  return entries;
}

}  // namespace

std::vector<FoundVersion> find_versions(const std::string& base_path) {
  if (is_plain_file(base_path)) return {{1, base_path}};
  std::map<int64_t, std::string> found;
  for (const fs::path& entry : entries_of(base_path)) {
    const auto version = app::version_number(entry.filename().string());
    if (!version || !is_folder(entry)) continue;
    std::string& path = found[*version];
    if (path.empty() || entry.string().size() < path.size()) path = entry.string();
  }
  std::vector<FoundVersion> versions;
  for (const auto& [version, path] : found) versions.push_back({version, path});
  return versions;
}

std::vector<int64_t> wanted_versions(const VersionPolicy& policy,
                                     const std::vector<FoundVersion>& found) {
  std::vector<int64_t> versions;
  for (const FoundVersion& one : found) versions.push_back(one.version);
  if (policy.kind == VersionPolicy::Kind::specific) {
    std::erase_if(versions, [&](int64_t version) {
      return std::ranges::find(policy.versions, version) == policy.versions.end();
    });
  }
  const bool limited = policy.kind == VersionPolicy::Kind::latest;
  if (limited && std::ssize(versions) > policy.num_versions) {
    versions.erase(versions.begin(), versions.end() - policy.num_versions);
  }
  return versions;
}

std::string model_file_of(const FoundVersion& version) {
  if (is_plain_file(version.path)) return version.path;
  const fs::path usual = fs::path(version.path) / "model.onnx";
  if (is_plain_file(usual)) return usual.string();
  std::vector<std::string> files;
  for (const fs::path& entry : entries_of(version.path)) {
    if (is_plain_file(entry) && is_model_file(entry.string())) files.push_back(entry.string());
  }
  if (files.size() == 1) return files[0];
  throw IoError("'", version.path, "': expected model.onnx or one other model file (",
                kinds_text(false), "), found ", files.size());
}

std::string fingerprint_of(const FoundVersion& version) {
  std::string text;
  std::error_code failure;
  const auto add = [&](const fs::path& path) {
    const auto size = fs::file_size(path, failure);
    const auto time = fs::last_write_time(path, failure).time_since_epoch().count();
    text += fmt::format("{} {} {}\n", path.filename().string(), failure ? 0 : size, time);
  };
  if (is_plain_file(version.path)) {
    add(version.path);
    return text;
  }
  try {
    for (const fs::path& entry : entries_of(version.path)) add(entry);
  } catch (const IoError&) {
    return "";  // it is gone
  }
  return text;
}

VersionActions next_actions(const std::vector<int64_t>& wanted,
                            const std::map<int64_t, VersionProgress>& progress,
                            Transition transition) {
  VersionActions actions;
  if (wanted.empty()) return actions;
  bool has_good = false;
  for (auto version = wanted.rbegin(); version != wanted.rend(); ++version) {
    const auto known = progress.find(*version);
    const VersionProgress now = known == progress.end() ? VersionProgress{} : known->second;
    has_good = has_good || now.is_loaded;
    if (!now.is_loaded && now.may_try) actions.load.push_back(*version);
  }
  std::vector<int64_t> unwanted;
  for (const auto& [version, now] : progress) {
    const bool is_wanted = std::ranges::find(wanted, version) != wanted.end();
    if (now.is_loaded && !is_wanted) unwanted.push_back(version);
  }
  const bool loads_first = transition == Transition::load_first;
  const bool may_go =
      loads_first ? actions.load.empty() && has_good : !actions.load.empty() || has_good;
  if (may_go) actions.unload = std::move(unwanted);
  return actions;
}

}  // namespace pando::serve
