// SPDX-License-Identifier: MIT
#include "pando/app/job/exit_code.h"

#include <new>

#include "pando/base/memory_limit.h"
#include "pando/fetch/download.h"
#include "pando/train/non_finite_loss.h"

namespace pando::app {

int exit_code_of(const std::exception& error) {
  const auto* agreed = dynamic_cast<const AgreedFailure*>(&error);
  if (agreed != nullptr) return agreed->code();
  if (dynamic_cast<const NonFiniteLoss*>(&error) != nullptr) return kNonFiniteLoss;
  if (dynamic_cast<const fetch::FetchStopped*>(&error) != nullptr) return kStopped;
  // Such a configuration does not fit this machine: a restart would not help.
  if (dynamic_cast<const OverMemoryLimit*>(&error) != nullptr) return kUsage;
  const auto* ours = dynamic_cast<const Error*>(&error);
  return ours != nullptr && ours->kind() == ErrorKind::invalid_argument ? kUsage : kFailed;
}

std::string describe(const std::exception& error, bool verbose) {
  const bool no_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
  std::string text = no_memory ? "out of memory: the system refused more; use a smaller "
                                 "micro-batch, fewer data workers or a machine with more memory"
                               : error.what();
  if (!verbose) return text;
  if (const auto* ours = dynamic_cast<const Error*>(&error)) {
    text += concat(" (kind: ", to_string(ours->kind()), ")");
  }
  try {
    std::rethrow_if_nested(error);
  } catch (const std::exception& cause) {
    text += "; cause: " + describe(cause, verbose);
  } catch (...) {
    text += "; cause: unknown";
  }
  return text;
}

}  // namespace pando::app
