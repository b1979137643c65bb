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

// `text` as gzip. Nothing if that would not be shorter.
std::optional<std::string> gzip(std::string_view text);

// Packs the body and says so in the headers, if that pays: a text of at least 1 KiB that is not
// packed yet. Other answers stay as they are.
void compress(Response& response);

}  // namespace pando::http
