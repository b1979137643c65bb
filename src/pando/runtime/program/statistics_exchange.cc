// SPDX-License-Identifier: MIT
#include "pando/runtime/program/statistics_exchange.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "pando/base/clock.h"
#include "pando/base/error.h"
#include "pando/runtime/machine/back_off.h"

namespace pando::runtime {

StatisticsExchange::StatisticsExchange(const compiler::Program& program, const Placement& placement)
    : program_(program),
      lanes_(placement.replicas * program.slices()),
      group_(placement.statistics_group / placement.replicas) {
  place_ = placement.communicator->rank() % group_;
  // These tags follow those of the exchange of gradients.
  int tag = 2 * static_cast<int>(program.memory().buckets.size()) + 1;
  for (const compiler::Section& section : program.sections()) {
    for (const compiler::Segment& segment : section.segments) add_round(segment, placement, tag++);
  }
}

void StatisticsExchange::add_round(const compiler::Segment& segment, const Placement& placement,
                                   int tag) {
  Round round;
  for (const int index : segment.calls) {
    const compiler::Call& call = program_.calls()[static_cast<size_t>(index)];
    if (!call.gathers_slices) continue;
    for (const compiler::Operand& operand : call.inputs) {
      const auto known = [&](const Gathered& value) {
        return value.operand.value == operand.value;
      };
      if (std::any_of(round.values.begin(), round.values.end(), known)) continue;
      round.values.push_back({operand, round.block});
      round.block += operand.value->bytes() * static_cast<size_t>(lanes_);
    }
  }
  if (round.values.empty()) return;
  round.blocks.resize(round.block * static_cast<size_t>(group_));
  std::vector<comm::Outgoing> sent;
  std::vector<comm::Incoming> received;
  const int first = placement.communicator->rank() - place_;
  const auto block_of = [&](int place) {
    return std::span(round.blocks).subspan(static_cast<size_t>(place) * round.block, round.block);
  };
  for (int place = 0; place < group_; ++place) {
    if (place == place_) continue;
    sent.push_back({first + place, tag, block_of(place_)});
    received.push_back({first + place, tag, block_of(place)});
  }
  round.messages = placement.communicator->prepare(std::move(sent), std::move(received));
  // Moving the round does not move its blocks, so the addresses in the messages stay valid.
  const Round& kept = rounds_.emplace(&segment, std::move(round)).first->second;
  for (const Gathered& value : kept.values) {
    offsets_.try_emplace(value.operand.value, &kept, value.offset);
  }
}

std::byte* StatisticsExchange::address(const ir::Value* value, int group_lane) const {
  const auto& [round, offset] = offsets_.at(value);
  const size_t at = static_cast<size_t>(group_lane / lanes_) * round->block + offset +
                    static_cast<size_t>(group_lane % lanes_) * value->bytes();
  return const_cast<std::byte*>(round->blocks.data()) + at;
}

void StatisticsExchange::run(
    const compiler::Segment& segment,
    const std::function<const std::byte*(const compiler::Operand&, int lane)>& own,
    const std::function<void()>& poll) {
  const auto begin = std::chrono::steady_clock::now();
  Round& round = rounds_.at(&segment);
  for (const Gathered& value : round.values) {
    const size_t bytes = value.operand.value->bytes();
    std::byte* to = round.blocks.data() + static_cast<size_t>(place_) * round.block + value.offset;
    for (int lane = 0; lane < lanes_; ++lane, to += bytes) {
      std::memcpy(to, own(value.operand, lane), bytes);
    }
  }
  round.messages->start();
  BackOff back_off;
  while (!round.messages->done()) {
    if (poll) poll();
    back_off.pause();
  }
  figures_.add({.bytes_sent = static_cast<int64_t>(round.block) * (group_ - 1),
                .exposed_seconds = seconds_since(begin)});
}

}  // namespace pando::runtime
