// The instances of a job as a run sees them: who is the first, and what they do together.
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

// Of comm::current_job(), when it is made. Every instance calls the same functions in the same
// order; a process that is alone is the first of one. They throw CommError when an instance is
// lost.
class Instances {
 public:
  Instances();

  int count() const { return communicator_ ? communicator_->size() : 1; }
  int index() const { return communicator_ ? communicator_->rank() : 0; }
  bool is_first() const { return index() == 0; }

  // Every instance does its part, which is not to call others. Where one throws, all throw an
  // AgreedFailure with the message of the first of those; alone, what the part throws.
  void together(const std::function<void()>& part) const;
  // Only the first instance does the part; all get its text, or throw as above.
  std::string from_first(const std::function<std::string()>& part) const;

  // The bytes of the first instance, for all.
  void share(std::span<std::byte> bytes) const;
  double share(double value) const;
  // What each instance gives, in their order.
  std::vector<std::string> gather(std::string_view own) const;

 private:
  std::shared_ptr<comm::Communicator> communicator_;  // null: alone
};

}  // namespace pando::app
