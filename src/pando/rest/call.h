// One request to a model on its way through the server, for any protocol.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "pando/http/reply.h"
#include "pando/rest/backend.h"
#include "pando/rest/json_input.h"

namespace pando::rest {

// {"error": ...} with the code of the status, as TensorFlow Serving maps it, and Retry-After.
http::Response response_of(const serve::Status& status);

// When the client gives up: the header Request-Timeout-Ms, in milliseconds after the first byte.
// InvalidArgument if it is not a number above 0.
serve::Clock::time_point deadline_of(const http::Request& request);

// Makes the answer; runs on a thread of the model server.
using Answer = std::function<http::Response(const serve::InferResponse& response)>;

// Submits `infer`, whose data lie in `memory` and in the request, and replies with the answer.
void submit_call(Backend& backend, serve::InferRequest infer, std::shared_ptr<const void> memory,
                 http::Reply reply, Answer answer);

// Calls `function` and replies 400 if it throws InvalidArgument, 429 if there is not enough memory.
// It takes the reply when it needs it.
void reply_or_refuse(http::Reply reply, const std::function<void(http::Reply& reply)>& function);

// The elements of an output as JSON; numbers of 16 bits become f32.
void append_output(std::string& out, const serve::OutputTensor& output,
                   std::span<const int64_t> shape, std::span<const std::byte> data);

}  // namespace pando::rest
