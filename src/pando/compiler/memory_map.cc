// SPDX-License-Identifier: MIT
#include "pando/compiler/memory_map.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "pando/base/error.h"
#include "pando/ops/op.h"

namespace pando::compiler {

namespace {

bool same_place(const Place& a, const Place& b) {
  return a.region == b.region && a.stage == b.stage && a.offset == b.offset;
}

// Goes through the nodes in order and follows each value to the last call that needs it.
class Mapper {
 public:
  explicit Mapper(const Program& program) : program_(program) {
    for (size_t i = 0; i < program.calls().size(); ++i) {
      call_of_[program.calls()[i].node] = static_cast<int>(i);
    }
    section_ends_.assign(program.sections().size(), -1);
    for (size_t i = 0; i < program.calls().size(); ++i) {
      const int section = program.calls()[i].section;
      if (section >= 0) section_ends_[static_cast<size_t>(section)] = static_cast<int>(i);
    }
    for (size_t i = 1; i < section_ends_.size(); ++i) {
      section_ends_[i] = std::max(section_ends_[i], section_ends_[i - 1]);
    }
  }

  std::vector<MemoryBlock> run() {
    for (const ir::Value* value : program_.graph().inputs()) {
      if (value->role() == ir::InputRole::feed) add(value, -1);
    }
    for (const auto& node : program_.graph().nodes()) {
      const bool view = ops::has_trait(*node, ops::Trait::view);
      if (!view) now_ = call_of_.at(node.get());
      // Other slices read a gathered value at their own time, at the latest at the end of the
      // section.
      const bool gathers = ops::has_trait(*node, ops::Trait::gathers_slices);
      const int until = gathers ? section_end(now_) : now_;
      if (!view) {
        for (const ir::Value* value : node->inputs()) extend(value, until);
      }
      for (const ir::Value* value : node->outputs()) add_output(*node, value);
    }
    // Losses, metrics and results are read after the end of forward.
    const int forward = std::max(program_.last_forward_section(), 0);
    const int end = section_ends_[static_cast<size_t>(forward)];
    for (const ir::Output& output : program_.graph().outputs()) extend(output.value, end);
    finish();
    return std::move(blocks_);
  }

 private:
  int section_end(int call) const {
    const int section = program_.calls()[static_cast<size_t>(call)].section;
    return section < 0 ? call : section_ends_[static_cast<size_t>(section)];
  }

  // The calls of a chain run tile by tile, so each lives as long as the chain.
  int chain_begin(int call) const {
    const int first = call < 0 ? -1 : program_.calls()[static_cast<size_t>(call)].chain_first;
    return first < 0 ? call : first;
  }
  int chain_end(int call) const {
    const int last = call < 0 ? -1 : program_.calls()[static_cast<size_t>(call)].chain_last;
    return last < 0 ? call : last;
  }

  void add(const ir::Value* value, int first) {
    const Place place = program_.operand(value).place;
    block_of_[value] = blocks_.size();
    blocks_.push_back({.values = {value},
                       .region = place.region,
                       .stage = place.stage,
                       .offset = place.offset,
                       .bytes = place.bytes_of(*value),
                       .first = chain_begin(first),
                       .last = chain_end(first)});
  }

  // If a result lies at the place of its first input, this is intended: the call reads the input
  // while it writes the result.
  void add_output(const ir::Node& node, const ir::Value* value) {
    const bool view = ops::has_trait(node, ops::Trait::view);
    const auto source = node.num_inputs() == 0 ? block_of_.end() : block_of_.find(node.input(0));
    if (source != block_of_.end()) {
      const bool here =
          same_place(program_.operand(value).place, program_.operand(node.input(0)).place);
      if (view || here) {
        const size_t index = source->second;
        block_of_[value] = index;
        blocks_[index].values.push_back(value);
        if (!view) extend(value, now_);
        return;
      }
    }
    add(value, now_);
  }

  void extend(const ir::Value* value, int call) {
    const auto found = block_of_.find(value);
    if (found == block_of_.end()) return;  // a variable
    int& last = blocks_[found->second].last;
    last = std::max(last, chain_end(call));
  }

  void finish() {
    const int last = static_cast<int>(program_.calls().size()) - 1;
    for (MemoryBlock& block : blocks_) {
      if (block.region == Region::packed) {
        // What only the prologue reads is free after it was read.
        const int reader = program_.calls()[static_cast<size_t>(block.last)].section;
        if (reader >= 0 || block.first == block.last) block.last = last;
      } else if (block.region == Region::gradients || block.region == Region::moments) {
        block.first = -1;
        block.last = last;
      }
    }
    std::sort(blocks_.begin(), blocks_.end(), [](const MemoryBlock& a, const MemoryBlock& b) {
      return std::tuple(a.region, a.stage, a.offset, a.first) <
             std::tuple(b.region, b.stage, b.offset, b.first);
    });
  }

  const Program& program_;
  std::unordered_map<const ir::Node*, int> call_of_;
  std::vector<int> section_ends_;  // the last call of each section
  int now_ = 0;                    // the call at or before the node
  std::vector<MemoryBlock> blocks_;
  std::unordered_map<const ir::Value*, size_t> block_of_;
};

// Note that a feed lives from before the first call.
StageMap stage_map(const Program& program, const std::vector<MemoryBlock>& blocks, int stage) {
  const StageMemory& memory = program.memory().stages[static_cast<size_t>(stage)];
  StageMap map{.stage = stage, .bytes = memory.activations + memory.sums};
  for (size_t i = 0; i < program.calls().size(); ++i) {
    const int call = static_cast<int>(i);
    size_t live = 0;
    for (const MemoryBlock& block : blocks) {
      const bool counts = block.stage == stage && is_working(block.region);
      if (counts && block.lives_at(call)) live += block.bytes;
    }
    map.live.push_back(live);
    if (live > map.peak_bytes || map.peak_call < 0) {
      map.peak_bytes = live;
      map.peak_call = call;
    }
  }
  return map;
}

}  // namespace

std::string to_string(Region region) {
  switch (region) {
    case Region::activations: return "activations";
    case Region::sums: return "sums";
    case Region::held_activations: return "held activations";
    case Region::held_sums: return "held sums";
    case Region::gradients: return "gradients";
    case Region::moments: return "statistics";
    case Region::packed: return "packed variables";
    case Region::external: return "variables";
  }
  PANDO_CHECK(false, static_cast<int>(region));
}

bool is_working(Region region) { return region == Region::activations || region == Region::sums; }

std::string describe(const MemoryBlock& block) {
  const ir::Value* value = block.values.front();
  const std::string type = ir::to_string(value->type());
  if (value->is_input()) return concat("fed '", value->name(), "' ", type);
  return concat(value->producer()->label(), " ", type);
}

MemoryMap memory_map(const Program& program) {
  MemoryMap map{.blocks = Mapper(program).run()};
  for (int stage = 0; stage < program.stages(); ++stage) {
    map.stages.push_back(stage_map(program, map.blocks, stage));
  }
  return map;
}

std::vector<const MemoryBlock*> live_at(const MemoryMap& map, int stage, int call) {
  std::vector<const MemoryBlock*> live;
  for (const MemoryBlock& block : map.blocks) {
    const bool counts = block.stage == stage && is_working(block.region);
    if (counts && block.lives_at(call)) live.push_back(&block);
  }
  std::stable_sort(live.begin(), live.end(),
                   [](const MemoryBlock* a, const MemoryBlock* b) { return a->bytes > b->bytes; });
  return live;
}

}  // namespace pando::compiler
