// Output of programs as text that files may contain.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace pando::benchmark {

// Bytes that are not UTF-8 become the replacement character.
std::string valid_utf8(const std::string& text);

}  // namespace pando::benchmark
