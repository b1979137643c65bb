// How requests fail: a code that every protocol can express, and a sentence for the client. Failure
// is ordinary here, so it is a value.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "pando/base/error.h"

namespace pando::serve {

// The numbers are those of gRPC and of TensorFlow Serving.
enum class Code {
  ok = 0,
  cancelled = 1,
  unknown = 2,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  already_exists = 6,
  permission_denied = 7,
  resource_exhausted = 8,
  failed_precondition = 9,
  aborted = 10,
  out_of_range = 11,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  data_loss = 15,
  unauthenticated = 16,
};

// "NOT_FOUND", as in answers of TensorFlow Serving.
std::string_view to_string(Code code);
// 404, as TensorFlow Serving maps codes to HTTP.
int http_status(Code code);

struct Status {
  Code code = Code::ok;
  std::string message;         // for the client; nothing of the inside
  double retry_after_sec = 0;  // with resource_exhausted and unavailable; 0: not known

  bool ok() const { return code == Code::ok; }
};

template <typename... Parts>
Status failure(Code code, const Parts&... parts) {
  return {.code = code, .message = concat(parts...)};
}

// A value or the reason why there is none.
template <typename T>
class Result {
 public:
  // NOLINTBEGIN(google-explicit-constructor): functions return one or the other
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(std::move(status)) {
    PANDO_CHECK(!status_.ok(), "a result without a value needs a failure");
  }
  // NOLINTEND(google-explicit-constructor)

  explicit operator bool() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace pando::serve
