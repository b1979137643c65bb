// SPDX-License-Identifier: MIT
#include "pando/rest/call.h"

#include <cmath>
#include <new>

#include "pando/base/error.h"
#include "pando/base/strings.h"
#include "pando/tensor/tensor.h"

namespace pando::rest {
namespace {

http::Response out_of_memory() {
  return response_of({.code = serve::Code::resource_exhausted,
                      .message = "the server has not enough memory for this request; send fewer "
                                 "samples, or try again later",
                      .retry_after_sec = 1});
}

}  // namespace

http::Response response_of(const serve::Status& status) {
  const int code = serve::http_status(status.code);
  http::Response response = http::error_response(code, status.message);
  if (code == 429 || code == 503) {
    const double seconds = std::max(1.0, std::ceil(status.retry_after_sec));
    response.headers.push_back({"Retry-After", concat(static_cast<int64_t>(seconds))});
  }
  return response;
}

serve::Clock::time_point deadline_of(const http::Request& request) {
  const std::string_view text = request.header("request-timeout-ms");
  if (text.data() == nullptr) return serve::Clock::time_point::max();
  const auto milliseconds = parse_int(text);
  if (!milliseconds || *milliseconds < 1 || *milliseconds > 86'400'000) {
    throw InvalidArgument("header Request-Timeout-Ms: expected a number of milliseconds, got '",
                          text, "'");
  }
  return request.began + std::chrono::milliseconds(*milliseconds);
}

void submit_call(Backend& backend, serve::InferRequest infer, std::shared_ptr<const void> memory,
                 http::Reply reply, Answer answer) {
  // A std::function must be copyable, a reply is not.
  struct Call {
    http::Reply reply;
    Answer answer;
  };
  const auto call = std::make_shared<Call>(Call{std::move(reply), std::move(answer)});
  infer.owner = std::move(memory);
  infer.after_answers = call->reply.waker();
  infer.caller_helps = call->reply.is_followed();
  backend.submit(std::move(infer), [call](serve::Result<serve::InferResponse> result) {
    if (!result) return call->reply.send_later(response_of(result.status()));
    http::Response response;
    try {
      response = call->answer(*result);
    } catch (const InvalidArgument& error) {
      response = http::error_response(400, error.what());
    } catch (const std::bad_alloc&) {
      response = out_of_memory();
    } catch (const std::exception&) {
      response = http::error_response(500, "the answer could not be written");
    }
    call->reply.send_later(std::move(response));
  });
}

void reply_or_refuse(http::Reply reply, const std::function<void(http::Reply& reply)>& function) {
  try {
    function(reply);
  } catch (const InvalidArgument& error) {
    reply.send(http::error_response(400, error.what()));
  } catch (const std::bad_alloc&) {
    if (reply.is_open()) reply.send(out_of_memory());
  }
}

void append_output(std::string& out, const serve::OutputTensor& output,
                   std::span<const int64_t> shape, std::span<const std::byte> data) {
  switch (output.type) {
    case serve::ElementType::f32: return wire::append_tensor(out, shape, DType::f32, data);
    case serve::ElementType::u8: return wire::append_tensor(out, shape, DType::u8, data);
    case serve::ElementType::i32: return wire::append_tensor(out, shape, DType::i32, data);
    default: break;
  }
  const bool is_f16 = output.type == serve::ElementType::f16;
  Tensor halves(is_f16 ? DType::f16 : DType::bf16, {static_cast<int64_t>(data.size() / 2)});
  std::copy(data.begin(), data.end(), halves.data());
  const Tensor wide = cast(halves, DType::f32);
  wire::append_tensor(out, shape, DType::f32, {wide.data(), wide.bytes()});
}

}  // namespace pando::rest
