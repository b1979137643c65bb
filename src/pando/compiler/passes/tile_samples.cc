// Before:  y = batch_norm(x, m, v, g, b)   z = conv(y, f)   s = batch_moments(z)
// After:   the same nodes as a chain: all of them run on the first samples of a slice, then all of
//          them on the next ones, and so on.
// What one node writes is then in a cache when the next one reads it, and a value that only the
// chain needs takes the memory of one tile. Sums over samples are always computed in tiles that
// depend on the node alone, so their bits do not depend on how recomputation or a pipeline orders
// the nodes around it.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <span>
#include <unordered_set>
#include <utility>

#include "pando/compiler/passes/passes.h"
#include "pando/kernels/sample_tiles.h"
#include "pando/ops/op.h"

namespace pando::compiler {

namespace {

using kernels::SampleCut;
using KernelPointer = std::shared_ptr<const kernels::Kernel>;

// Tiles read what has no samples anew: packed filters, and sums that are added up. This may cost at
// most one byte per this many bytes of samples.
constexpr size_t kLeastRowsPerWhole = 2;
constexpr size_t kLeastRowsPerSum = 8;

// A call is expected to have this many values of the largest size of its chain in the cache: two
// operands and a result.
constexpr size_t kValuesOfTile = 3;

// Slices that are fewer times as large as a tile stay whole: a second-level cache keeps a part of
// their values, and a third-level cache the rest.
constexpr size_t kLeastTiles = 12;

// A node that may be part of a chain.
struct Link {
  const ir::Node* node = nullptr;
  SampleCut cut;
  size_t value_bytes = 0;  // of one sample, of the largest operand
  int64_t most_tiles = 1;  // of a chain with this node
};

// All numbers of tiles are powers of two, so that any two of them divide each other.
template <typename Condition>
int64_t most_tiles_with(int64_t samples, Condition&& holds) {
  int64_t tiles = 1;
  while (samples % (2 * tiles) == 0 && holds(2 * tiles)) tiles *= 2;
  return tiles;
}

// The bytes of the operands of a slice.
struct OperandBytes {
  OperandBytes(const ir::Node& node, const SampleCut& cut) {
    for (int i = 0; i < node.num_inputs(); ++i) {
      add(*node.input(i), cut.rows[static_cast<size_t>(i)], whole);
    }
    for (const ir::Value* value : node.outputs()) add(*value, !cut.sums, sums);
  }
  void add(const ir::Value& value, bool has_samples, size_t& others) {
    (has_samples ? rows : others) += value.bytes();
    if (has_samples) largest = std::max(largest, value.bytes());
  }
  size_t rows = 0;     // of all operands that have samples
  size_t largest = 0;  // of one of them
  size_t whole = 0;    // of inputs without samples
  size_t sums = 0;
};

class Chainer {
 public:
  explicit Chainer(CompileState& state) : state_(state) {}

  bool run() {
    for (const ir::Value* value : state_.graph.inputs()) {
      if (value->role() == ir::InputRole::feed) with_samples_.insert(value);
    }
    for (const auto& node : state_.graph.nodes()) visit(*node);
    close();
    return changed_;
  }

 private:
  void visit(const ir::Node& node) {
    if (ops::has_trait(node, ops::Trait::per_update)) return;  // not a call of a slice
    const bool sums = ops::has_trait(node, ops::Trait::batch_sum) ||
                      ops::has_trait(node, ops::Trait::gathers_slices);
    const auto& inputs = node.inputs();
    const bool reads = std::ranges::any_of(
        inputs, [&](const ir::Value* value) { return with_samples_.contains(value); });
    if (reads && !sums) with_samples_.insert(node.outputs().begin(), node.outputs().end());
    if (ops::has_trait(node, ops::Trait::view)) return;  // nothing runs
    const Link link = link_of(node);
    if (link.node == nullptr) return close();
    if (!links_.empty() && !can_follow(link)) close();
    links_.push_back(link);
  }

  // Without a node if the samples of the node cannot be separated.
  Link link_of(const ir::Node& node) {
    Link link{.node = &node, .cut = kernels::sample_cut(node)};
    if (link.cut.samples < 2) return {};
    for (int i = 0; i < node.num_inputs(); ++i) {
      const bool rows = link.cut.rows[static_cast<size_t>(i)];
      if (rows != with_samples_.contains(node.input(i))) return {};
    }
    const OperandBytes bytes(node, link.cut);
    link.value_bytes = bytes.largest / static_cast<size_t>(link.cut.samples);
    const size_t of_tile = bytes.whole * kLeastRowsPerWhole + bytes.sums * kLeastRowsPerSum;
    link.most_tiles = most_tiles_with(link.cut.samples, [&](int64_t tiles) {
      return static_cast<size_t>(tiles) * of_tile <= bytes.rows;
    });
    if (link.cut.sums) cut_sums(link);
    return link;
  }

  // Makes the node compute its sums in tiles, wherever it runs.
  void cut_sums(Link& link) {
    // Other nodes of a chain may want more tiles than this one alone.
    const int64_t wanted = wanted_tiles({&link, 1});
    link.most_tiles = wanted == 1 ? 1 : std::min(link.most_tiles, 2 * wanted);
    if (link.most_tiles == 1) return;
    const int64_t samples = link.cut.samples;
    const int64_t each = samples / link.most_tiles;
    KernelPointer kernel = kernel_for(link, each);
    if (kernel == nullptr) {
      link.most_tiles = 1;
      return;
    }
    state_.kernels.at(link.node).kernel =
        kernels::tile_kernel(*link.node, {.samples = samples, .each = each}, kernel);
    kernel_of_sums_[link.node] = std::move(kernel);
    changed_ = true;
  }

  KernelPointer kernel_for(const Link& link, int64_t samples) const {
    const std::string& name = state_.kernels.at(link.node).candidate;
    for (const kernels::Candidate& candidate : kernels::candidates(link.node->op())) {
      if (candidate.name != name || !kernels::is_for(candidate, *link.node)) continue;
      return kernels::kernel_for_samples(candidate, *link.node, samples, state_.options.winograd);
    }
    return nullptr;
  }

  bool can_follow(const Link& link) const {
    const ir::Node* before = links_.back().node;
    if (links_.back().cut.samples != link.cut.samples) return false;
    if (reads_sums_of_links(*link.node)) return false;
    if (state_.sections.empty()) return true;
    return state_.section_of.at(before) == state_.section_of.at(link.node);
  }

  // Sums are complete only after the last tile.
  bool reads_sums_of_links(const ir::Node& node) const {
    return std::ranges::any_of(links_, [&](const Link& link) {
      return link.cut.sums && std::ranges::any_of(node.inputs(), [&](const ir::Value* value) {
               return viewed(value)->producer() == link.node;
             });
    });
  }

  void close() {
    consider(links_);
    links_.clear();
  }

  // Enough tiles that the samples of one stay in a cache.
  int64_t wanted_tiles(std::span<const Link> links) const {
    const int64_t samples = links.front().cut.samples;
    size_t sample_bytes = 0;
    for (const Link& link : links) sample_bytes = std::max(sample_bytes, link.value_bytes);
    sample_bytes *= kValuesOfTile;
    const size_t tile_bytes = state_.options.tile_bytes;
    if (static_cast<size_t>(samples) * sample_bytes < kLeastTiles * tile_bytes) return 1;
    return most_tiles_with(samples, [&](int64_t tiles) {
      return static_cast<size_t>(2 * samples / tiles) * sample_bytes > tile_bytes;
    });
  }

  // Makes chains of the links, without links that allow too few tiles.
  void consider(std::span<Link> links) {
    if (links.size() < 2) return;
    const int64_t wanted = wanted_tiles(links);
    if (wanted == 1) return;
    const auto weakest = std::ranges::min_element(links, {}, &Link::most_tiles);
    const int64_t tiles = std::min(wanted, weakest->most_tiles);
    if (tiles == 1 || 2 * tiles < wanted) {
      const auto at = static_cast<size_t>(weakest - links.begin());
      consider(links.first(at));
      consider(links.subspan(at + 1));
    } else if (passes_values(links)) {
      add_chain(links, tiles);
    }
  }

  static bool passes_values(std::span<const Link> links) {
    std::unordered_set<const ir::Value*> made;
    for (const Link& link : links) {
      for (const ir::Value* value : link.node->inputs()) {
        if (made.contains(value)) return true;
      }
      if (!link.cut.sums) made.insert(link.node->outputs().begin(), link.node->outputs().end());
    }
    return false;
  }

  void add_chain(std::span<Link> links, int64_t tiles) {
    const int64_t samples = links.front().cut.samples / tiles;
    std::vector<KernelPointer> found;
    for (Link& link : links) {
      found.push_back(link.cut.sums ? kernel_of_sums_.at(link.node) : kernel_for(link, samples));
      if (found.back() != nullptr) continue;
      link.most_tiles = 1;
      return consider(links);
    }
    TileChain& chain = state_.chains.emplace_back(TileChain{.tiles = tiles});
    for (size_t i = 0; i < links.size(); ++i) {
      const Link& link = links[i];
      const int64_t each = link.cut.sums ? link.cut.samples / link.most_tiles : samples;
      TileKernels& of_node = state_.tile_kernels[link.node];
      for (int64_t tile = 0; tile < tiles; ++tile) {
        of_node.push_back(kernels::tile_kernel(
            *link.node, {.first = tile * samples, .samples = samples, .each = each}, found[i]));
      }
      chain.nodes.push_back(link.node);
    }
    changed_ = true;
  }

  CompileState& state_;
  std::unordered_set<const ir::Value*> with_samples_;
  std::unordered_map<const ir::Node*, KernelPointer> kernel_of_sums_;
  std::vector<Link> links_;  // nodes in a row
  bool changed_ = false;
};

}  // namespace

bool TileSamples::run(CompileState& state) const {
  const ProgramOptions& options = state.options;
  const bool divides = options.division == Division::batch && options.tile_bytes > 0;
  // Tiles of 16-bit numbers are the kernels' own; limits of scratch memory leave no room for sums.
  if (!divides || options.precision.half() || !options.scratch_limits.empty()) return false;
  if (backward_nodes(state.graph).empty()) return false;
  return Chainer(state).run();
}

}  // namespace pando::compiler
