// Simulates a compiled step: tracks which value was written last to each block of memory, and
// checks that every read finds the value that it needs.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "pando/compiler/passes/passes.h"
#include "pando/compiler/program.h"
#include "pando/ops/op.h"

namespace pando::compiler {

inline constexpr size_t kBlock = 64;

// Simulates a step. Each node must find its inputs complete where they were written; values that
// are read after a section, or by other slices, must still be there at its end; values that do not
// outlive their section are erased after it. Keeps references to the state or the program.
class Playback {
 public:
  explicit Playback(const CompileState& state) : Playback(state.graph, state.memory) {
    section_ = [&state](const ir::Node* node) {
      return state.sections.empty() ? 0 : state.section_of.at(node);
    };
    for (size_t i = 0; i < state.sections.size(); ++i) {
      if (!state.sections[i].backward) last_forward_ = static_cast<int>(i);
    }
  }
  explicit Playback(const Program& program) : Playback(program.graph(), program.memory()) {
    last_forward_ = program.last_forward_section();
    for (size_t i = 0; i < program.sections().size(); ++i) {
      for (const Segment& segment : program.sections()[i].segments) {
        for (const int call : segment.calls) {
          known_[program.calls()[static_cast<size_t>(call)].node] = static_cast<int>(i);
        }
      }
    }
    section_ = [this](const ir::Node* node) {
      // Views and packs are not calls of a section.
      const auto found = known_.find(node);
      return found == known_.end() ? current_ : found->second;
    };
  }

  void run() {
    for (const ir::Value* value : graph_.inputs()) {
      if (value->role() == ir::InputRole::feed) write(value);
    }
    for (const auto& step : prologue_steps(graph_)) play_prologue(step);
    std::vector<const ir::Node*> of_section;
    for (const auto& node : graph_.nodes()) {
      if (ops::has_trait(*node, ops::Trait::per_update)) continue;
      if (section_(node.get()) != current_) end_section(of_section);
      current_ = section_(node.get());
      of_section.push_back(node.get());
      play(*node);
    }
    end_section(of_section);
    for (const ir::Output& output : graph_.outputs()) {
      if (output.role == ir::OutputRole::gradient || output.role == ir::OutputRole::statistic) {
        expect_whole(output.value, "accumulated");
      }
    }
  }

 private:
  using Key = std::pair<Region, int>;

  Playback(const ir::Graph& graph, const MemoryPlan& plan) : graph_(graph), plan_(plan) {}

  void end_section(std::vector<const ir::Node*>& nodes) {
    for (const ir::Node* node : nodes) {
      if (ops::has_trait(*node, ops::Trait::gathers_slices)) {
        for (const ir::Value* value : node->inputs()) expect_whole(value, "gathered by others");
      }
      for (const ir::Value* value : node->outputs()) {
        if (graph_.is_output(value)) expect_whole(value, "an output");
      }
    }
    nodes.clear();
    if (current_ == last_forward_) expect_readable_outputs();
    for (auto& [key, blocks] : memory_) {
      if (key.first == Region::activations || key.first == Region::sums) {
        std::fill(blocks.begin(), blocks.end(), nullptr);
      }
    }
  }

  // Losses, metrics and results are read after the last forward section, whichever section made
  // them.
  void expect_readable_outputs() const {
    for (const ir::Output& output : graph_.outputs()) {
      const bool read = output.role == ir::OutputRole::loss ||
                        output.role == ir::OutputRole::metric ||
                        output.role == ir::OutputRole::result;
      if (read && written_.contains(root(output.value))) expect_whole(output.value, "read");
    }
  }

  // The workers run the nodes of a step in any order.
  void play_prologue(const std::vector<const ir::Node*>& step) {
    for (const ir::Node* node : step) {
      for (const ir::Value* value : node->outputs()) write(value);
    }
    for (const ir::Node* node : step) {
      for (const ir::Value* value : node->inputs()) expect_whole(value, "read by " + node->label());
      for (const ir::Value* value : node->outputs()) expect_whole(value, "written");
    }
  }

  void play(const ir::Node& node) {
    for (const ir::Value* value : node.inputs()) expect_whole(value, "read by " + node.label());
    if (ops::has_trait(node, ops::Trait::view)) {
      root_[node.output()] = root(node.input(0));
      expect_whole(node.output(), "a view");
      return;
    }
    for (const ir::Value* value : node.outputs()) write(value);
    for (const ir::Value* value : node.outputs()) expect_whole(value, "written");
  }

  const ir::Value* root(const ir::Value* value) const {
    const auto found = root_.find(value);
    return found == root_.end() ? value : found->second;
  }

  void write(const ir::Value* value) {
    written_.insert(value);
    const Place& place = plan_.places.at(value);
    EXPECT_EQ(place.offset % kBlock, 0u);
    auto& blocks = memory_[{place.region, place.stage}];
    const size_t end = (place.offset + place.bytes_of(*value) + kBlock - 1) / kBlock;
    blocks.resize(std::max(blocks.size(), end));
    EXPECT_LE(end * kBlock, size_of_region(place)) << value->name();
    for (size_t block = place.offset / kBlock; block < end; ++block) blocks[block] = value;
  }

  void expect_whole(const ir::Value* value, const std::string& why) const {
    const auto found = plan_.places.find(value);
    if (found == plan_.places.end()) {
      EXPECT_TRUE(value->is_input()) << value->name() << " has no place";
      return;
    }
    const auto& blocks = memory_.at({found->second.region, found->second.stage});
    const Place& place = found->second;
    const size_t end = (place.offset + place.bytes_of(*value) + kBlock - 1) / kBlock;
    for (size_t block = found->second.offset / kBlock; block < end; ++block) {
      if (blocks[block] == root(value)) continue;
      ADD_FAILURE() << value->name() << ", " << why << ", is overwritten by "
                    << (blocks[block] == nullptr ? "another section" : blocks[block]->name());
      return;
    }
  }

  size_t size_of_region(const Place& place) const {
    if (place.region == Region::packed) return plan_.packed_bytes;
    StageMemory stage = plan_.stages.at(static_cast<size_t>(place.stage));
    return stage.of(place.region);
  }

  const ir::Graph& graph_;
  const MemoryPlan& plan_;
  std::function<int(const ir::Node*)> section_;
  std::unordered_map<const ir::Node*, int> known_;
  int current_ = 0;
  int last_forward_ = 0;
  std::unordered_set<const ir::Value*> written_;
  std::map<Key, std::vector<const ir::Value*>> memory_;
  std::unordered_map<const ir::Value*, const ir::Value*> root_;
};

}  // namespace pando::compiler
