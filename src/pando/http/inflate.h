// Unpacks bodies that came with Content-Encoding: gzip or deflate.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pando::http {

struct InflateLimits {
  int64_t bytes = 0;            // unpacked
  double ratio = 0;             // unpacked to packed
  int64_t any_ratio_bytes = 0;  // that may be packed by any ratio
};

enum class InflateResult { done, broken, too_large };

// Unpacks gzip (of several members too) or zlib into `out`. Never holds much more than the limit.
InflateResult inflate_body(std::string_view packed, const InflateLimits& limits, std::string& out);

}  // namespace pando::http
