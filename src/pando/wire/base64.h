// Base64, as JSON carries bytes.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace pando::wire {

// Appends the bytes of `text` to `out`. Takes the alphabets with +/ and -_, with or without = at
// the end. False: it is not base64; `out` is then undefined.
bool base64_decode(std::string_view text, std::string& out);

std::string base64_encode(std::string_view bytes);

}  // namespace pando::wire
