// Decides which versions of a model are wanted and which to load or unload next. Pure functions
// without threads.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pando/serve/config.h"

namespace pando::serve {

// A numbered folder of a model, or the model file itself.
struct FoundVersion {
  int64_t version = 0;
  std::string path;
  bool operator==(const FoundVersion&) const = default;
};

// The numbered folders of a base path, in ascending order; other entries are ignored, and of two
// folders with the same number the one with the shorter name counts. A base path that is a file is
// version 1. Throws IoError if it cannot be read.
std::vector<FoundVersion> find_versions(const std::string& base_path);

// The versions among `found` that the policy asks for, in ascending order.
std::vector<int64_t> wanted_versions(const VersionPolicy& policy,
                                     const std::vector<FoundVersion>& found);

// The file of a version: the folder's model.onnx, or its only model file. Throws IoError, which
// says what is there.
std::string model_file_of(const FoundVersion& version);

// A text that changes when the files of a version change: a half-copied version is tried again.
std::string fingerprint_of(const FoundVersion& version);

// How far the server is with one version.
struct VersionProgress {
  bool is_loaded = false;
  bool may_try = true;  // no attempt failed, or it is time for another one
};

struct VersionActions {
  std::vector<int64_t> load;    // the newest first
  std::vector<int64_t> unload;  // now: before anything is loaded
  bool operator==(const VersionActions&) const = default;
};

// What to do so that the wanted versions are loaded and the others are not. With
// Transition::load_first, versions that are not wanted stay until all wanted ones are loaded or
// cannot be: a version that fails to load never replaces a good one. An empty list of wanted
// versions changes nothing: a folder that is not there for a moment does not end the service.
VersionActions next_actions(const std::vector<int64_t>& wanted,
                            const std::map<int64_t, VersionProgress>& progress,
                            Transition transition);

}  // namespace pando::serve
