// SPDX-License-Identifier: MIT
#include "pando/base/strings.h"
#include "pando/http/message.h"
#include "pando/rest/tf_serving.h"

namespace pando::rest {
namespace {

// Takes `word` from the beginning of `path`, whatever the size of its letters.
bool take_fixed(std::string_view& path, std::string_view word) {
  if (path.size() < word.size() || to_lower(path.substr(0, word.size())) != word) return false;
  path.remove_prefix(word.size());
  return true;
}

// Reads up to the next '/' or ':'. Returns false if that is empty or cannot be decoded.
bool take_part(std::string_view& path, std::string& part) {
  const size_t end = std::min(path.find_first_of("/:"), path.size());
  if (end == 0 || !http::percent_decode(path.substr(0, end), part)) return false;
  path.remove_prefix(end);
  return true;
}

}  // namespace

std::optional<TfPath> parse_tf_path(std::string_view path) {
  TfPath result;
  std::string part;
  if (!take_fixed(path, "/v1/models/") || !take_part(path, result.spec.name)) return std::nullopt;
  if (take_fixed(path, "/versions/")) {
    if (!take_part(path, part)) return std::nullopt;
    result.spec.version = parse_int(part);
    if (!result.spec.version || *result.spec.version < 0) return std::nullopt;
  } else if (take_fixed(path, "/labels/")) {
    if (!take_part(path, result.spec.label)) return std::nullopt;
  }
  if (path.starts_with(':')) {
    result.verb = to_lower(path.substr(1));
    const bool known =
        result.verb == "predict" || result.verb == "classify" || result.verb == "regress";
    return known ? std::optional(result) : std::nullopt;
  }
  if (take_fixed(path, "/metadata")) result.verb = "metadata";
  return path.empty() ? std::optional(result) : std::nullopt;
}

}  // namespace pando::rest
