// SPDX-License-Identifier: MIT
#include "pando/http/inflate.h"

#include <algorithm>
#include <limits>

#include <zlib.h>

namespace pando::http {
namespace {

constexpr size_t kInflateStep = 64 << 10;
constexpr int kGzipOrZlib = 15 + 32;  // of inflateInit2: the header says which

// Ends the stream of zlib however the function is left.
struct InflateStream {
  z_stream stream = {};
  bool ok = inflateInit2(&stream, kGzipOrZlib) == Z_OK;
  InflateStream() = default;
  InflateStream(const InflateStream&) = delete;
  InflateStream& operator=(const InflateStream&) = delete;
  ~InflateStream() { inflateEnd(&stream); }
};

}  // namespace

InflateResult inflate_body(std::string_view packed, const InflateLimits& limits, std::string& out) {
  out.clear();
  const double by_ratio = std::max(static_cast<double>(packed.size()) * limits.ratio,
                                   static_cast<double>(limits.any_ratio_bytes));
  const auto most = static_cast<size_t>(std::min(by_ratio, static_cast<double>(limits.bytes)));
  if (packed.size() > std::numeric_limits<uInt>::max()) return InflateResult::too_large;
  InflateStream state;
  if (!state.ok) return InflateResult::broken;
  z_stream& stream = state.stream;
  // zlib only reads from next_in; its type is older than const.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  while (true) {
    const size_t begin = out.size();
    const size_t step = std::min(kInflateStep, most - begin + 1);  // one byte more shows an excess
    out.resize(begin + step);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + begin);
    stream.avail_out = static_cast<uInt>(step);
    const int result = inflate(&stream, Z_NO_FLUSH);
    out.resize(begin + step - stream.avail_out);
    if (out.size() > most) return InflateResult::too_large;
    if (result == Z_STREAM_END) {
      if (stream.avail_in == 0) return InflateResult::done;
      if (inflateReset(&stream) != Z_OK) return InflateResult::broken;
    } else if (result != Z_OK || (stream.avail_in == 0 && stream.avail_out != 0)) {
      return InflateResult::broken;
    }
  }
}

}  // namespace pando::http
