// Convolutions and dense layers with 16-bit operands by every candidate, including products of
// 16-bit numbers even if the rule of the candidate "native" refuses them, and the same layers in
// f32. Candidates take turns. Prints the millions of multiply-adds of a layer, and the shortest
// time of each candidate in microseconds, without packing. `norms` measures batch normalisations
// and relu, also in tiles where kernels read 16 bits themselves:
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
      {"cifar10_cnn/conv1", 16, 32, 3, 32},
      {"cifar10_cnn/conv2", 16, 32, 32, 32},
      {"cifar10_cnn/conv3", 16, 15, 32, 64},
      {"cifar10_cnn/conv4", 16, 15, 64, 64},
      {"resnet50/stem", 4, 224, 3, 64, 7, 2},
      {"resnet50/stage1_1x1", 4, 56, 256, 64, 1},
      {"resnet50/stage1_1x1_wide", 4, 56, 64, 256, 1},
      {"resnet50/stage1_3x3", 4, 56, 64, 64},
      {"resnet50/stage2_1x1", 4, 28, 512, 128, 1},
      {"resnet50/stage2_1x1_wide", 4, 28, 128, 512, 1},
      {"resnet50/stage2_3x3s2", 4, 56, 128, 128, 3, 2},
      {"resnet50/stage2_3x3", 4, 28, 128, 128},
      {"resnet50/stage3_1x1", 4, 14, 1024, 256, 1},
      {"resnet50/stage3_1x1_wide", 4, 14, 256, 1024, 1},
      {"resnet50/stage3_3x3", 4, 14, 256, 256},
      {"resnet50/stage4_1x1", 4, 7, 2048, 512, 1},
      {"resnet50/stage4_1x1_wide", 4, 7, 512, 2048, 1},
      {"resnet50/stage4_1x1s2", 4, 14, 1024, 2048, 1, 2},
      {"resnet50/stage4_3x3", 4, 7, 512, 512},
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
  Runner(const ir::Node& node, KernelOffer offer, std::string prefix = "")
      : prefix_(std::move(prefix)), offer_(std::move(offer)) {
    for (const ir::Value* value : node.inputs()) memories_.push_back(memory(value->bytes()));
    for (kernels::Packing& packing : offer_.packings) pack(packing);
    for (const ir::Value* value : node.outputs()) outputs_.push_back(memory(value->bytes()));
    scratch_ = memory(offer_.kernel->scratch_bytes());
    batch_ = node.input(0)->shape()[0];
  }
  std::string name() const { return prefix_ + offer_.kernel->name(); }

  void time() {
    std::vector<const std::byte*> inputs;
    std::vector<std::byte*> outputs;
    for (const Memory& one : memories_) inputs.push_back(one.data()->bytes);
    for (Memory& one : outputs_) outputs.push_back(one.data()->bytes);
    const auto begin = std::chrono::steady_clock::now();
    offer_.kernel->run({.inputs = inputs.data(),
                        .outputs = outputs.data(),
                        .scratch = scratch_.data()->bytes,
                        .num_inputs = static_cast<int>(inputs.size())},
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

  std::string prefix_;
  KernelOffer offer_;
  std::vector<Memory> memories_;
  std::vector<Memory> outputs_;
  Memory scratch_;
  int64_t batch_ = 0;
  double shortest_ = std::numeric_limits<double>::max();
};

// Kernels that read 16 bits themselves, in tiles nevertheless.
void add_tiles(const Case& bound, std::vector<Runner>& runners) {
  for (Candidate candidate : kernels::candidates(bound.node->op())) {
    if (!candidate.takes_halves || candidate.native()) continue;
    candidate.takes_halves = false;
    runners.emplace_back(*bound.node, kernels::offer_kernel(candidate, *bound.node), "tiles of ");
  }
}

void add_runners(const Case& bound, std::vector<Runner>& runners) {
  if (bound.node->input(0)->type().dtype != DType::f32) add_tiles(bound, runners);
  for (Candidate candidate : kernels::candidates(bound.node->op())) {
    if (candidate.name == "reference") continue;
    if (candidate.native()) {
      candidate.why_not_native = [](const ir::Node&, WinogradTiles) { return std::string(); };
    }
    KernelOffer offer = kernels::offer_kernel(candidate, *bound.node);
    if (offer.kernel != nullptr) runners.emplace_back(*bound.node, std::move(offer));
  }
}

double millions(const Layer& layer) {
  const int64_t outputs = layer.size == 0 ? 1 : (layer.size + layer.stride - 1) / layer.stride;
  const int64_t taps = layer.size == 0 ? 1 : layer.kernel * layer.kernel;
  return static_cast<double>(layer.batch * outputs * outputs * taps * layer.in * layer.out) / 1e6;
}

// One of the ops around a batch normalisation of x with relu. All but x and dy is f32.
Case make_norm(const std::string& op, const Shape& x, DType half, bool stochastic) {
  const bool relu = op == "relu_grad";
  const bool backward = op == "batch_norm_sums" || op == "batch_norm_input_grad";
  const int with_pixels = backward || relu ? 2 : 1;
  int per_channel = 4;
  if (op == "batch_moments" || relu) per_channel = 0;
  if (op == "batch_norm_input_grad") per_channel = 6;
  Case result;
  ir::NodeSpec spec{.op = op, .outputs = op == "batch_norm_sums" ? 2 : 1};
  if (per_channel > 0) spec.attributes = {{"activation", std::string("relu")}};
  for (int i = 0; i < with_pixels + per_channel; ++i) {
    const Shape shape = i < with_pixels ? x : Shape{x.back()};
    spec.inputs.push_back(result.graph.add_input(concat("in", i), ir::InputRole::variable,
                                                 ir::TensorType{DType::f32, shape}));
  }
  result.node = ops::append(result.graph, std::move(spec));
  if (half == DType::f32) return result;
  for (int i = 0; i < with_pixels; ++i) result.node->input(i)->set_type({half, x});
  if (result.node->output()->shape() == x) result.node->output()->set_type({half, x});
  if (stochastic) result.node->attributes().set("half_rounding", std::string("stochastic"));
  return result;
}

void take_turns(std::vector<Runner>& runners) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(150);
  for (int turn = 0; turn < 10 || std::chrono::steady_clock::now() < end; ++turn) {
    for (Runner& runner : runners) runner.time();
  }
  for (const Runner& runner : runners) {
    std::printf("  %.1f %s", runner.shortest(), runner.name().c_str());
  }
  std::printf("\n");
}

void measure(const Layer& layer, const std::string& pass, DType half) {
  const Case bound = make_case(layer, pass, half);
  const Case wide = make_case(layer, pass, DType::f32);
  std::vector<Runner> runners;
  std::printf("%-26s%-14s%7.1f", layer.name.c_str(), pass.c_str(), millions(layer));
  add_runners(bound, runners);
  add_runners(wide, runners);
  take_turns(runners);
}

void measure_norms(DType half) {
  for (const Shape& x :
       {Shape{16, 32, 32, 16}, Shape{16, 8, 8, 64}, Shape{8, 56, 56, 256}, Shape{8, 7, 7, 2048}}) {
    for (const char* op :
         {"batch_moments", "batch_norm", "batch_norm_sums", "batch_norm_input_grad", "relu_grad"}) {
      const Case nearest = make_norm(op, x, half, false);
      const Case stochastic = make_norm(op, x, half, true);
      const Case wide = make_norm(op, x, DType::f32, false);
      std::vector<Runner> runners;
      std::printf("%-26s%-24s", to_string(x).c_str(), op);
      for (const Case* one : {&nearest, &stochastic, &wide}) add_runners(*one, runners);
      take_turns(runners);
    }
  }
}

}  // namespace
}  // namespace pando::bench

int main(int argc, char** argv) {
  using namespace pando;
  const DType half = argc > 1 && std::string(argv[1]) == "f16" ? DType::f16 : DType::bf16;
  const std::string wanted = argc > 2 ? argv[2] : "";
  if (wanted == "norms") bench::measure_norms(half);
  for (const bench::Layer& layer : bench::layers()) {
    if (layer.name.find(wanted) == std::string::npos) continue;
    for (const char* pass : {"", "_input_grad", "_filter_grad"}) {
      bench::measure(layer, pass, half);
    }
  }
  return 0;
}
