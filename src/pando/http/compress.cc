// SPDX-License-Identifier: MIT
#include "pando/http/compress.h"

#include <algorithm>
#include <limits>

#include <zlib.h>

#include "pando/base/strings.h"

namespace pando::http {
namespace {

constexpr size_t kLeastToPack = 1 << 10;
constexpr int kGzip = 15 + 16;  // of deflateInit2: the largest window, with the header of gzip
constexpr int kUsualMemory = 8;

// "gzip;q=0" is how a client forbids it.
bool is_forbidden(std::string_view parameters) {
  const std::string text = to_lower(trim(parameters));
  if (!text.starts_with("q=")) return false;
  return text.find_first_not_of("0.", 2) == text.npos;
}

bool is_text(std::string_view content_type) {
  return content_type.starts_with("application/json") || content_type.starts_with("text/");
}

// Ends the stream of zlib however the function is left.
struct DeflateStream {
  z_stream stream = {};
  bool ok = deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzip, kUsualMemory,
                         Z_DEFAULT_STRATEGY) == Z_OK;
  DeflateStream() = default;
  DeflateStream(const DeflateStream&) = delete;
  DeflateStream& operator=(const DeflateStream&) = delete;
  ~DeflateStream() { deflateEnd(&stream); }
};

}  // namespace

bool accepts_gzip(std::string_view accept_encoding) {
  bool takes_any = false;
  while (!accept_encoding.empty()) {
    const size_t comma = std::min(accept_encoding.find(','), accept_encoding.size());
    const std::string_view entry = accept_encoding.substr(0, comma);
    accept_encoding.remove_prefix(std::min(comma + 1, accept_encoding.size()));
    const size_t semicolon = entry.find(';');
    const std::string name = to_lower(trim(entry.substr(0, semicolon)));
    const bool is_allowed = semicolon == entry.npos || !is_forbidden(entry.substr(semicolon + 1));
    if (name == "gzip" || name == "x-gzip") return is_allowed;
    if (name == "*") takes_any = is_allowed;
  }
  return takes_any;
}

std::optional<std::string> gzip(std::string_view text) {
  if (text.size() > std::numeric_limits<uInt>::max()) return std::nullopt;
  DeflateStream state;
  if (!state.ok) return std::nullopt;
  z_stream& stream = state.stream;
  std::string packed(text.size(), '\0');
  // zlib only reads from next_in; its type is older than const.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) return std::nullopt;
  packed.resize(stream.total_out);
  return packed;
}

void compress(Response& response) {
  if (response.body.size() < kLeastToPack || !is_text(response.content_type)) return;
  const auto says_coding = [](const Header& header) {
    return to_lower(header.name) == "content-encoding";
  };
  if (std::ranges::any_of(response.headers, says_coding)) return;
  std::optional<std::string> packed = gzip(response.body);
  if (!packed) return;
  response.body = std::move(*packed);
  response.headers.push_back({"Content-Encoding", "gzip"});
  response.headers.push_back({"Vary", "Accept-Encoding"});  // for caches between us and clients
}

}  // namespace pando::http
