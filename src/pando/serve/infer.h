// A request for answers of a model, and the answer.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pando/serve/servable.h"
#include "pando/serve/status.h"

namespace pando::serve {

using Clock = std::chrono::steady_clock;

// Consecutive samples of a request.
struct SampleRange {
  int64_t first = 0;
  int64_t count = 0;
};

// A tensor in memory of the protocol that received it. The memory needs no alignment.
struct InputTensor {
  std::string name;  // empty: the model's only input
  ElementType type = ElementType::f32;
  std::vector<int64_t> shape;              // with the batch
  std::span<const std::byte> data;         // row-major, little-endian; empty for ElementType::bytes
  std::vector<std::string_view> elements;  // only for ElementType::bytes: one per element
};

struct InferRequest {
  std::shared_ptr<const Servable> servable;  // from ModelServer::find(); pins the version
  std::vector<InputTensor> inputs;
  std::vector<std::string> outputs;  // names of the outputs to return; empty: all
  // A request that cannot be answered until then is refused or dropped.
  Clock::time_point deadline = Clock::time_point::max();
  Clock::time_point received = Clock::now();  // its first byte
  // Becomes true when the client has disconnected; the request is then not computed. Null: unknown.
  std::shared_ptr<const std::atomic<bool>> cancelled;
  std::shared_ptr<const void> owner;  // of the memory of `inputs`; kept until it is answered
  // A worker calls it after the callback, once for all requests with the same function that it has
  // answered together, so that protocols wake their threads once. It is not called if the callback
  // has run before submit() returned. Null: nobody needs to know.
  std::shared_ptr<const std::function<void()>> after_answers;
  // The thread that submits it calls ModelServer::help() soon, so no worker needs to be woken for a
  // short request.
  bool caller_helps = false;
};

struct OutputTensor {
  std::string name;
  ElementType type = ElementType::f32;
  std::vector<int64_t> shape;
  std::span<const std::byte> data;  // row-major; lives as long as the response
};

// Where the time of a request went, in seconds.
struct RequestTimes {
  double read = 0;     // from its first byte until it was accepted
  double queue = 0;    // until a worker took it
  double input = 0;    // decoding and preparing
  double compute = 0;  // of the batch that it was part of
  double output = 0;
};

struct InferResponse {
  std::shared_ptr<const Servable> servable;
  std::vector<OutputTensor> outputs;  // in the order of the request, else of the model
  RequestTimes times;
  int64_t batch = 0;                  // samples that were computed together
  std::shared_ptr<const void> owner;  // of the memory of `outputs`
};

// Called exactly once, by a worker, or by the thread that called submit() if the request is refused
// at once, or short and alone. It must not block or throw: it hands the answer to the protocol's
// own threads.
using InferCallback = std::function<void(Result<InferResponse>)>;

}  // namespace pando::serve
