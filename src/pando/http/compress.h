// Packs answers for clients that take gzip.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pando/http/message.h"

namespace pando::http {

// Whether a header Accept-Encoding allows gzip.
bool accepts_gzip(std::string_view accept_encoding);

// `text` as gzip. Returns nothing if the result would not be shorter.
std::optional<std::string> gzip(std::string_view text);

// Compresses the body, and sets the headers, if it is a text of at least 1 KiB that is not
// compressed yet. Leaves other answers unchanged.
void compress(Response& response);

}  // namespace pando::http
