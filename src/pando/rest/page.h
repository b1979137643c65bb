// The page of the server, one HTML file without anything from elsewhere, compiled in.
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace pando::rest {

extern const std::string_view kPageText;

}  // namespace pando::rest
