// The names and states of versions, as all protocols show them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pando/serve/status.h"

namespace pando::serve {

// Which version of which model a request asks for: a number, a label, or the latest that is loaded.
struct ModelSpec {
  std::string name;
  std::optional<int64_t> version;
  std::string label;           // not together with a version
  std::string signature_name;  // empty: the default one
};

// The numbers are TensorFlow Serving's.
enum class VersionState {
  unknown = 0,
  start = 10,
  loading = 20,
  available = 30,
  unloading = 40,
  end = 50
};
std::string_view to_string(VersionState state);  // "AVAILABLE"

struct VersionStatus {
  int64_t version = 0;
  VersionState state = VersionState::unknown;
  Status status;  // why it is not available, if it failed
};

struct ModelStatus {
  std::string name;
  std::vector<VersionStatus> versions;  // the newest first
  std::map<std::string, int64_t> labels;
};

}  // namespace pando::serve
