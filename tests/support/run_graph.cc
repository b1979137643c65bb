// SPDX-License-Identifier: MIT
#include "tests/support/run_graph.h"

#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "pando/base/error.h"
#include "pando/base/random.h"
#include "pando/ir/text.h"
#include "pando/ops/op.h"

namespace pando::test {

namespace {

// Exactly `bytes` bytes, aligned like an arena, with all bits set: NaN in every floating point
// type.
class ExactBuffer {
 public:
  explicit ExactBuffer(size_t bytes)
      : data_(static_cast<std::byte*>(::operator new (bytes, std::align_val_t{64}))) {
    std::memset(data_, 0xFF, bytes);
  }
  ExactBuffer(ExactBuffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  ExactBuffer(const ExactBuffer&) = delete;
  ExactBuffer& operator=(const ExactBuffer&) = delete;
  ExactBuffer& operator=(ExactBuffer&&) = delete;
  ~ExactBuffer() { ::operator delete (data_, std::align_val_t{64}); }
  std::byte* data() const { return data_; }

 private:
  std::byte* data_;
};

kernels::KernelOffer choose(const ir::Node& node, const CandidateFilter& use) {
  std::string refusals;
  for (const kernels::Candidate& candidate : kernels::candidates(node.op())) {
    if (use ? !use(node, candidate) : candidate.name != "reference") continue;
    kernels::KernelOffer offer = kernels::offer_kernel(candidate, node);
    if (offer.kernel != nullptr) return offer;
    refusals += concat(" ", candidate.name, ": ", offer.refusal);
  }
  throw InvalidArgument(node.label(), ": no candidate takes it;", refusals);
}

// Calls the kernel in `parts` parts if it splits, else once.
void call(const kernels::Kernel& kernel, kernels::KernelArgs args, const RunOptions& options,
          int parts) {
  const ExactBuffer scratch(kernel.scratch_bytes());
  args.scratch = scratch.data();
  kernels::StepArgs step = *options.step;
  if (!kernel.splits()) parts = 1;
  for (int i = 0; i < parts; ++i) {
    step.part = {i, parts};
    kernel.run(args, step);
  }
}

void run_node(const ir::Node& node, const RunOptions& options,
              std::map<const ir::Value*, ExactBuffer>& buffers) {
  const kernels::KernelOffer offer = choose(node, options.use);
  std::vector<const std::byte*> inputs;
  for (const ir::Value* input : node.inputs()) inputs.push_back(buffers.at(input).data());
  std::vector<ExactBuffer> packed;
  for (const kernels::Packing& packing : offer.packings) {
    const ir::Value* input = node.input(packing.input);
    packed.emplace_back(static_cast<size_t>(packing.layout.elements) *
                        size_of(input->type().dtype));
    std::byte* out = packed.back().data();
    const std::byte* in = buffers.at(input).data();
    call(*packing.packer, {.inputs = &in, .outputs = &out, .num_inputs = 1}, options,
         options.parts);
    inputs[static_cast<size_t>(packing.input)] = out;
  }
  std::vector<std::byte*> outputs;
  for (const ir::Value* output : node.outputs()) {
    outputs.push_back(buffers.emplace(output, output->bytes()).first->second.data());
  }
  // Each part of a batch sum needs its own outputs, which are added up afterwards.
  const int parts = ops::has_trait(node, ops::Trait::batch_sum) ? 1 : options.parts;
  call(*offer.kernel,
       {.inputs = inputs.data(), .outputs = outputs.data(), .num_inputs = node.num_inputs()},
       options, parts);
}

// The number of samples is the first extent of the feed with the most axes.
int64_t batch_of(const ir::Graph& graph) {
  const ir::Value* widest = nullptr;
  for (const ir::Value* input : graph.inputs()) {
    if (widest == nullptr || input->shape().rank() > widest->shape().rank()) {
      if (input->role() == ir::InputRole::feed) widest = input;
    }
  }
  return widest == nullptr ? 1 : widest->shape()[0];
}

}  // namespace

CandidateFilter prefer(std::string name) {
  return [name = std::move(name)](const ir::Node&, const kernels::Candidate& candidate) {
    return candidate.name == name || candidate.name == "reference";
  };
}

kernels::StepArgs whole_batch(int64_t batch) {
  return {.valid = batch,
          .batch_valid = batch,
          .loss_scale = 1.0f / static_cast<float>(batch),
          .seed = 1,
          .first_sample = 0};
}

Values run_graph(const ir::Graph& graph, const Values& inputs, const RunOptions& given) {
  RunOptions options = given;
  if (!options.step) options.step = whole_batch(batch_of(graph));
  std::map<const ir::Value*, ExactBuffer> buffers;
  for (const ir::Value* input : graph.inputs()) {
    const auto found = inputs.find(input->name());
    if (found == inputs.end()) throw InvalidArgument("no input '", input->name(), "'");
    const ir::TensorType type{found->second.dtype(), found->second.shape()};
    if (type != input->type()) {
      throw InvalidArgument("input '", input->name(), "': expected ", to_string(input->type()),
                            ", got ", to_string(type));
    }
    const auto& buffer = buffers.emplace(input, input->bytes()).first->second;
    std::memcpy(buffer.data(), found->second.data(), input->bytes());
  }
  for (const auto& node : graph.nodes()) run_node(*node, options, buffers);
  Values values;
  for (const auto& [value, buffer] : buffers) {
    Tensor tensor(value->type().dtype, value->shape());
    std::memcpy(tensor.data(), buffer.data(), value->bytes());
    values[value->name()] = std::move(tensor);
  }
  return values;
}

const Tensor& output_of(const ir::Graph& graph, const Values& values, ir::OutputRole role,
                        std::string_view name) {
  const ir::Output* output = graph.find_output(role, name);
  if (output == nullptr) throw InvalidArgument("the graph has no output '", name, "'");
  return values.at(output->value->name());
}

ir::Graph typed_graph(std::string_view text) {
  ir::Graph graph = ir::parse_graph(text);
  for (const auto& node : graph.nodes()) {
    const auto types = ops::infer_types(*node);
    for (int i = 0; i < node->num_outputs(); ++i) {
      node->output(i)->set_type(types[static_cast<size_t>(i)]);
    }
  }
  return graph;
}

Tensor random_tensor(const Shape& shape, uint64_t key, float low, float high) {
  RandomStream stream(key);
  Tensor tensor(DType::f32, shape);
  for (float& value : tensor.f32()) value = low + (high - low) * stream.next_uniform();
  return tensor;
}

}  // namespace pando::test
