// Sends any bytes as the body of a request over HTTP, without a network, to a server with a small
// model. The first byte chooses address and kind of the body. Every answer must be 200, or say
// what was wrong with the request; 5xx would be a fault of the server.
// SPDX-License-Identifier: MIT
#include <string>
#include <string_view>

#include "pando/base/error.h"
#include "pando/http/inflate.h"
#include "pando/rest/service.h"
#include "tests/fuzz/server/served_model.h"
#include "tests/fuzz/targets.h"
#include "tests/http/reply_recorder.h"

namespace {

using pando::http::HeaderView;

constexpr uint8_t kPacked = 0x10;  // in the first byte: the body is gzip

struct Kind {
  std::string_view path;
  std::string_view content_type;
};
constexpr Kind kKinds[] = {{"/v1/models/m:predict", "application/json"},
                           {"/v1/models/m:classify", "application/json"},
                           {"/v1/models/m:regress", "application/json"},
                           {"/v2/models/m/infer", "application/json"},
                           {"/v2/models/m/infer", ""},  // binary: the second byte is the length
                           {"/v1/models/m:predict", "application/octet-stream"},
                           {"/v1/models/m:predict", "image/png"},
                           {"/v1/models/m:predict", "image/jpeg"}};

void check_answer(int status, std::string_view body) {
  constexpr int kUsual[] = {200, 400, 404, 413, 415, 422, 429};
  for (const int usual : kUsual) {
    if (status == usual) return;
  }
  PANDO_CHECK(false, "status ", status, ": ", body);
}

}  // namespace

void pando::fuzz::http_body(Input input) {
  if (input.size() < 2) return;
  static rest::Service service(served_model().backend(), {.version = "1"});
  const Kind& kind = kKinds[input[0] % std::size(kKinds)];
  const std::string length = std::to_string(2 * input[1]);
  std::string_view body(reinterpret_cast<const char*>(input.data()) + 2, input.size() - 2);
  std::string unpacked;
  if ((input[0] & kPacked) != 0) {
    if (http::inflate_body(body, {1 << 20, 100}, unpacked) != http::InflateResult::done) return;
    body = unpacked;
  }
  const bool is_binary = kind.content_type.empty();
  const HeaderView header = is_binary ? HeaderView{"Inference-Header-Content-Length", length}
                                      : HeaderView{"Content-Type", kind.content_type};
  http::Request request;
  request.method = "POST";
  request.target = request.path = kind.path;
  request.body = body;
  request.headers = {&header, 1};
  request.began = request.arrived = http::Clock::now();
  const auto recorder = std::make_shared<http::ReplyRecorder>();
  service.handle(request, http::Reply(recorder));
  const http::Response response = recorder->wait();
  check_answer(response.status, response.body);
}
