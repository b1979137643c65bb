// Assigns values to storages: a view uses the storage of its source, an in-place result that of its
// first input. The region of a storage follows from the sections that write and read it. Storages
// of one region are placed largest first, at the lowest offset that is free during their whole
// lifetime, or where workers find their half of the memory in their own caches.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <limits>
#include <unordered_set>

#include "pando/base/error.h"
#include "pando/compiler/passes/passes.h"
#include "pando/compiler/passes/storage.h"
#include "pando/ops/op.h"

namespace pando::compiler {

namespace {

constexpr size_t kAlignment = 64;
constexpr int kForever = std::numeric_limits<int>::max();
constexpr std::array kStageRegions = {Region::activations,      Region::sums,
                                      Region::held_activations, Region::held_sums,
                                      Region::gradients,        Region::moments};

size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

class Planner {
 public:
  Planner(const CompileState& state, bool share) : state_(state), share_(share) {
    for (const auto& node : state.graph.nodes()) {
      nodes_.push_back(node.get());
    }
    for (const SectionMark& section : state.sections) {
      stages_ = std::max(stages_, section.stage + 1);
    }
    find_section_ends();
    find_prologue_steps();
    for (const ir::Output& output : state.graph.outputs()) {
      if (output.role == ir::OutputRole::gradient) gradients_.insert(output.value);
      if (output.role == ir::OutputRole::statistic) moments_.insert(output.value);
    }
  }

  MemoryPlan run() {
    find_uses();
    make_storages();
    const ChainTimes chains(state_);
    for (Storage& storage : storages_) {
      if (storage.region != Region::packed) storage.follow(chains, share_);
      choose_region(storage);
    }
    MemoryPlan plan;
    plan.unshared_bytes = unshared_bytes_;
    plan.stages.resize(static_cast<size_t>(stages_));
    for (int stage = 0; stage < stages_; ++stage) {
      for (const Region region : kStageRegions) {
        plan.stages[static_cast<size_t>(stage)].of(region) = place(region, stage);
      }
      make_buckets(plan, stage);
    }
    std::stable_sort(
        plan.buckets.begin(), plan.buckets.end(),
        [&](const Bucket& a, const Bucket& b) { return position(a.last) < position(b.last); });
    plan.packed_bytes = place(Region::packed, 0);
    for (const auto& [value, index] : storage_of_) {
      const Storage& storage = storages_[index];
      plan.places[value] = {storage.region, storage.lowest_stage, storage.offset, storage.tiles};
    }
    return plan;
  }

 private:
  // The readers of a value, as the planner needs them.
  struct Uses {
    int last = -1;
    int last_section = -1;
    int lowest_stage = kForever;
  };

  int section_of(const ir::Node& node) const {
    return state_.sections.empty() ? 0 : state_.section_of.at(&node);
  }
  int section_stage(int section) const {
    return state_.sections.empty() ? 0 : state_.sections[static_cast<size_t>(section)].stage;
  }
  int last_forward_section() const {
    int last = 0;
    for (size_t i = 0; i < state_.sections.size(); ++i) {
      if (!state_.sections[i].backward) last = static_cast<int>(i);
    }
    return last;
  }
  int end_of(int section) const { return 2 * section_end_[static_cast<size_t>(section)] + 1; }
  int position(const ir::Node* node) const {
    return static_cast<int>(std::find(nodes_.begin(), nodes_.end(), node) - nodes_.begin());
  }

  // A section without nodes ends where the section before it ends.
  void find_section_ends() {
    section_end_.assign(std::max<size_t>(state_.sections.size(), 1), -1);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      section_end_[static_cast<size_t>(section_of(*nodes_[i]))] = static_cast<int>(i);
    }
    for (size_t i = 1; i < section_end_.size(); ++i) {
      section_end_[i] = std::max(section_end_[i], section_end_[i - 1]);
    }
  }

  void find_prologue_steps() {
    const auto steps = prologue_steps(state_.graph);
    for (size_t i = 0; i < steps.size(); ++i) {
      for (const ir::Node* node : steps[i]) prologue_step_[node] = static_cast<int>(i);
    }
  }

  // The last step of the prologue that reads the value; kForever if others read it too.
  int last_prologue_step(const ir::Value* value) const {
    int last = -1;
    for (const ir::Node* user : state_.graph.users(value)) {
      const auto found = prologue_step_.find(user);
      last = std::max(last, found == prologue_step_.end() ? kForever : found->second);
    }
    return last < 0 ? kForever : last;
  }

  void use(const ir::Value* value, int at, int section) {
    Uses& uses = uses_[value];
    uses.last = std::max(uses.last, at);
    uses.last_section = std::max(uses.last_section, section);
    uses.lowest_stage = std::min(uses.lowest_stage, section_stage(section));
  }

  void find_uses() {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const int section = section_of(*nodes_[i]);
      // Other slices read a gathered value at their own time, at the latest at the end of the
      // section.
      const bool gathered = ops::has_trait(*nodes_[i], ops::Trait::gathers_slices);
      for (const ir::Value* value : nodes_[i]->inputs()) {
        use(value, gathered ? end_of(section) : 2 * static_cast<int>(i), section);
      }
    }
    // Losses, metrics and results are read after the end of forward; accumulated values at the end
    // of the section that makes them.
    for (const ir::Output& output : state_.graph.outputs()) {
      const ir::Node* producer = output.value->producer();
      int section = producer == nullptr ? 0 : section_of(*producer);
      const bool accumulated =
          output.role == ir::OutputRole::gradient || output.role == ir::OutputRole::statistic;
      if (!accumulated) section = std::max(section, last_forward_section());
      use(output.value, end_of(section), section);
    }
  }

  bool makes_sums(const ir::Node& node) const {
    return ops::has_trait(node, ops::Trait::batch_sum) ||
           ops::has_trait(node, ops::Trait::gathers_slices) || of_sums_only(node);
  }

  // A value computed only from sums, or from sums and variables (such as two contributions to one
  // gradient), is a sum itself: each slice has its own.
  bool of_sums_only(const ir::Node& node) const {
    bool reads_sums = false;
    for (const ir::Value* value : node.inputs()) {
      const auto found = storage_of_.find(value);
      if (found == storage_of_.end()) continue;  // a variable
      const Storage& storage = storages_[found->second];
      if (storage.region == Region::packed) continue;
      if (!storage.sums) return false;
      reads_sums = true;
    }
    return reads_sums;
  }

  void make_storages() {
    for (const ir::Value* value : state_.graph.inputs()) {
      if (value->role() != ir::InputRole::feed) continue;
      // Written before the first node of the slice; free again after its last reader.
      new_storage(value, {.bytes = value->bytes(), .first = -1});
      unshared_bytes_ += aligned(value->bytes());
    }
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const ir::Node& node = *nodes_[i];
      const int section = section_of(node);
      const Storage wanted{.sums = makes_sums(node),
                           .first = 2 * static_cast<int>(i),
                           .first_section = section,
                           .lowest_stage = section_stage(section)};
      for (const ir::Value* value : node.outputs()) {
        if (prologue_step_.contains(&node)) {
          new_packed(value, prologue_step_.at(&node));
          continue;
        }
        if (!ops::has_trait(node, ops::Trait::view)) unshared_bytes_ += aligned(value->bytes());
        Storage storage = wanted;
        storage.bytes = value->bytes();
        if (!try_alias(node, value, storage)) new_storage(value, storage);
        if (gradients_.contains(value)) {
          PANDO_CHECK(wanted.sums, "the gradient '", value->name(), "' of ", node.label(),
                      " is not a sum over samples, so slices cannot divide it");
          storages_[storage_of_[value]].completed = static_cast<int>(i);
        }
      }
    }
  }

  // In the prologue, times count its steps. What only later steps read is free after them.
  void new_packed(const ir::Value* value, int step) {
    storage_of_[value] = storages_.size();
    storages_.push_back({.bytes = value->bytes(),
                         .first = step,
                         .last = last_prologue_step(value),
                         .region = Region::packed});
  }

  void new_storage(const ir::Value* value, Storage storage) {
    storage.last = storage.first;
    storage.last_section = storage.first_section;
    storage_of_[value] = storages_.size();
    storages_.push_back(storage);
    extend(storages_.back(), value);
  }

  void extend(Storage& storage, const ir::Value* value) {
    storage.moments = storage.moments || moments_.contains(value);
    const auto found = uses_.find(value);
    if (found == uses_.end()) return;
    storage.last = std::max(storage.last, found->second.last);
    storage.last_section = std::max(storage.last_section, found->second.last_section);
    storage.lowest_stage = std::min(storage.lowest_stage, found->second.lowest_stage);
  }

  bool try_alias(const ir::Node& node, const ir::Value* value, const Storage& wanted) {
    if (node.num_inputs() == 0) return false;
    const bool view = ops::has_trait(node, ops::Trait::view);
    if (!view && (!share_ || !ops::has_trait(node, ops::Trait::in_place))) return false;
    const auto source = storage_of_.find(node.input(0));
    if (source == storage_of_.end()) {
      PANDO_CHECK(!view, node.label(), ": a view of a variable has no place in memory");
      return false;
    }
    Storage& storage = storages_[source->second];
    if (!view) {
      const bool dying = storage.last == wanted.first && storage.first >= 0 &&
                         storage.first_section == wanted.first_section;
      const bool alike = storage.bytes == wanted.bytes && storage.sums == wanted.sums &&
                         storage.region == wanted.region;
      if (!dying || !alike) return false;
    }
    extend(storage, value);
    storage_of_[value] = source->second;
    return true;
  }

  void choose_region(Storage& storage) const {
    if (storage.region == Region::packed) return;
    if (storage.completed >= 0) {
      storage.region = Region::gradients;
      storage.lowest_stage = section_stage(storage.first_section);
    } else if (storage.moments) {
      storage.region = Region::moments;
      storage.lowest_stage = section_stage(storage.first_section);
    } else if (storage.first_section != storage.last_section) {
      storage.region = storage.sums ? Region::held_sums : Region::held_activations;
    } else {
      storage.region = storage.sums ? Region::sums : Region::activations;
    }
    const bool kept = storage.region == Region::gradients || storage.region == Region::moments;
    if (kept) storage.last = kForever;
  }

  // Places the storages of a region; returns its size.
  size_t place(Region region, int stage) {
    std::vector<Storage*> order;
    for (Storage& storage : storages_) {
      if (storage.region == region && storage.lowest_stage == stage) order.push_back(&storage);
    }
    if (region == Region::gradients) {
      // Gradients do not share memory; they lie in the order in which backward completes them.
      std::stable_sort(order.begin(), order.end(), [](const Storage* a, const Storage* b) {
        return a->completed < b->completed;
      });
    } else if (share_) {
      std::stable_sort(order.begin(), order.end(),
                       [](const Storage* a, const Storage* b) { return a->bytes > b->bytes; });
    }
    const bool share = share_ && region != Region::gradients;
    size_t end = 0;
    std::vector<const Storage*> placed;  // by offset
    for (Storage* storage : order) {
      storage->offset = share ? chosen_offset(*storage, placed) : end;
      end = std::max(end, storage->offset + aligned(storage->bytes));
      const auto at = std::upper_bound(
          placed.begin(), placed.end(), storage,
          [](const Storage* a, const Storage* b) { return a->offset < b->offset; });
      placed.insert(at, storage);
    }
    return end;
  }

  static bool together(const Storage& a, const Storage& b) {
    return a.first <= b.last && b.first <= a.last;
  }

  // With Division::parts, the workers write one half of a value each. If the middles of two values
  // that share memory are at the same place, a worker finds that memory in its own cache, and not
  // as changed by the other one.
  size_t chosen_offset(const Storage& storage, const std::vector<const Storage*>& placed) const {
    const bool halves = state_.options.division == Division::parts && state_.options.slices > 1;
    if (!halves || storage.region != Region::activations) return lowest_offset(storage, placed);
    for (const Storage* other : placed) {
      if (other->bytes < storage.bytes || together(*other, storage)) continue;
      const size_t offset =
          other->offset + (other->bytes - storage.bytes) / 2 / kAlignment * kAlignment;
      if (is_free(offset, storage, placed)) return offset;
    }
    return lowest_offset(storage, placed);
  }

  static bool is_free(size_t offset, const Storage& storage,
                      const std::vector<const Storage*>& placed) {
    const size_t end = offset + aligned(storage.bytes);
    return std::ranges::none_of(placed, [&](const Storage* other) {
      return together(*other, storage) && other->offset < end &&
             offset < other->offset + aligned(other->bytes);
    });
  }

  static size_t lowest_offset(const Storage& storage, const std::vector<const Storage*>& placed) {
    size_t offset = 0;
    for (const Storage* other : placed) {
      if (!together(*other, storage)) continue;
      if (offset + aligned(storage.bytes) <= other->offset) break;
      offset = std::max(offset, other->offset + aligned(other->bytes));
    }
    return offset;
  }

  void make_buckets(MemoryPlan& plan, int stage) const {
    std::vector<const Storage*> order;
    for (const Storage& storage : storages_) {
      if (storage.region == Region::gradients && storage.lowest_stage == stage) {
        order.push_back(&storage);
      }
    }
    std::sort(order.begin(), order.end(),
              [](const Storage* a, const Storage* b) { return a->offset < b->offset; });
    size_t begin = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      const Storage& storage = *order[i];
      const size_t end = storage.offset + aligned(storage.bytes);
      const bool last = i + 1 == order.size();
      // A node completes at most one bucket, so all its gradients go into the same bucket.
      const bool more = !last && order[i + 1]->completed == storage.completed;
      if (more || (!last && end - begin < state_.options.bucket_bytes)) continue;
      plan.buckets.push_back({stage, begin, end, nodes_[static_cast<size_t>(storage.completed)]});
      begin = end;
    }
  }

  const CompileState& state_;
  bool share_;
  int stages_ = 1;
  std::vector<const ir::Node*> nodes_;
  std::vector<int> section_end_;  // number of the last node of each section
  std::unordered_map<const ir::Node*, int> prologue_step_;
  std::unordered_set<const ir::Value*> gradients_;
  std::unordered_set<const ir::Value*> moments_;
  std::unordered_map<const ir::Value*, Uses> uses_;
  std::unordered_map<const ir::Value*, size_t> storage_of_;
  std::vector<Storage> storages_;
  size_t unshared_bytes_ = 0;
};

}  // namespace

bool PlanMemory::run(CompileState& state) const {
  state.memory = Planner(state, true).run();
  return false;
}

MemoryPlan plan_without_sharing(const CompileState& state) { return Planner(state, false).run(); }

}  // namespace pando::compiler
