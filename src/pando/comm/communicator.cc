// SPDX-License-Identifier: MIT
#include "pando/comm/communicator.h"

#include "pando/base/error.h"

namespace pando::comm {

void Communicator::fail(const std::string& cause) {
  const std::lock_guard lock(mutex_);
  if (failed_) return;
  cause_ = cause;
  failed_ = true;
}

void Communicator::check() const {
  if (!failed_) return;
  const std::lock_guard lock(mutex_);
  throw CommError(cause_);
}

}  // namespace pando::comm
