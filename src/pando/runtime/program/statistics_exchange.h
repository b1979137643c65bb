// Batch statistics that replicas of several instances compute together: before a segment that reads
// them, each instance gets the values of the lanes of all these instances.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "pando/comm/communicator.h"
#include "pando/compiler/program.h"
#include "pando/runtime/program/exchange_figures.h"
#include "pando/runtime/program/placement.h"

namespace pando::runtime {

// Requires: the program and the communicator of the placement outlive it.
class StatisticsExchange {
 public:
  StatisticsExchange(const compiler::Program& program, const Placement& placement);

  // Whether a lane of the group belongs to another instance, and if so, where its value is.
  // `group_lane` counts the group's lanes.
  bool is_elsewhere(int group_lane) const { return group_lane / lanes_ != place_; }
  std::byte* address(const ir::Value* value, int group_lane) const;

  // Whether a segment reads values of other instances.
  bool wanted(const compiler::Segment& segment) const { return rounds_.contains(&segment); }
  // Sends the values of this instance's lanes and returns when those of the others have arrived.
  // `own` gives the address of a value in a lane; `poll` is called during the wait. Throws
  // CommError.
  void run(const compiler::Segment& segment,
           const std::function<const std::byte*(const compiler::Operand&, int lane)>& own,
           const std::function<void()>& poll);
  ExchangeFigures take_figures() { return std::exchange(figures_, {}); }

 private:
  struct Gathered {
    compiler::Operand operand;
    size_t offset = 0;  // in the block of an instance
  };
  struct Round {
    std::vector<Gathered> values;
    size_t block = 0;
    std::vector<std::byte> blocks;  // of the group's instances
    std::unique_ptr<comm::Messages> messages;
  };
  void add_round(const compiler::Segment& segment, const Placement& placement, int tag);

  const compiler::Program& program_;
  int lanes_ = 1;  // of an instance
  int place_ = 0;  // of this instance in its group
  int group_ = 1;  // instances that belong together
  ExchangeFigures figures_;
  std::map<const compiler::Segment*, Round> rounds_;
  std::map<const ir::Value*, std::pair<const Round*, size_t>> offsets_;
};

}  // namespace pando::runtime
