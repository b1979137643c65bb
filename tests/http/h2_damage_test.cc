// Sends damaged frames to a server of calls over HTTP/2, which must go on answering good ones.
// SPDX-License-Identifier: MIT
#include <random>

#include <gtest/gtest.h>

#include "pando/http/h2_server.h"
#include "tests/http/echo_calls.h"
#include "tests/http/h2_client.h"

namespace pando::http {
namespace {

std::string good_frames(unsigned kind) {
  const auto data = [](uint8_t flags, uint32_t stream, std::string_view bytes) {
    return H2Client::frame(H2Frame::data, flags, stream, bytes);
  };
  std::string frames(H2Client::kPreface);
  frames += H2Client::frame(H2Frame::settings, 0, 0, setting_bytes(kInitialWindow, 1 << 20));
  switch (kind % 6) {
    case 0: return frames + H2Client::call_frame(1, "/echo") + data(H2Frame::kEnd, 1, "abc");
    case 1:
      return frames + H2Client::call_frame(1, "/stream") + data(0, 1, "abc") +
             H2Client::frame(H2Frame::window, 0, 1, number_bytes(1000)) + data(0, 1, "def") +
             data(H2Frame::kEnd, 1, "");
    case 2:
      return frames + H2Client::call_frame(1, "/large", H2Frame::kEnd) +
             H2Client::frame(H2Frame::ping, 0, 0, "12345678") +
             H2Client::frame(H2Frame::window, 0, 0, number_bytes(1 << 20));
    case 3:
      return frames + H2Client::call_frame(1, "/never", H2Frame::kEnd) +
             H2Client::frame(H2Frame::reset, 0, 1, number_bytes(8)) +
             H2Client::call_frame(3, "/refuse", H2Frame::kEnd);
    case 4:
      return frames + H2Client::call_frame(1, "/throw") + data(0, 1, "abc") +
             H2Client::call_frame(3, "/echo") +
             H2Client::frame(H2Frame::headers, H2Frame::kEndOfHead | H2Frame::kEnd, 3,
                             H2Client::head({{"trailer", "x"}}));
    default:
      return frames +
             H2Client::frame(H2Frame::headers, 0, 1, H2Client::head({{":method", "POST"}})) +
             H2Client::frame(H2Frame::continuation, H2Frame::kEndOfHead | H2Frame::kEnd, 1,
                             H2Client::head({{":path", "/echo"}, {":scheme", "http"}})) +
             H2Client::frame(H2Frame::goaway, 0, 0, number_bytes(0) + number_bytes(0));
  }
}

std::string damaged_frames(std::string text, std::mt19937& random) {
  const auto below = [&](size_t most) { return static_cast<uint32_t>(random() % most); };
  const size_t begin = below(8) == 0 ? 0 : H2Client::kPreface.size();
  const auto place = [&] { return begin + random() % (text.size() - begin); };
  for (unsigned i = 0; i <= below(4) && text.size() > begin + 1; ++i) {
    switch (below(6)) {
      case 0: text[place()] = static_cast<char>(random()); break;
      case 1: text[place()] ^= static_cast<char>(1U << below(8)); break;
      case 2: text.resize(place() + 1); break;
      case 3: text.insert(place(), text.substr(place(), below(60))); break;
      case 4: text.erase(place(), 1 + below(12)); break;
      default:
        text += H2Client::frame(static_cast<uint8_t>(below(12)), static_cast<uint8_t>(below(64)),
                                below(8), std::string(below(40), static_cast<char>(random())));
    }
  }
  return text;
}

TEST(H2Damage, ChangesNothingForOthers) {
  EchoCalls calls;
  H2ServerOptions options;
  options.io_threads = 2;
  options.limits.connections = 64;
  const H2Server server(options, calls);
  std::mt19937 random(7);
  for (int i = 0; i < 5000; ++i) {
    const RawClient client(server.port());
    client.send(damaged_frames(good_frames(static_cast<unsigned>(random())), random));
    if (i % 100 != 0) continue;
    H2Client good(server.port());
    good.call(1, "/echo");
    good.send(H2Frame::data, H2Frame::kEnd, 1, "well");
    ASSERT_EQ(good.receive().type, H2Frame::headers);
    ASSERT_EQ(good.receive().payload, "well");
  }
}

}  // namespace
}  // namespace pando::http
