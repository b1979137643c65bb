// Values become storages (a view lives in its source, an in-place result in its first input);
// storages of one region are placed largest first at the lowest offset that is free during their
// whole lifetime.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>
#include <numeric>

#include "pando/base/error.h"
#include "pando/compiler/passes/passes.h"
#include "pando/ops/op.h"

namespace pando::compiler {

namespace {

constexpr size_t kAlignment = 64;
constexpr int kForever = std::numeric_limits<int>::max();

struct Storage {
  Region region = Region::activations;
  size_t bytes = 0;
  int first = 0;  // position of the node that writes it, -1 for a feed
  int last = 0;   // position of its last reader
  size_t offset = 0;
};

size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

class Planner {
 public:
  Planner(const CompileState& state, bool share) : state_(state), share_(share) {}

  MemoryPlan run() {
    find_last_uses();
    make_storages();
    MemoryPlan plan;
    plan.unshared_bytes = unshared_bytes_;
    plan.activation_bytes = place(Region::activations);
    plan.sum_bytes = place(Region::sums);
    plan.packed_bytes = place(Region::packed);
    for (const auto& [value, index] : storage_of_) {
      plan.places[value] = {storages_[index].region, storages_[index].offset};
    }
    return plan;
  }

 private:
  void find_last_uses() {
    int position = 0;
    for (const auto& node : state_.graph.nodes()) {
      for (const ir::Value* value : node->inputs()) {
        const bool gathered = ops::has_trait(*node, ops::Trait::gathers_slices);
        // Other slices read a gathered value at a time of their own, up to the end of the step.
        last_use_[value] = gathered ? kForever : std::max(last_use_[value], position);
      }
      ++position;
    }
    for (const ir::Output& output : state_.graph.outputs()) last_use_[output.value] = kForever;
  }

  Region region_of(const ir::Node& node) const {
    if (ops::has_trait(node, ops::Trait::per_update)) return Region::packed;
    const bool sum = ops::has_trait(node, ops::Trait::batch_sum) ||
                     ops::has_trait(node, ops::Trait::gathers_slices) || of_sums_only(node);
    return sum ? Region::sums : Region::activations;
  }

  // What is computed from sums alone, or from sums and variables (two contributions to one
  // gradient), is a sum itself: each slice has its own.
  bool of_sums_only(const ir::Node& node) const {
    bool reads_sums = false;
    for (const ir::Value* value : node.inputs()) {
      const auto found = storage_of_.find(value);
      if (found == storage_of_.end()) continue;  // a variable
      const Region region = storages_[found->second].region;
      if (region == Region::activations) return false;
      reads_sums = reads_sums || region == Region::sums;
    }
    return reads_sums;
  }

  void make_storages() {
    for (const ir::Value* value : state_.graph.inputs()) {
      if (value->role() == ir::InputRole::feed) {
        // Written before the first node of the slice; free again after its last reader.
        new_storage(value, Region::activations, -1);
        unshared_bytes_ += aligned(value->bytes());
      }
    }
    int position = 0;
    for (const auto& node : state_.graph.nodes()) {
      for (const ir::Value* value : node->outputs()) {
        const Region region = region_of(*node);
        if (region != Region::packed && !ops::has_trait(*node, ops::Trait::view))
          unshared_bytes_ += aligned(value->bytes());
        if (!try_alias(*node, value, position)) new_storage(value, region, position);
      }
      ++position;
    }
  }

  void new_storage(const ir::Value* value, Region region, int position) {
    storage_of_[value] = storages_.size();
    const int last = region == Region::packed ? kForever : std::max(last_use_[value], position);
    storages_.push_back({region, value->bytes(), position, last});
  }

  bool try_alias(const ir::Node& node, const ir::Value* value, int position) {
    if (node.num_inputs() == 0) return false;
    const bool view = ops::has_trait(node, ops::Trait::view);
    if (!view && (!share_ || !ops::has_trait(node, ops::Trait::in_place))) return false;
    const auto source = storage_of_.find(node.input(0));
    if (source == storage_of_.end()) {
      PANDO_CHECK(!view, node.label(), ": a view of a variable has no place");
      return false;
    }
    Storage& storage = storages_[source->second];
    if (!view) {
      const bool dying = storage.last == position && storage.first >= 0;
      if (!dying || storage.bytes != value->bytes() || storage.region != region_of(node))
        return false;
    }
    storage.last = std::max(storage.last, last_use_[value]);
    storage_of_[value] = source->second;
    return true;
  }

  // Places the storages of a region; returns its size.
  size_t place(Region region) {
    std::vector<Storage*> order;
    for (Storage& storage : storages_) {
      if (storage.region == region) order.push_back(&storage);
    }
    if (share_) {
      std::stable_sort(order.begin(), order.end(),
                       [](const Storage* a, const Storage* b) { return a->bytes > b->bytes; });
    }
    size_t end = 0;
    std::vector<const Storage*> placed;  // by offset
    for (Storage* storage : order) {
      storage->offset = share_ ? lowest_offset(*storage, placed) : end;
      end = std::max(end, storage->offset + aligned(storage->bytes));
      const auto at = std::upper_bound(
          placed.begin(), placed.end(), storage,
          [](const Storage* a, const Storage* b) { return a->offset < b->offset; });
      placed.insert(at, storage);
    }
    return end;
  }

  static size_t lowest_offset(const Storage& storage, const std::vector<const Storage*>& placed) {
    size_t offset = 0;
    for (const Storage* other : placed) {
      const bool together = other->first <= storage.last && storage.first <= other->last;
      if (!together) continue;
      if (offset + aligned(storage.bytes) <= other->offset) break;
      offset = std::max(offset, other->offset + aligned(other->bytes));
    }
    return offset;
  }

  const CompileState& state_;
  bool share_;
  std::unordered_map<const ir::Value*, int> last_use_;
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
