// SPDX-License-Identifier: MIT
#include "pando/serve/model_status.h"

namespace pando::serve {

std::string_view to_string(VersionState state) {
  switch (state) {
    case VersionState::unknown: return "UNKNOWN";
    case VersionState::start: return "START";
    case VersionState::loading: return "LOADING";
    case VersionState::available: return "AVAILABLE";
    case VersionState::unloading: return "UNLOADING";
    case VersionState::end: return "END";
  }
  return "UNKNOWN";
}

}  // namespace pando::serve
