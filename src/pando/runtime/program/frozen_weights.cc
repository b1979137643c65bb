// SPDX-License-Identifier: MIT
#include "pando/runtime/program/frozen_weights.h"

#include <algorithm>
#include <cstring>

#include "pando/base/error.h"
#include "pando/base/memory_limit.h"

namespace pando::runtime {

namespace {

constexpr size_t kWeightAlignment = 64;

size_t aligned_weight(size_t bytes) {
  return (bytes + kWeightAlignment - 1) / kWeightAlignment * kWeightAlignment;
}

// The results of a prologue, until those that sections read have been copied.
class Prologue {
 public:
  Prologue(const compiler::Program& program, const VariableStore& variables)
      : variables_(variables),
        packed_(program.memory().packed_bytes),
        scratch_(program.scratch_bytes()) {
    for (const compiler::Segment& segment : program.prologue()) {
      for (const int index : segment.calls) run(program.calls()[static_cast<size_t>(index)]);
    }
  }

  std::byte* address(const compiler::Operand& operand) const {
    if (operand.place.region == compiler::Region::packed) {
      return packed_.data() + operand.place.offset;
    }
    PANDO_CHECK(operand.place.region == compiler::Region::external, "'", operand.value->name(),
                "' is not a weight");
    return const_cast<std::byte*>(variables_.get(operand.value->name()).value.data());
  }

 private:
  void run(const compiler::Call& call) const {
    std::vector<std::byte*> inputs;
    std::vector<std::byte*> outputs;
    for (const compiler::Operand& operand : call.inputs) inputs.push_back(address(operand));
    for (const compiler::Operand& operand : call.outputs) outputs.push_back(address(operand));
    call.kernel->run({.inputs = inputs.data(),
                      .outputs = outputs.data(),
                      .scratch = scratch_.data(),
                      .num_inputs = static_cast<int>(inputs.size())},
                     {});
  }

  const VariableStore& variables_;
  Arena packed_;
  Arena scratch_;
};

bool is_weight(const compiler::Operand& operand) {
  return operand.place.region == compiler::Region::packed ||
         operand.place.region == compiler::Region::external;
}

}  // namespace

WeightAddresses FrozenWeights::add(const compiler::Program& program,
                                   const VariableStore& variables) {
  require_memory("the packed weights", static_cast<int64_t>(program.memory().packed_bytes));
  const Prologue prologue(program, variables);
  WeightAddresses addresses;
  std::vector<const ir::Value*> fresh;
  size_t fresh_bytes = 0;
  for (const compiler::Call& call : program.calls()) {
    if (call.section < 0) continue;
    for (const compiler::Operand& operand : call.inputs) {
      if (!is_weight(operand) || addresses.contains(operand.value)) continue;
      std::byte* made = prologue.address(operand);
      const size_t bytes = operand.value->bytes();
      const auto [first, last] = by_size_.equal_range(bytes);
      const auto known = std::find_if(first, last, [&](const auto& entry) {
        return std::memcmp(entry.second, made, bytes) == 0;
      });
      addresses[operand.value] = known == last ? made : known->second;
      if (known != last) continue;
      fresh.push_back(operand.value);
      fresh_bytes += aligned_weight(bytes);
    }
  }
  if (fresh.empty()) return addresses;
  std::byte* to = blocks_.emplace_back(std::make_unique<Arena>(fresh_bytes))->data();
  for (const ir::Value* value : fresh) {
    std::byte*& address = addresses[value];
    std::memcpy(to, address, value->bytes());
    address = to;
    by_size_.emplace(value->bytes(), to);
    to += aligned_weight(value->bytes());
  }
  bytes_ += fresh_bytes;
  return addresses;
}

}  // namespace pando::runtime
