// SPDX-License-Identifier: MIT
#include "pando/compiler/program.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "pando/base/error.h"
#include "pando/compiler/passes/passes.h"
#include "pando/kernels/sample_tiles.h"
#include "pando/ops/op.h"

namespace pando::compiler {

namespace {

// The value at the start of a chain of views.
const ir::Value* viewed(const ir::Value* value) {
  while (!value->is_input() && ops::has_trait(*value->producer(), ops::Trait::view)) {
    value = value->producer()->input(0);
  }
  return value;
}

// The operand of the call of one tile. Places with memory for one tile only stay the same.
Operand of_tile(Operand operand, int64_t tile, int64_t tiles) {
  if (operand.place.tiles == 1) {
    operand.place.offset +=
        static_cast<size_t>(tile) * (operand.value->bytes() / static_cast<size_t>(tiles));
  }
  return operand;
}

}  // namespace

Operand Program::operand(const ir::Value* value) const {
  const auto place = state_.memory.places.find(value);
  if (place != state_.memory.places.end()) return {place->second, value};
  PANDO_CHECK(value->is_input(), "value '", value->name(), "' has no place in memory");
  return {{Region::external, 0, 0}, value};
}

int Program::section(int stage, bool backward) const {
  for (size_t i = 0; i < sections_.size(); ++i) {
    if (sections_[i].stage == stage && sections_[i].backward == backward) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

int Program::last_forward_section() const { return section(stages() - 1, false); }

bool Program::depth_first() const {
  return !in_parts() && std::all_of(sections_.begin(), sections_.end(), [](const Section& section) {
    return section.segments.size() <= 1;
  });
}

size_t Program::activation_blocks(int workers) const {
  if (in_parts()) return 1;
  return static_cast<size_t>(depth_first() ? std::min(slices(), workers) : slices());
}

void Program::build_calls() {
  for (const auto& node : state_.graph.nodes()) {
    if (ops::has_trait(*node, ops::Trait::view)) continue;
    Call call{.node = node.get(), .kernel = state_.kernels.at(node.get()).kernel.get()};
    for (const ir::Value* value : node->inputs()) call.inputs.push_back(operand(value));
    for (const ir::Value* value : node->outputs()) call.outputs.push_back(operand(value));
    call.gathers_slices = ops::has_trait(*node, ops::Trait::gathers_slices);
    const std::vector<Bucket>& buckets = memory().buckets;
    for (size_t i = 0; i < buckets.size(); ++i) {
      if (buckets[i].last == node.get()) call.bucket = static_cast<int>(i);
    }
    scratch_bytes_ = std::max(scratch_bytes_, call.kernel->scratch_bytes());
    calls_.push_back(std::move(call));
  }
  std::unordered_map<const ir::Node*, int> numbers;
  for (size_t i = 0; i < calls_.size(); ++i) numbers[calls_[i].node] = static_cast<int>(i);
  for (const TileChain& chain : state_.chains) {
    std::vector<int> calls;
    for (const ir::Node* node : chain.nodes) calls.push_back(numbers.at(node));
    build_chain(chain, calls);
  }
}

void Program::build_chain(const TileChain& chain, const std::vector<int>& calls) {
  std::vector<int>& order = chain_orders_[calls.front()];
  for (const int number : calls) {
    Call& call = calls_[static_cast<size_t>(number)];
    call.tiles = chain.tiles;
    call.chain_first = calls.front();
    call.chain_last = calls.back();
  }
  for (int64_t tile = 0; tile < chain.tiles; ++tile) {
    for (const int number : calls) {
      Call call = calls_[static_cast<size_t>(number)];
      call.kernel = state_.tile_kernels.at(call.node)[static_cast<size_t>(tile)].get();
      scratch_bytes_ = std::max(scratch_bytes_, call.kernel->scratch_bytes());
      const kernels::SampleCut cut = kernels::sample_cut(*call.node);
      for (size_t i = 0; i < call.inputs.size(); ++i) {
        if (cut.rows[i]) call.inputs[i] = of_tile(call.inputs[i], tile, chain.tiles);
      }
      for (Operand& output : call.outputs) {
        if (!cut.sums) output = of_tile(output, tile, chain.tiles);
      }
      if (tile + 1 < chain.tiles) call.bucket = -1;
      order.push_back(runnables());
      tile_calls_.push_back(std::move(call));
    }
  }
}

// Appends what runs for a call of a segment. The first call of a chain stands for all of them.
void Program::add_to_order(Segment& segment, int number) {
  const Call& call = calls_[static_cast<size_t>(number)];
  if (call.chain_first < 0) {
    segment.order.push_back(number);
  } else if (call.chain_first == number) {
    for (const int tile : chain_orders_.at(number)) {
      tile_calls_[static_cast<size_t>(tile) - calls_.size()].section = call.section;
      segment.order.push_back(tile);
    }
  }
}

// With batch slices, a new segment starts only where a call reads values of other slices that this
// segment or an earlier section made (in the latter case the first segment may have no calls). With
// parts, any call may read what another part wrote, so each call is a segment.
void Program::build_sections() {
  for (const SectionMark& mark : state_.sections)
    sections_.push_back({mark.stage, mark.backward, {}});
  if (sections_.empty()) sections_.emplace_back();
  for (Section& section : sections_) section.segments.emplace_back();
  const int together = std::max(slices(), options().gathered_slices);
  std::unordered_map<const ir::Node*, std::pair<int, size_t>> made;  // in which section and segment
  for (int i = 0; i < static_cast<int>(calls_.size()); ++i) {
    Call& call = calls_[static_cast<size_t>(i)];
    if (ops::has_trait(*call.node, ops::Trait::per_update)) continue;
    call.section = state_.sections.empty() ? 0 : state_.section_of.at(call.node);
    std::vector<Segment>& segments = sections_[static_cast<size_t>(call.section)].segments;
    const auto& inputs = call.node->inputs();
    const bool gathers_new =
        call.gathers_slices &&
        std::any_of(inputs.begin(), inputs.end(), [&](const ir::Value* value) {
          const auto found = made.find(viewed(value)->producer());
          if (found == made.end()) return false;
          const auto [section, segment] = found->second;
          return segments.size() == (section == call.section ? segment + 1 : 1);
        });
    const bool next_part = in_parts() && !segments.back().calls.empty();
    if (together > 1 && (next_part || (gathers_new && !in_parts()))) segments.emplace_back();
    segments.back().calls.push_back(i);
    add_to_order(segments.back(), i);
    made[call.node] = {call.section, segments.size() - 1};
  }
}

void Program::build_prologue() {
  std::unordered_map<const ir::Node*, int> numbers;
  for (size_t i = 0; i < calls_.size(); ++i) numbers[calls_[i].node] = static_cast<int>(i);
  for (const auto& step : prologue_steps(graph())) {
    Segment& segment = prologue_.emplace_back();
    for (const ir::Node* node : step) segment.calls.push_back(numbers.at(node));
    segment.order = segment.calls;
  }
}

std::unique_ptr<const Program> compile(ir::Graph graph, ProgramOptions options) {
  if (options.slices < 1)
    throw InvalidArgument("slices: expected at least 1, got ", options.slices);
  auto program = std::make_unique<Program>();
  program->state_.graph = std::move(graph);
  program->state_.options = std::move(options);
  program->passes_ = default_pipeline().run(program->state_);
  if (program->options().disabled_passes.contains("plan-memory")) {
    program->state_.memory = plan_without_sharing(program->state_);
  }
  program->build_calls();
  program->build_prologue();
  program->build_sections();
  // The caller's functions may use what does not live as long as the program.
  program->state_.options.dump = nullptr;
  program->state_.options.accept = nullptr;
  program->state_.options.decide = nullptr;
  return program;
}

}  // namespace pando::compiler
