// Speed of the kernels other than convolutions on one thread, with the shapes of cifar_resnet8 and
// mnist_cnn at half a batch of 32 and 64. Counts the bytes of all inputs and outputs:
//   micro_ops --benchmark_filter=batch_norm
// Depthwise convolutions also show which share of the speed they reach that the multiply-add units
// or the memory allow, whichever is less:
//   micro_ops --benchmark_filter=depthwise
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/micro/bounds.h"
#include "pando/base/strings.h"
#include "pando/kernels/denormals.h"
#include "pando/kernels/kernel.h"
#include "pando/ops/builder.h"

namespace pando::bench {
namespace {

struct OpCase {
  std::string op;
  std::vector<ir::TensorType> inputs;
  ir::Attributes attributes = {};
  int outputs = 1;
  double multiply_adds = 0;  // 0: no bound is shown
};

ir::TensorType f32(Shape shape) { return {DType::f32, std::move(shape)}; }

// Memory for one value, aligned to a cache line and filled with positive numbers, which variances
// and labels need.
class Memory {
 public:
  explicit Memory(size_t bytes, DType dtype = DType::f32) : lines_(bytes / sizeof(Line) + 1) {
    if (dtype == DType::u8 || dtype == DType::i32) return;
    auto* numbers = reinterpret_cast<float*>(data());
    for (size_t i = 0; i < bytes / sizeof(float); ++i) {
      numbers[i] = 0.25f + static_cast<float>(i * 7919 % 1031) / 1031.0f;
    }
  }
  std::byte* data() { return lines_.front().bytes; }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> lines_;
};

// One node with the kernel of one candidate and memory for all its operands.
class BoundOp {
 public:
  BoundOp(const OpCase& op_case, const std::string& candidate) {
    std::vector<ir::Value*> values;
    for (const ir::TensorType& type : op_case.inputs) {
      values.push_back(graph_.add_input(concat("in", values.size()), ir::InputRole::feed, type));
    }
    const ir::Node* node = ops::append(graph_, {.op = op_case.op,
                                                .inputs = values,
                                                .outputs = op_case.outputs,
                                                .attributes = op_case.attributes});
    for (const kernels::Candidate& one : kernels::candidates(op_case.op)) {
      if (one.name == candidate) offer_ = one.offer(*node);
    }
    for (const ir::Value* value : node->inputs()) in_.push_back(allocate(*value, bytes_in_));
    for (const ir::Value* value : node->outputs()) out_.push_back(allocate(*value, bytes_out_));
    // The contents of packed inputs do not affect the time.
    for (const kernels::Packing& packing : offer_.packings) {
      memory_.emplace_back(static_cast<size_t>(packing.layout.elements) * sizeof(float));
      in_[static_cast<size_t>(packing.input)] = memory_.back().data();
    }
    const size_t scratch = offer_.kernel == nullptr ? 0 : offer_.kernel->scratch_bytes();
    scratch_ = memory_.emplace_back(scratch).data();
  }

  const kernels::KernelOffer& offer() const { return offer_; }
  size_t bytes() const { return bytes_in_ + bytes_out_; }
  // The shortest time that the machine allows.
  double bound_seconds(double multiply_adds) const {
    return std::max(multiply_add_seconds(multiply_adds), memory_seconds(bytes_in_, bytes_out_));
  }
  void run(const kernels::StepArgs& step) const {
    offer_.kernel->run({in_.data(), out_.data(), scratch_, static_cast<int>(in_.size())}, step);
  }

 private:
  std::byte* allocate(const ir::Value& value, size_t& bytes) {
    bytes += value.bytes();
    return memory_.emplace_back(value.bytes(), value.type().dtype).data();
  }

  ir::Graph graph_;
  kernels::KernelOffer offer_;
  std::deque<Memory> memory_;
  std::vector<const std::byte*> in_;
  std::vector<std::byte*> out_;
  std::byte* scratch_ = nullptr;
  size_t bytes_in_ = 0;
  size_t bytes_out_ = 0;
};

void run_op(benchmark::State& state, const OpCase& op_case, const std::string& candidate) {
  kernels::flush_denormals();
  const BoundOp op(op_case, candidate);
  if (op.offer().kernel == nullptr) return state.SkipWithError(op.offer().refusal.c_str());
  const int64_t batch = op_case.inputs[0].shape.front();
  const double start = thread_seconds();
  for (auto _ : state) {
    op.run({.valid = batch, .batch_valid = batch});
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(op.bytes()) * state.iterations());
  state.SetLabel(op.offer().kernel->name());
  if (op_case.multiply_adds == 0) return;
  const double each = (thread_seconds() - start) / static_cast<double>(state.iterations());
  state.counters["share_of_bound"] = op.bound_seconds(op_case.multiply_adds) / each;
  state.counters["share_of_peak"] = multiply_add_seconds(op_case.multiply_adds) / each;
}

void add_norm_cases(std::vector<OpCase>& cases, const Shape& x) {
  const ir::TensorType c = f32({x.back()});
  const ir::Attributes relu{{"activation", std::string("relu")}};
  cases.push_back({"batch_moments", {f32(x)}});
  cases.push_back({"batch_norm", {f32(x), c, c, c, c}});
  cases.push_back({"batch_norm", {f32(x), c, c, c, c}, relu});
  cases.push_back({"batch_norm_sums", {f32(x), f32(x), c, c, c, c}, relu, 2});
  cases.push_back({"batch_norm_input_grad", {f32(x), f32(x), c, c, c, c, c, c}, relu});
  if (x.back() % 4 != 0) return;
  cases.push_back({"group_norm", {f32(x), c, c}, {{"groups", int64_t{4}}}, 3});
}

void add_elementwise_cases(std::vector<OpCase>& cases, const Shape& x) {
  cases.push_back({"relu", {f32(x)}});
  cases.push_back({"relu_grad", {f32(x), f32(x)}});
  cases.push_back({"add", {f32(x), f32(x)}, {{"activation", std::string("relu")}}});
  cases.push_back({"tanh", {f32(x)}});
  cases.push_back({"dropout", {f32(x)}});
}

void add_pool_cases(std::vector<OpCase>& cases, const Shape& x) {
  const ir::Ints window(static_cast<size_t>(x.rank() - 2), 2);
  Shape y = x;
  for (int axis = 1; axis + 1 < x.rank(); ++axis) y[axis] /= 2;
  const ir::Ints input(x.begin() + 1, x.end() - 1);
  cases.push_back({"max_pool", {f32(x)}, {{"window", window}}, 2});
  cases.push_back({"max_pool_grad",
                   {f32(y), {DType::u8, y}, f32(y)},
                   {{"window", window}, {"input", input}, {"activation", std::string("relu")}}});
  cases.push_back({"avg_pool", {f32(x)}, {{"window", window}}});
  cases.push_back({"global_avg_pool", {f32(x)}});
}

// The ops before a network for photographs.
void add_pixel_cases(std::vector<OpCase>& cases, DType dtype) {
  const ir::TensorType x{dtype, {16, 32, 32, 3}};
  const ir::Numbers each(3, 0.5);
  cases.push_back({"flip_where", {x, {DType::u8, {16}}}});
  for (const int64_t channels : {3, 4}) {
    cases.push_back({"standardise_image", {x}, {{"channels", channels}}});
    cases.push_back(
        {"normalise_pixels", {x}, {{"scale", each}, {"shift", each}, {"channels", channels}}});
  }
}

std::vector<OpCase> op_cases() {
  std::vector<OpCase> cases;
  for (const Shape& x :
       {Shape{16, 32, 32, 16}, Shape{16, 16, 16, 32}, Shape{16, 8, 8, 64}, Shape{16, 32, 32, 3}}) {
    add_norm_cases(cases, x);
  }
  for (const Shape& x : {Shape{16, 32, 32, 16}, Shape{32, 26, 26, 32}}) {
    add_elementwise_cases(cases, x);
  }
  for (const Shape& x : {Shape{32, 26, 26, 32}, Shape{32, 11, 11, 64}, Shape{1, 32, 32, 32, 16}}) {
    add_pool_cases(cases, x);
  }
  for (const DType dtype : {DType::u8, DType::f32}) add_pixel_cases(cases, dtype);
  cases.push_back({"softmax", {f32({32, 10})}});
  cases.push_back({"cross_entropy_grad",
                   {f32({32}), f32({32, 10}), {DType::i32, {32}}},
                   {{"from_logits", int64_t{1}}}});
  cases.push_back({"slice",
                   {f32({16, 32, 32, 16})},
                   {{"begin", ir::Ints{0, 0, 0, 0}},
                    {"size", ir::Ints{16, 16, 16, 16}},
                    {"strides", ir::Ints{1, 2, 2, 1}}}});
  cases.push_back({"pad",
                   {f32({16, 16, 16, 16})},
                   {{"low", ir::Ints{0, 0, 0, 8}}, {"high", ir::Ints{0, 0, 0, 8}}}});
  return cases;
}

// The last layers of mnist_cnn and of cifar10_cnn, and the largest dense layer of cifar10_cnn.
std::vector<OpCase> dense_cases() {
  std::vector<OpCase> cases;
  for (const auto& [batch, features, units] :
       {std::array<int64_t, 3>{32, 1600, 10}, {16, 512, 10}, {16, 2304, 512}}) {
    const ir::TensorType x = f32({batch, features});
    const ir::TensorType y = f32({batch, units});
    const ir::TensorType kernel = f32({features, units});
    cases.push_back({"dense", {x, kernel, f32({units})}});
    cases.push_back({"dense_input_grad", {y, kernel}});
    cases.push_back({"dense_filter_grad", {x, y}, {}, 2});
  }
  return cases;
}

// All depthwise convolutions of mobilenet_v2 at 96 pixels, some of it and of efficientnet_b0 at
// 224; convolutions with 32 groups of ResNeXt at 112 pixels.
std::vector<OpCase> grouped_cases() {
  std::vector<OpCase> cases;
  for (const auto& [side, channels, window, stride, per_group] :
       {std::array<int64_t, 5>{48, 32, 3, 1, 1},
        {48, 96, 3, 2, 1},
        {24, 144, 3, 1, 1},
        {24, 144, 3, 2, 1},
        {12, 192, 3, 1, 1},
        {12, 192, 3, 2, 1},
        {6, 384, 3, 1, 1},
        {6, 576, 3, 1, 1},
        {6, 576, 3, 2, 1},
        {3, 960, 3, 1, 1},
        {112, 32, 3, 1, 1},
        {56, 144, 3, 1, 1},
        {14, 384, 3, 1, 1},
        {28, 240, 5, 1, 1},
        {14, 480, 5, 1, 1},
        {7, 1152, 5, 1, 1},
        {28, 64, 3, 1, 2},
        {28, 128, 3, 1, 4},
        {28, 256, 3, 2, 8},
        {14, 256, 3, 1, 8},
        {7, 512, 3, 1, 16}}) {
    const int64_t out = (side + stride - 1) / stride;
    const ir::TensorType x = f32({8, side, side, channels});
    const ir::TensorType y = f32({8, out, out, channels});
    const ir::TensorType filter = f32({window, window, per_group, channels});
    ir::Attributes attributes{{"groups", channels / per_group},
                              {"strides", ir::Ints{stride, stride}},
                              {"padding", std::string("same")}};
    const auto inside = static_cast<double>(taps_inside(side, out, window, stride));
    const double count = 8 * inside * inside * static_cast<double>(channels * per_group);
    cases.push_back({"conv", {x, filter}, attributes, 1, count});
    ir::Attributes of_input = attributes;
    of_input.set("input", ir::Ints{side, side});
    cases.push_back({"conv_input_grad", {y, filter}, of_input, 1, count});
    attributes.set("filter", ir::Ints{window, window});
    cases.push_back({"conv_filter_grad", {x, y}, attributes, 1, count});
  }
  return cases;
}

// Depthwise convolutions that make several channels of each.
std::vector<OpCase> multiplied_cases() {
  std::vector<OpCase> cases;
  for (const auto& [side, channels, times] :
       {std::array<int64_t, 3>{48, 32, 2}, {24, 96, 2}, {12, 192, 4}}) {
    const ir::TensorType x = f32({8, side, side, channels});
    const ir::TensorType y = f32({8, side, side, channels * times});
    const ir::TensorType filter = f32({3, 3, 1, channels * times});
    ir::Attributes attributes{{"groups", channels}, {"padding", std::string("same")}};
    cases.push_back({"conv", {x, filter}, attributes});
    ir::Attributes of_input = attributes;
    of_input.set("input", ir::Ints{side, side});
    cases.push_back({"conv_input_grad", {y, filter}, of_input});
    attributes.set("filter", ir::Ints{3, 3});
    cases.push_back({"conv_filter_grad", {x, y}, attributes});
  }
  return cases;
}

// Transposed convolutions of unet at 128 pixels, each with the input gradient that it is, and their
// gradients.
std::vector<OpCase> transpose_cases() {
  std::vector<OpCase> cases;
  for (const auto& [side, channels] : {std::array<int64_t, 2>{8, 1024}, {32, 256}, {64, 128}}) {
    const std::vector<ir::TensorType> inputs = {f32({2, side, side, channels}),
                                                f32({2, 2, channels / 2, channels})};
    const ir::Ints output = {2 * side, 2 * side};
    const ir::Attributes strides{{"strides", ir::Ints{2, 2}}};
    ir::Attributes attributes = strides;
    attributes.set("input", output);
    cases.push_back({"conv_input_grad", inputs, attributes});
    attributes = strides;
    attributes.set("output", output);
    cases.push_back({"conv_transpose", inputs, attributes});
    cases.back().inputs.push_back(f32({channels / 2}));
    const ir::TensorType y = f32({2, 2 * side, 2 * side, channels / 2});
    cases.push_back({"conv", {y, inputs[1]}, strides});
    attributes = strides;
    attributes.set("filter", ir::Ints{2, 2});
    cases.push_back({"conv_filter_grad", {y, inputs[0]}, attributes});
    cases.push_back({"channel_sums", {y}});
  }
  return cases;
}

std::vector<OpCase> resize_cases() {
  const ir::TensorType x = f32({4, 32, 32, 64});
  const ir::TensorType y = f32({4, 64, 64, 64});
  std::vector<OpCase> cases;
  for (const char* mode : {"nearest", "linear"}) {
    ir::Attributes attributes{{"mode", std::string(mode)}, {"size", ir::Ints{64, 64}}};
    cases.push_back({"resize", {x}, attributes});
    attributes.set("input", ir::Ints{32, 32});
    cases.push_back({"resize_grad", {y}, attributes});
  }
  return cases;
}

void register_cases() {
  for (const OpCase& op_case : transpose_cases()) {
    for (const char* candidate : {"direct", "onednn", "fast"}) {
      const std::string name =
          concat("transpose/", op_case.op, "/", op_case.inputs[0].shape, "/", candidate);
      benchmark::RegisterBenchmark(name.c_str(), run_op, op_case, candidate)
          ->Unit(benchmark::kMicrosecond);
    }
  }
  for (const OpCase& op_case : resize_cases()) {
    const std::string name = concat(op_case.op, "/", op_case.inputs[0].shape, "/",
                                    op_case.attributes.get_string("mode"));
    benchmark::RegisterBenchmark(name.c_str(), run_op, op_case, "fast")
        ->Unit(benchmark::kMicrosecond);
  }
  for (const OpCase& op_case : grouped_cases()) {
    for (const char* candidate : {"depthwise", "direct", "onednn"}) {
      const bool depthwise = op_case.attributes.get_int("groups") == op_case.inputs[0].shape.back();
      const std::string name =
          concat(depthwise ? "depthwise/" : "grouped/", op_case.op, "/", op_case.inputs[0].shape,
                 op_case.inputs[1].shape, "/", candidate);
      benchmark::RegisterBenchmark(name.c_str(), run_op, op_case, candidate)
          ->Unit(benchmark::kMicrosecond);
    }
  }
  for (const OpCase& op_case : multiplied_cases()) {
    for (const char* candidate : {"depthwise", "direct", "onednn"}) {
      const std::string name = concat("multiplied/", op_case.op, "/", op_case.inputs[0].shape,
                                      op_case.inputs[1].shape, "/", candidate);
      benchmark::RegisterBenchmark(name.c_str(), run_op, op_case, candidate)
          ->Unit(benchmark::kMicrosecond);
    }
  }
  for (const OpCase& op_case : dense_cases()) {
    for (const char* candidate : {"direct", "onednn"}) {
      const std::string name =
          concat(op_case.op, "/", op_case.inputs[0].shape, op_case.inputs[1].shape, "/", candidate);
      benchmark::RegisterBenchmark(name.c_str(), run_op, op_case, candidate)
          ->Unit(benchmark::kMicrosecond);
    }
  }
  for (const OpCase& op_case : op_cases()) {
    std::string name = concat(op_case.op, "/", op_case.inputs[0].shape);
    if (op_case.attributes.has("activation")) name += "/relu";
    if (op_case.inputs[0].dtype == DType::u8) name += "/u8";
    if (op_case.attributes.get_int("channels") == 4) name += "/to 4 channels";
    benchmark::RegisterBenchmark(name.c_str(), run_op, op_case, "fast")
        ->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace
}  // namespace pando::bench

int main(int argc, char** argv) {
  pando::bench::register_cases();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
