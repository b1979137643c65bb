// Before:  y = conv(x, f)
// After:   p %direct-forward:288 = pack(f) {layout="direct-forward"}     y = conv(x, p)
// Activations stay channels-last. Variables are packed in the layout of the chosen kernel, once per
// weight update and layout, however many nodes read them.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>
#include <map>
#include <unordered_set>
#include <utility>

#include "pando/base/error.h"
#include "pando/compiler/passes/passes.h"
#include "pando/ops/op.h"

namespace pando::compiler {

namespace {

class Chooser {
 public:
  explicit Chooser(CompileState& state) : state_(state) {}

  bool run() {
    find_pooled();
    std::vector<ir::Node*> nodes;
    for (const auto& node : state_.graph.nodes()) nodes.push_back(node.get());
    for (ir::Node* node : nodes) {
      if (!ops::has_trait(*node, ops::Trait::view)) choose(node);
    }
    erase_unread();
    return changed_;
  }

 private:
  void choose(ir::Node* node) {
    KernelChoice choice;
    kernels::KernelOffer offer = offer_in_order(*node, choice);
    if (state_.options.decide && ops::definition(*node).products != ops::Products::none) {
      decide(*node, choice, offer);
    }
    choice.kernel = std::move(offer.kernel);
    for (kernels::Packing& packing : offer.packings) pack(node, std::move(packing));
    state_.kernels[node] = std::move(choice);
  }

  // The first candidate that is allowed and offers a kernel.
  kernels::KernelOffer offer_in_order(const ir::Node& node, KernelChoice& choice) const {
    for (const kernels::Candidate& candidate : kernels::candidates(node.op())) {
      if (!kernels::is_for(candidate, node)) continue;
      kernels::KernelOffer offer = allowed_offer(node, candidate, kernels::offer_kernel);
      if (offer.kernel != nullptr) {
        choice.candidate = candidate.name;
        return offer;
      }
      choice.refusals.push_back(candidate.name + ": " + offer.refusal);
    }
    throw InternalError(node.label(), ": no kernel accepts it: ", join(choice.refusals, "; "));
  }

  static bool is_last(const ir::Node& node, const kernels::Candidate& candidate) {
    return &candidate == &kernels::candidates(node.op()).back();
  }

  bool is_accepted(const ir::Node& node, const kernels::Candidate& candidate) const {
    return is_last(node, candidate) || !state_.options.accept ||
           state_.options.accept(node, candidate);
  }

  using OfferFunction = kernels::KernelOffer (*)(const kernels::Candidate&, const ir::Node&,
                                                 WinogradTiles most);

  // The candidate's offer, unless the options forbid the candidate.
  kernels::KernelOffer allowed_offer(const ir::Node& node, const kernels::Candidate& candidate,
                                     OfferFunction offer_of) const {
    if (!kernels::allows(tiles_of_winograd(node), candidate.name) ||
        !is_accepted(node, candidate)) {
      return kernels::refuse("not accepted by the options");
    }
    kernels::KernelOffer offer = offer_of(candidate, node, tiles_of_winograd(node));
    const size_t limit = scratch_limit(node);
    if (offer.kernel == nullptr || is_last(node, candidate) ||
        offer.kernel->scratch_bytes() <= limit) {
      return offer;
    }
    return kernels::refuse(concat("needs ", offer.kernel->scratch_bytes(),
                                  " bytes of scratch memory, the limit is ", limit));
  }

  // All candidates except the reference kernel, including those that the table considers slow.
  std::vector<KernelOption> options_of(const ir::Node& node) const {
    std::vector<KernelOption> options;
    for (const kernels::Candidate& candidate : kernels::candidates(node.op())) {
      if (is_last(node, candidate) || !kernels::is_for(candidate, node)) continue;
      kernels::KernelOffer offer = allowed_offer(node, candidate, kernels::offer_any_kernel);
      if (offer.kernel != nullptr) options.push_back({candidate.name, std::move(offer)});
    }
    return options;
  }

  // What keeps candidates away from this node but not from every node of its shape.
  std::string limits_of(const ir::Node& node) const {
    std::vector<std::string> limits;
    if (state_.options.division == Division::parts) limits.emplace_back("in-parts");
    if (const size_t limit = scratch_limit(node); limit < std::numeric_limits<size_t>::max()) {
      limits.push_back(concat("scratch:", limit));
    }
    for (const kernels::Candidate& candidate : kernels::candidates(node.op())) {
      if (!kernels::is_for(candidate, node)) continue;
      const bool allowed =
          kernels::allows(tiles_of_winograd(node), candidate.name) && is_accepted(node, candidate);
      if (!allowed) limits.push_back("no-" + candidate.name);
    }
    return join(limits, "/");
  }

  // Replaces the kernel of the fixed order by that of a decision. A decision for a kernel that
  // cannot compute the node changes nothing: it may come from another processor.
  void decide(const ir::Node& node, KernelChoice& choice, kernels::KernelOffer& offer) const {
    const TunableLayer layer{.node = node,
                             .key = layer_key(node, limits_of(node)),
                             .table = choice.candidate,
                             .options = [&] { return options_of(node); }};
    const KernelDecision* decision = state_.options.decide(layer);
    if (decision == nullptr) return;
    choice.decision = *decision;
    if (decision->candidate == choice.candidate) return;
    for (KernelOption& option : options_of(node)) {
      if (option.candidate != decision->candidate) continue;
      offer = std::move(option.offer);
      choice.candidate = option.candidate;
      choice.refusals.clear();
      return;
    }
    choice.refusals.push_back(decision->candidate + ": chosen for this layer, but not available");
  }

  // In a uniform area of a picture all values under a window are equal, and the first one gets the
  // gradient. Tiles of 4x4 round equal values differently, so rounding would choose which value
  // gets it.
  WinogradTiles tiles_of_winograd(const ir::Node& node) const {
    const WinogradTiles most = state_.options.winograd;
    return pooled_.contains(&node) ? std::min(most, WinogradTiles::up_to_2) : most;
  }

  // Collects the nodes whose results max pooling reads, possibly after ops that keep their shape,
  // if its gradient asks which element was the maximum.
  void find_pooled() {
    for (const auto& node : state_.graph.nodes()) {
      if (ops::has_trait(*node, ops::Trait::chooses) &&
          !state_.graph.users(node->output(1)).empty()) {
        add_pooled(node->input(0));
      }
    }
  }

  void add_pooled(const ir::Value* value) {
    if (value->is_input() || !pooled_.insert(value->producer()).second) return;
    if (ops::definition(*value->producer()).products != ops::Products::none) return;
    for (const ir::Value* input : value->producer()->inputs()) {
      if (input->shape() == value->shape()) add_pooled(input);
    }
  }

  // Erases rounded variables whose readers all take the packed variable instead.
  void erase_unread() {
    std::vector<const ir::Node*> unread;
    for (const auto& node : state_.graph.nodes()) {
      if (node->op() == "round_variable" && state_.graph.users(node->output()).empty()) {
        unread.push_back(node.get());
      }
    }
    for (const ir::Node* node : unread) {
      state_.kernels.erase(node);
      state_.graph.erase(node);
    }
  }

  size_t scratch_limit(const ir::Node& node) const {
    const std::vector<size_t>& limits = state_.options.scratch_limits;
    const ops::Products products = ops::definition(node).products;
    if (limits.empty() || products == ops::Products::none) {
      return std::numeric_limits<size_t>::max();
    }
    if (limits.size() == 1) return limits[0];
    const size_t stage = std::min(static_cast<size_t>(node.stage()), limits.size() / 2 - 1);
    return limits[2 * stage + (products == ops::Products::matrix ? 1 : 0)];
  }

  static std::string name_of(const ir::Value* value) {
    return value->is_input() ? value->name() : value->producer()->name();
  }

  void pack(ir::Node* node, kernels::Packing packing) {
    ir::Value* source = node->input(packing.input);
    // The packer rounds like round_variable, so that node is not needed.
    if (!source->is_input() && source->producer()->op() == "round_variable") {
      source = source->producer()->input(0);
    }
    const bool of_weights = source->is_input()
                                ? source->role() != ir::InputRole::feed
                                : ops::has_trait(*source->producer(), ops::Trait::per_update);
    PANDO_CHECK(of_weights, node->label(), " needs '", source->name(),
                "' packed, but it is not a variable");
    ir::Value*& packed = packed_[{source, packing.layout.name}];
    if (packed == nullptr) {
      ir::Node* pack =
          state_.graph.insert_before(node, {.op = "pack",
                                            .inputs = {source},
                                            .attributes = {{"layout", packing.layout.name}},
                                            .name = name_of(source)});
      packed = pack->output();
      packed->set_type({packing.dtype, source->shape()});
      packed->set_layout(packing.layout);
      state_.kernels[pack] = {.kernel = std::move(packing.packer), .candidate = "pack"};
      changed_ = true;
    }
    PANDO_CHECK(packed->layout() == packing.layout, node->label(), " needs layout ",
                packing.layout.name, " of '", source->name(), "' in a different size");
    node->set_input(packing.input, packed);
  }

  CompileState& state_;
  std::unordered_set<const ir::Node*> pooled_;
  std::map<std::pair<const ir::Value*, std::string>, ir::Value*> packed_;
  bool changed_ = false;
};

}  // namespace

bool SelectKernels::run(CompileState& state) const { return Chooser(state).run(); }

}  // namespace pando::compiler
