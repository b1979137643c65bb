// The instances of a job as a run uses them: which one is the first, and their common actions.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pando/comm/communicator.h"

namespace pando::app {

// The instances of comm::current_job() at the time of construction; a process without a job is the
// first of one instance. Every instance calls the same functions in the same order. The functions
// throw CommError if an instance is lost.
class Instances {
 public:
  Instances();

  int count() const { return communicator_ ? communicator_->size() : 1; }
  int index() const { return communicator_ ? communicator_->rank() : 0; }
  bool is_first() const { return index() == 0; }

  // Every instance runs its `part`, which must not communicate. If it throws on some instances, all
  // throw an AgreedFailure with the message of the first of these. Without a job, the exception of
  // the part passes through unchanged.
  void together(const std::function<void()>& part) const;
  // Only the first instance runs `part`. All return its text, or throw as together() does.
  std::string from_first(const std::function<std::string()>& part) const;

  // Gives all instances the bytes, or the value, of the first.
  void share(std::span<std::byte> bytes) const;
  double share(double value) const;
  // Returns the text of every instance, in their order.
  std::vector<std::string> gather(std::string_view own) const;

 private:
  std::shared_ptr<comm::Communicator> communicator_;  // null: no job
};

}  // namespace pando::app
