// SPDX-License-Identifier: MIT
#include "pando/runtime/tuning/kernel_error.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "pando/base/random.h"
#include "pando/kernels/conv_node.h"
#include "pando/kernels/kernel.h"
#include "pando/ops/builder.h"
#include "pando/ops/conv_operands.h"
#include "pando/ops/op.h"

namespace pando::runtime {
namespace {

using kernels::ConvGeometry;

constexpr int64_t kMostPixels = 16;    // along an axis over which no sum goes
constexpr int64_t kMostSummed = 32;    // along one over which a sum goes
constexpr int64_t kMostChannels = 16;  // over which no sum goes

bool is_supported(const ir::Node& node) {
  if (ops::definition(node).products != ops::Products::convolution) return false;
  for (const ir::Value* value : node.inputs()) {
    if (value->type().dtype != DType::f32) return false;
  }
  const ConvGeometry g = kernels::conv_geometry(node);
  return g.groups == 1 && g.filter[0] == 1 && g.in[0] == 1 && node.input(0)->shape().rank() == 4;
}

// A convolution without bias and activation that sums as many products as the node does.
class SmallLayer {
 public:
  explicit SmallLayer(const ir::Node& node) {
    const ops::ConvOperands operands = ops::conv_operands(node);
    const ConvGeometry g = kernels::conv_geometry(node);
    const bool filter_grad = operands.filter_grad;
    const bool input_grad = operands.input_grad;
    const int64_t in =
        input_grad || filter_grad ? std::min(g.in_channels, kMostChannels) : g.in_channels;
    const int64_t out = input_grad ? g.out_channels : std::min(g.out_channels, kMostChannels);
    // A filter gradient sums over pixels and samples, the others over channels.
    const int64_t batch = filter_grad ? std::min<int64_t>(g.batch, 4) : 1;
    ir::Ints extents;
    for (const size_t axis : {size_t{1}, size_t{2}}) {
      const int64_t least = (g.filter[axis] - 1) * g.dilation[axis] + 1;
      const int64_t most = filter_grad ? kMostSummed : kMostPixels;
      extents.push_back(std::min(g.in[axis], std::max(least, most)));
    }
    ir::Attributes attributes;
    for (const char* name : {"padding", "pads", "strides", "dilations"}) {
      const auto found = node.attributes().values().find(name);
      if (found != node.attributes().values().end()) attributes.set(name, found->second);
    }
    ir::Value* x = input("x", {batch, extents[0], extents[1], in});
    ir::Value* filter = input("filter", {g.filter[1], g.filter[2], in, out});
    node_ = ops::append(graph_, {.op = "conv", .inputs = {x, filter}, .attributes = attributes});
    if (!input_grad && !filter_grad) return;
    ir::Value* dy = input("dy", node_->output()->shape());
    if (input_grad) {
      attributes.set("input", extents);
      node_ = ops::append(
          graph_, {.op = "conv_input_grad", .inputs = {dy, filter}, .attributes = attributes});
    } else {
      attributes.set("filter", ir::Ints{g.filter[1], g.filter[2]});
      node_ = ops::append(graph_,
                          {.op = "conv_filter_grad", .inputs = {x, dy}, .attributes = attributes});
    }
  }

  // Empty if the candidate refuses.
  std::vector<float> result_of(std::string_view name) const {
    for (const kernels::Candidate& candidate : kernels::candidates(node_->op())) {
      if (candidate.name == name) return result_of(kernels::offer_any_kernel(candidate, *node_));
    }
    return {};
  }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  using Lines = std::vector<Line>;

  static Lines lines(size_t bytes) { return Lines(bytes / sizeof(Line) + 1); }

  ir::Value* input(const char* name, Shape shape) {
    return graph_.add_input(name, ir::InputRole::feed, {{DType::f32, std::move(shape)}});
  }

  static Lines normal_numbers(const ir::Value& value) {
    Lines numbers = lines(value.bytes());
    RandomStream random(hash_name(value.name()));
    auto* to = reinterpret_cast<float*>(numbers.data());
    for (int64_t i = 0; i < value.shape().elements(); ++i) to[i] = random.next_normal();
    return numbers;
  }

  std::vector<float> result_of(const kernels::KernelOffer& offer) const {
    if (offer.kernel == nullptr) return {};
    std::vector<Lines> memory;
    std::vector<const std::byte*> inputs;
    for (const ir::Value* value : node_->inputs()) {
      memory.push_back(normal_numbers(*value));
      inputs.push_back(memory.back().front().bytes);
    }
    for (const kernels::Packing& packing : offer.packings) {
      Lines packed = lines(static_cast<size_t>(packing.layout.elements) * size_of(packing.dtype));
      Lines scratch = lines(packing.packer->scratch_bytes());
      std::byte* to[] = {packed.front().bytes};
      const std::byte*& operand = inputs[static_cast<size_t>(packing.input)];
      packing.packer->run({&operand, to, scratch.front().bytes, 1}, {});
      operand = packed.front().bytes;
      memory.push_back(std::move(packed));
    }
    Lines scratch = lines(offer.kernel->scratch_bytes());
    Lines result = lines(node_->output()->bytes());
    std::byte* outputs[] = {result.front().bytes};
    const int64_t batch = node_->input(0)->shape().front();
    offer.kernel->run({inputs.data(), outputs, scratch.front().bytes, node_->num_inputs()},
                      {.valid = batch, .batch_valid = batch});
    const auto* numbers = reinterpret_cast<const float*>(result.data());
    return {numbers, numbers + node_->output()->shape().elements()};
  }

  ir::Graph graph_;
  ir::Node* node_ = nullptr;
};

double relative_error(const std::vector<float>& found, const std::vector<float>& exact) {
  if (found.size() != exact.size()) return -1;
  double squares = 0;
  double differences = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    const double apart = static_cast<double>(found[i]) - static_cast<double>(exact[i]);
    squares += static_cast<double>(exact[i]) * static_cast<double>(exact[i]);
    differences += apart * apart;
  }
  return squares > 0 ? std::sqrt(differences / squares) : -1;
}

}  // namespace

std::vector<double> kernel_errors(const ir::Node& node,
                                  const std::vector<std::string>& candidates) {
  std::vector<double> errors(candidates.size(), -1);
  const auto is_winograd = [](const std::string& name) { return name.starts_with("winograd"); };
  if (std::ranges::none_of(candidates, is_winograd) || !is_supported(node)) return errors;
  const SmallLayer layer(node);
  const std::vector<float> exact = layer.result_of("reference");
  for (size_t i = 0; i < candidates.size(); ++i) {
    errors[i] = relative_error(layer.result_of(candidates[i]), exact);
  }
  return errors;
}

}  // namespace pando::runtime
