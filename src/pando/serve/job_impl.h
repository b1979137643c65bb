// A request on its way through the batcher.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "pando/serve/infer.h"
#include "pando/serve/loaded_model.h"

namespace pando::serve {

inline double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

// A failure that can be told without memory, too.
inline Status told(Code code, std::string_view text) noexcept {
  Status status{.code = code, .message = {}};
  try {
    status.message = text;
  } catch (const std::bad_alloc&) {
    status.message = "out of memory";
  }
  return status;
}

inline Status out_of_memory() noexcept {
  return told(Code::resource_exhausted,
              "the server has not enough memory for this request; send fewer samples, or try again "
              "later");
}

// A request on its way. Workers that compute pieces of it share it; the last one answers.
struct Job {
  std::shared_ptr<const LoadedModel> model;
  InferRequest request;
  InferCallback callback;
  int64_t samples = 0;
  int64_t taken = 0;  // guarded by the batcher
  Clock::time_point accepted = Clock::now();
  std::vector<size_t> wanted;            // outputs
  std::vector<size_t> offsets;           // of each wanted output in `results`
  std::shared_ptr<std::byte[]> results;  // of all samples, output after output
  std::atomic<int64_t> open{0};          // samples that are not computed yet
  std::atomic<int64_t> batch{0};         // the most samples that were computed together

  std::mutex mutex;  // guards what follows
  Status failure;
  RequestTimes times;

  size_t row_bytes(size_t place) const {
    return model->predictor().outputs()[wanted[place]].sample_bytes();
  }
  // Memory for the answer; false: there is not enough.
  bool allocate() try {
    wanted = model->wanted_outputs(request);
    size_t bytes = 0;
    for (size_t i = 0; i < wanted.size(); ++i) {
      offsets.push_back(bytes);
      bytes += (static_cast<size_t>(samples) * row_bytes(i) + 63) / 64 * 64;
    }
    results = std::make_shared_for_overwrite<std::byte[]>(bytes);
    open = samples;
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
  void fail(Status status) {
    const std::lock_guard lock(mutex);
    if (failure.ok()) failure = std::move(status);
  }
  bool is_cancelled() const { return request.cancelled != nullptr && *request.cancelled; }
  bool has_failed() {
    const std::lock_guard lock(mutex);
    return !failure.ok();
  }
};

}  // namespace pando::serve
