// SPDX-License-Identifier: MIT
#include "pando/base/error.h"

#include <string_view>

namespace pando {

const char* to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid_argument: return "invalid argument";
    case ErrorKind::unsupported: return "unsupported";
    case ErrorKind::io: return "input/output";
    case ErrorKind::comm: return "communication";
    case ErrorKind::resource: return "resource";
    case ErrorKind::internal: return "internal";
  }
  return "unknown";
}

void fail_check(const char* condition, const char* file, int line, const std::string& detail) {
  std::string_view path(file);
  const size_t root = path.rfind("src/");
  if (root != std::string_view::npos) path.remove_prefix(root);
  throw InternalError(path, ":", line, ": check failed: ", condition, detail.empty() ? "" : ": ",
                      detail);
}

}  // namespace pando
