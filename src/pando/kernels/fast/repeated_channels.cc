// SPDX-License-Identifier: MIT
#include "pando/kernels/fast/repeated_channels.h"

#include <utility>
#include <vector>

#include "pando/base/multiversion.h"
#include "pando/base/strings.h"
#include "pando/kernels/conv_node.h"
#include "pando/kernels/fast/support.h"
#include "pando/kernels/function_kernel.h"
#include "pando/ops/op.h"

namespace pando::kernels::fast {

namespace {

PANDO_INLINE void repeat_loop(const float* __restrict x, float* __restrict wide, int64_t count,
                              int64_t times) {
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t k = 0; k < times; ++k) wide[i * times + k] = x[i];
  }
}

// Every number `times` times. Constants make vectors of the usual loops.
PANDO_MULTIVERSION void repeat_each(const float* x, float* wide, int64_t count, int64_t times) {
  if (times == 2) return repeat_loop(x, wide, count, 2);
  if (times == 4) return repeat_loop(x, wide, count, 4);
  repeat_loop(x, wide, count, times);
}

PANDO_INLINE void sum_loop(const float* __restrict wide, float* __restrict sums, int64_t count,
                           int64_t times) {
  for (int64_t i = 0; i < count; ++i) {
    float sum = 0;
    for (int64_t k = 0; k < times; ++k) sum += wide[i * times + k];
    sums[i] = sum;
  }
}

// The sums of `times` numbers that lie beside each other.
PANDO_MULTIVERSION void sum_each(const float* wide, float* sums, int64_t count, int64_t times) {
  if (times == 2) return sum_loop(wide, sums, count, 2);
  if (times == 4) return sum_loop(wide, sums, count, 4);
  sum_loop(wide, sums, count, times);
}

Shape with_channels(const Shape& shape, int64_t channels) {
  std::vector<int64_t> dims(shape.begin(), shape.end());
  dims.back() = channels;
  return Shape(dims);
}

// The same node with as many channels of the input, and groups, as of the result.
struct WideNode {
  WideNode(const ir::Node& node, int64_t channels, bool reads_x) {
    std::vector<ir::Value*> inputs;
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Shape& shape = node.input(i)->shape();
      const bool is_x = reads_x && i == 0;
      inputs.push_back(graph.add_input(
          concat("input", i), ir::InputRole::variable,
          ir::TensorType{DType::f32, is_x ? with_channels(shape, channels) : shape}));
    }
    ir::Attributes attributes = node.attributes();
    attributes.set("groups", channels);
    wide = graph.append({.op = node.op(),
                         .inputs = std::move(inputs),
                         .outputs = node.num_outputs(),
                         .attributes = std::move(attributes),
                         .name = node.name()});
    const std::vector<ir::TensorType> types = ops::infer_types(*wide);
    for (int i = 0; i < node.num_outputs(); ++i) {
      wide->output(i)->set_type(types[static_cast<size_t>(i)]);
    }
  }
  ir::Graph graph;
  ir::Node* wide = nullptr;
};

// The scratch memory: the wide values, then that of the kernel for them.
struct WideMemory {
  WideMemory(std::byte* memory, int64_t elements, const Kernel& kernel) {
    ScratchCutter cutter(memory);
    values = cutter.floats(elements);
    inner = cutter.bytes(kernel.scratch_bytes());
    bytes = cutter.used();
  }
  float* values;
  std::byte* inner;
  size_t bytes;
};

std::string name_of(const Kernel& kernel, int64_t times) {
  return concat(kernel.name(), " of ", times, "x");
}

// Every part repeats all of x: the rows that it reads overlap with those of others.
KernelOffer with_repeated_input(const ir::Node& node, OfferNode offer) {
  const ConvGeometry g = conv_geometry(node);
  const int64_t times = channel_multiplier(g);
  const WideNode wide(node, g.out_channels, true);
  KernelOffer made = offer(*wide.wide);
  if (made.kernel == nullptr) return made;
  const int64_t count = node.input(0)->shape().elements();
  const auto run = [=, kernel = made.kernel](const KernelArgs& args, const StepArgs& step) {
    const WideMemory memory(args.scratch, count * times, *kernel);
    repeat_each(args.in(0), memory.values, count, times);
    const std::byte* inputs[4] = {reinterpret_cast<const std::byte*>(memory.values)};
    for (int i = 1; i < args.num_inputs; ++i) inputs[i] = args.inputs[i];
    kernel->run({.inputs = inputs,
                 .outputs = args.outputs,
                 .scratch = memory.inner,
                 .num_inputs = args.num_inputs},
                step);
  };
  const FunctionTraits traits{
      .splits = made.kernel->splits(),
      .scratch_bytes = WideMemory(nullptr, count * times, *made.kernel).bytes};
  made.kernel = std::make_shared<FunctionKernel>(name_of(*made.kernel, times), run, traits);
  return made;
}

}  // namespace

int64_t channel_multiplier(const ConvGeometry& geometry) {
  if (geometry.groups != geometry.in_channels || geometry.groups == 1) return 1;
  return geometry.out_channels / geometry.in_channels;
}

KernelOffer offer_repeated_conv(const ir::Node& node, OfferNode offer) {
  return with_repeated_input(node, offer);
}

KernelOffer offer_repeated_filter_grad(const ir::Node& node, OfferNode offer) {
  return with_repeated_input(node, offer);
}

KernelOffer offer_repeated_input_grad(const ir::Node& node, OfferNode offer) {
  if (ops::definition(node).attribute("activation") != nullptr) {
    return refuse("applies no bias and activation to sums of channels");
  }
  const ConvGeometry g = conv_geometry(node);
  const int64_t times = channel_multiplier(g);
  const WideNode wide(node, g.out_channels, false);
  KernelOffer made = offer(*wide.wide);
  if (made.kernel == nullptr) return made;
  const int64_t count = node.output()->shape().elements();
  const auto run = [=, kernel = made.kernel](const KernelArgs& args, const StepArgs& step) {
    const WideMemory memory(args.scratch, count * times, *kernel);
    std::byte* outputs[] = {reinterpret_cast<std::byte*>(memory.values)};
    kernel->run({.inputs = args.inputs,
                 .outputs = outputs,
                 .scratch = memory.inner,
                 .num_inputs = args.num_inputs},
                step);
    sum_each(memory.values, args.out(), count, times);
  };
  const FunctionTraits traits{.scratch_bytes =
                                  WideMemory(nullptr, count * times, *made.kernel).bytes};
  made.kernel = std::make_shared<FunctionKernel>(name_of(*made.kernel, times), run, traits);
  return made;
}

}  // namespace pando::kernels::fast
