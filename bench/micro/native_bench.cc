// Convolutions and dense layers with 16-bit operands by every candidate, including oneDNN's
// products of 16-bit numbers even if the rule of the candidate "native" refuses them. Candidates
// take turns. Prints the shortest time of each in microseconds, without packing:
//   micro_native bf16 cifar_resnet
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "pando/base/strings.h"
#include "pando/kernels/kernel.h"
#include "pando/ops/builder.h"
#include "pando/ops/op.h"

namespace pando::bench {
namespace {

using kernels::Candidate;
using kernels::KernelOffer;

struct Layer {
  std::string name;
  int64_t batch = 16;
  int64_t size = 0;  // 0: a dense layer
  int64_t in = 0;
  int64_t out = 0;
  int64_t kernel = 3;
  int64_t stride = 1;
};

const std::vector<Layer>& layers() {
  static const std::vector<Layer> list = {
      {"cifar_resnet20/stem", 16, 32, 3, 16},
      {"cifar_resnet20/stage1", 16, 32, 16, 16},
      {"cifar_resnet20/down2", 16, 32, 16, 32, 3, 2},
      {"cifar_resnet20/stage2", 16, 16, 32, 32},
      {"cifar_resnet20/down3", 16, 16, 32, 64, 3, 2},
      {"cifar_resnet20/stage3", 16, 8, 64, 64},
      {"cifar_resnet20/dense", 16, 0, 64, 10},
      {"resnet50/stem", 1, 224, 3, 64, 7, 2},
      {"resnet50/stage1_1x1", 1, 56, 256, 64, 1},
      {"resnet50/stage1_3x3", 1, 56, 64, 64},
      {"resnet50/stage2_3x3s2", 1, 56, 128, 128, 3, 2},
      {"resnet50/stage2_3x3", 1, 28, 128, 128},
      {"resnet50/stage3_1x1", 1, 14, 256, 1024, 1},
      {"resnet50/stage3_3x3", 1, 14, 256, 256},
      {"resnet50/stage4_1x1s2", 1, 14, 1024, 2048, 1, 2},
      {"resnet50/stage4_3x3", 1, 7, 512, 512},
      {"resnet50/dense", 16, 0, 2048, 1000},
      {"mnist_cnn/dense", 32, 0, 1600, 10},
      {"cifar10_cnn/dense1", 16, 0, 2304, 512},
  };
  return list;
}

// A node with 16-bit operands in a graph of its own.
struct Case {
  ir::Graph graph;
  ir::Node* node = nullptr;
};

Case make_case(const Layer& layer, const std::string& pass, DType half) {
  const bool dense = layer.size == 0;
  const int64_t outputs = (layer.size + layer.stride - 1) / layer.stride;
  const Shape x =
      dense ? Shape{layer.batch, layer.in} : Shape{layer.batch, layer.size, layer.size, layer.in};
  const Shape y =
      dense ? Shape{layer.batch, layer.out} : Shape{layer.batch, outputs, outputs, layer.out};
  const Shape kernel =
      dense ? Shape{layer.in, layer.out} : Shape{layer.kernel, layer.kernel, layer.in, layer.out};
  ir::NodeSpec spec{.op = concat(dense ? "dense" : "conv", pass)};
  if (!dense) {
    spec.attributes = {{"padding", std::string("same")},
                       {"strides", ir::Ints{layer.stride, layer.stride}}};
    if (pass == "_input_grad") spec.attributes.set("input", ir::Ints{layer.size, layer.size});
    if (pass == "_filter_grad") spec.attributes.set("filter", ir::Ints{layer.kernel, layer.kernel});
  }
  Case result;
  const Shape* inputs[] = {pass == "_input_grad" ? &y : &x, pass == "_filter_grad" ? &y : &kernel};
  for (const Shape* shape : inputs) {
    spec.inputs.push_back(result.graph.add_input(concat("in", spec.inputs.size()),
                                                 ir::InputRole::variable,
                                                 ir::TensorType{DType::f32, *shape}));
  }
  result.node = ops::append(result.graph, std::move(spec));
  for (ir::Value* value : result.node->inputs()) value->set_type({half, value->shape()});
  result.node->output()->set_type({half, result.node->output()->shape()});
  return result;
}

struct alignas(64) Line {
  std::byte bytes[64];
};
using Memory = std::vector<Line>;
Memory memory(size_t bytes) { return Memory(bytes / sizeof(Line) + 1); }

// One candidate's kernel with its memory.
class Runner {
 public:
  Runner(const ir::Node& node, KernelOffer offer) : offer_(std::move(offer)) {
    for (const ir::Value* value : node.inputs()) memories_.push_back(memory(value->bytes()));
    for (kernels::Packing& packing : offer_.packings) pack(packing);
    output_ = memory(node.output()->bytes());
    scratch_ = memory(offer_.kernel->scratch_bytes());
    batch_ = node.input(0)->shape()[0];
  }
  std::string name() const { return offer_.kernel->name(); }

  void time() {
    const std::byte* inputs[] = {memories_[0].data()->bytes, memories_[1].data()->bytes};
    std::byte* outputs[] = {output_.data()->bytes};
    const auto begin = std::chrono::steady_clock::now();
    offer_.kernel->run(
        {.inputs = inputs, .outputs = outputs, .scratch = scratch_.data()->bytes, .num_inputs = 2},
        {.valid = batch_, .batch_valid = batch_});
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    shortest_ = std::min(shortest_, took.count());
  }
  double shortest() const { return shortest_; }

 private:
  void pack(kernels::Packing& packing) {
    Memory& source = memories_[static_cast<size_t>(packing.input)];
    Memory packed = memory(static_cast<size_t>(packing.layout.elements) * size_of(packing.dtype));
    Memory scratch = memory(packing.packer->scratch_bytes());
    const std::byte* inputs[] = {source.data()->bytes};
    std::byte* outputs[] = {packed.data()->bytes};
    packing.packer->run(
        {.inputs = inputs, .outputs = outputs, .scratch = scratch.data()->bytes, .num_inputs = 1},
        {});
    source = std::move(packed);
  }

  KernelOffer offer_;
  std::vector<Memory> memories_;
  Memory output_;
  Memory scratch_;
  int64_t batch_ = 0;
  double shortest_ = std::numeric_limits<double>::max();
};

void measure(const Layer& layer, const std::string& pass, DType half) {
  const Case bound = make_case(layer, pass, half);
  std::vector<Runner> runners;
  std::printf("%-24s%-14s", layer.name.c_str(), pass.c_str());
  for (Candidate candidate : kernels::candidates(bound.node->op())) {
    if (candidate.name == "reference") continue;
    if (candidate.native())
      candidate.why_not_native = [](const ir::Node&) { return std::string(); };
    KernelOffer offer = kernels::offer_kernel(candidate, *bound.node);
    if (offer.kernel != nullptr) runners.emplace_back(*bound.node, std::move(offer));
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(150);
  for (int turn = 0; turn < 10 || std::chrono::steady_clock::now() < end; ++turn) {
    for (Runner& runner : runners) runner.time();
  }
  for (const Runner& runner : runners) {
    std::printf("  %.1f %s", runner.shortest(), runner.name().c_str());
  }
  std::printf("\n");
}

}  // namespace
}  // namespace pando::bench

int main(int argc, char** argv) {
  using namespace pando;
  const DType half = argc > 1 && std::string(argv[1]) == "f16" ? DType::f16 : DType::bf16;
  const std::string wanted = argc > 2 ? argv[2] : "";
  for (const bench::Layer& layer : bench::layers()) {
    if (layer.name.find(wanted) == std::string::npos) continue;
    for (const char* pass : {"", "_input_grad", "_filter_grad"}) {
      bench::measure(layer, pass, half);
    }
  }
  return 0;
}
