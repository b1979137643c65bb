// SPDX-License-Identifier: MIT
#include "pando/app/job/instances.h"

#include <exception>
#include <optional>

#include "pando/app/job/exit_code.h"
#include "pando/base/error.h"
#include "pando/comm/collectives.h"
#include "pando/comm/job.h"

namespace pando::app {

namespace {

// The exit code and the message of a failed part, or nothing if it succeeded.
using Failure = std::optional<std::pair<int, std::string>>;

Failure failure_of(const std::function<void()>& part) {
  try {
    part();
    return std::nullopt;
  } catch (const std::exception& error) {
    return std::pair(exit_code_of(error), describe(error, false));
  }
}

std::string to_text(const Failure& failure) {
  return failure ? concat(failure->first, " ", failure->second) : "";
}

[[noreturn]] void throw_failure(const std::string& text, int failed, int own) {
  const size_t space = text.find(' ');
  const auto code = parse_int(text.substr(0, space));
  const std::string message = text.substr(space + 1);
  throw AgreedFailure(static_cast<int>(code.value_or(kFailed)),
                      failed == 0 ? message : concat("instance ", failed, ": ", message),
                      failed == own);
}

}  // namespace

Instances::Instances() : communicator_(comm::current_job().communicator) {}

void Instances::together(const std::function<void()>& part) const {
  if (!communicator_) return part();
  const std::vector<std::string> all = gather(to_text(failure_of(part)));
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].empty()) throw_failure(all[i], static_cast<int>(i), index());
  }
}

std::string Instances::from_first(const std::function<std::string()>& part) const {
  if (!communicator_) return part();
  std::string text;
  std::string failure;
  if (is_first()) failure = to_text(failure_of([&] { text = part(); }));
  failure = comm::broadcast_text(*communicator_, failure, 0);
  if (!failure.empty()) throw_failure(failure, 0, index());
  return comm::broadcast_text(*communicator_, text, 0);
}

void Instances::share(std::span<std::byte> bytes) const {
  if (communicator_) comm::broadcast(*communicator_, bytes, 0);
}

double Instances::share(double value) const {
  share(std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

std::vector<std::string> Instances::gather(std::string_view own) const {
  if (!communicator_) return {std::string(own)};
  return comm::all_gather(*communicator_, own);
}

}  // namespace pando::app
