// Speed of the direct and Winograd convolutions on the layers of the zoo, compared with oneDNN:
//   micro_conv --benchmark_filter=cifar10_cnn          PANDO_ISA=avx2 selects the instruction set
// The column of_peak is the share of the measured multiply-add peak of a core. Layers of 1x1
// filters have names such as resnet50/1x1_56x56_64_256: --benchmark_filter=resnet50/1x1.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <vector>

#include <benchmark/benchmark.h>
#include <omp.h>

#include "bench/micro/conv_layers.h"
#include "bench/micro/onednn_conv.h"
#include "pando/base/cpu.h"
#include "pando/kernels/direct/direct_conv.h"
#include "pando/kernels/winograd/winograd_conv.h"
#include "pando/profile/multiply_add_peak.h"

namespace pando::bench {
namespace {

using kernels::ConvGeometry;
using kernels::DirectConv;
using kernels::Epilogue;
using kernels::WinogradConv;

// Memory that begins with a line of the cache, as that of programs does.
class Floats {
 public:
  explicit Floats(size_t count) : lines_(count / std::size(Line{}.floats) + 1), count_(count) {}
  float* data() { return lines_.front().floats; }
  const float* data() const { return lines_.front().floats; }
  size_t size() const { return count_; }
  std::byte* bytes() { return reinterpret_cast<std::byte*>(data()); }

 private:
  struct alignas(64) Line {
    float floats[16] = {};
  };
  std::vector<Line> lines_;
  size_t count_;
};

Floats scratch_of(size_t bytes) { return Floats(bytes / sizeof(float) + 1); }

Floats values(int64_t count) {
  Floats result(static_cast<size_t>(count));
  for (size_t i = 0; i < result.size(); ++i) {
    result.data()[i] = static_cast<float>(i % 31) / 31.0f - 0.5f;
  }
  return result;
}

struct Buffers {
  explicit Buffers(const ConvGeometry& g)
      : x(values(g.batch * g.in_pixels() * g.in_channels)),
        kernel(values(g.taps() * g.in_channels / g.groups * g.out_channels)),
        bias(values(g.out_channels)),
        y(values(g.batch * g.out_pixels() * g.out_channels)) {}
  Floats x, kernel, bias, y;
};

// GFLOP/s of the multiply-adds of one core.
double peak() {
  static const double rate = profile::multiply_add_peak(isa_name(), 1, 0.3).best;
  return rate;
}

void report(benchmark::State& state, const ConvLayer& layer, const std::string& label) {
  state.counters["GFLOP/s"] =
      benchmark::Counter(layer.flops() * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["of_peak"] = benchmark::Counter(layer.flops() * 1e-9 / peak(),
                                                 benchmark::Counter::kIsIterationInvariantRate);
  state.SetLabel(label);
}

void direct_forward(benchmark::State& state, const ConvLayer& layer) {
  const DirectConv conv(layer.geometry);
  Buffers b(layer.geometry);
  Floats packed(conv.forward_kernel_floats());
  conv.pack_forward(b.kernel.data(), packed.data());
  const Epilogue epilogue{b.bias.data(), kernels::Activation::relu};
  for (auto _ : state) {
    conv.forward(b.x.data(), packed.data(), epilogue, b.y.data());
  }
  report(state, layer, conv.name());
}

void direct_forward_pool(benchmark::State& state, const ConvLayer& layer) {
  const DirectConv conv(layer.geometry, layer.pool);
  Buffers b(layer.geometry);
  Floats packed(conv.forward_kernel_floats());
  conv.pack_forward(b.kernel.data(), packed.data());
  Floats scratch = scratch_of(conv.forward_pool_scratch_bytes());
  std::vector<uint8_t> index(b.y.size());
  const Epilogue epilogue{b.bias.data(), kernels::Activation::relu};
  for (auto _ : state) {
    conv.forward_pool(b.x.data(), packed.data(), epilogue, {b.y.data(), index.data()},
                      scratch.bytes());
  }
  report(state, layer, conv.name());
}

void direct_backward_input(benchmark::State& state, const ConvLayer& layer) {
  const DirectConv conv(layer.geometry);
  Buffers b(layer.geometry);
  Floats packed(conv.backward_kernel_floats());
  conv.pack_backward(b.kernel.data(), packed.data());
  for (auto _ : state) {
    conv.backward_input(b.y.data(), packed.data(), {}, b.x.data());
  }
  report(state, layer, conv.name());
}

void direct_backward_kernel(benchmark::State& state, const ConvLayer& layer) {
  const DirectConv conv(layer.geometry);
  Buffers b(layer.geometry);
  Floats scratch = scratch_of(conv.backward_kernel_scratch_bytes());
  for (auto _ : state) {
    conv.backward_kernel(b.x.data(), b.y.data(), {b.kernel.data(), b.bias.data()}, scratch.bytes());
  }
  report(state, layer, conv.name());
}

void direct_pack(benchmark::State& state, const ConvLayer& layer) {
  const DirectConv conv(layer.geometry);
  const Buffers b(layer.geometry);
  Floats forward(conv.forward_kernel_floats()), backward(conv.backward_kernel_floats());
  for (auto _ : state) {
    conv.pack_forward(b.kernel.data(), forward.data());
    conv.pack_backward(b.kernel.data(), backward.data());
  }
  state.SetBytesProcessed(state.iterations() *
                          static_cast<int64_t>(2 * b.kernel.size() * sizeof(float)));
}

void winograd(benchmark::State& state, const ConvLayer& layer, Pass pass, int tile) {
  const WinogradConv conv(layer.geometry, tile);
  Buffers b(layer.geometry);
  Floats forward(conv.forward_kernel_floats()), backward(conv.backward_kernel_floats());
  conv.pack_forward(b.kernel.data(), forward.data());
  conv.pack_backward(b.kernel.data(), backward.data());
  Floats scratch =
      scratch_of(std::max({conv.forward_scratch_bytes(), conv.backward_input_scratch_bytes(),
                           conv.backward_kernel_scratch_bytes()}));
  const Epilogue epilogue{b.bias.data(), kernels::Activation::relu};
  for (auto _ : state) {
    switch (pass) {
      case Pass::forward:
        conv.forward({b.x.data(), forward.data(), epilogue}, b.y.data(), scratch.bytes());
        break;
      case Pass::backward_input:
        conv.backward_input({b.y.data(), backward.data()}, b.x.data(), scratch.bytes());
        break;
      case Pass::backward_kernel:
        conv.backward_kernel(b.x.data(), b.y.data(), {b.kernel.data(), b.bias.data()},
                             scratch.bytes());
        break;
    }
  }
  report(state, layer, conv.isa_name());
}

void winograd_forward_pool(benchmark::State& state, const ConvLayer& layer) {
  const WinogradConv conv(layer.geometry, 2);
  Buffers b(layer.geometry);
  Floats packed(conv.forward_kernel_floats());
  conv.pack_forward(b.kernel.data(), packed.data());
  Floats scratch = scratch_of(conv.forward_scratch_bytes());
  std::vector<uint8_t> index(b.y.size());
  const Epilogue epilogue{b.bias.data(), kernels::Activation::relu};
  for (auto _ : state) {
    conv.forward_pool({b.x.data(), packed.data(), epilogue}, {b.y.data(), index.data()},
                      scratch.bytes());
  }
  report(state, layer, conv.isa_name());
}

void onednn(benchmark::State& state, const ConvLayer& layer, Pass pass) {
  const OneDnnPass bound = onednn_pass(layer.geometry, pass);
  for (auto _ : state) bound.run();
  report(state, layer, bound.implementation);
}

void register_layer(const ConvLayer& layer) {
  const auto add = [&layer](const std::string& pass, auto function, auto... more) {
    benchmark::RegisterBenchmark((layer.name + "/" + pass).c_str(), function, layer, more...)
        ->Unit(benchmark::kMicrosecond);
  };
  add("forward/direct", direct_forward);
  add("forward/onednn", onednn, Pass::forward);
  if (layer.pool) add("forward_pool/direct", direct_forward_pool);
  add("backward_input/direct", direct_backward_input);
  add("backward_input/onednn", onednn, Pass::backward_input);
  add("backward_kernel/direct", direct_backward_kernel);
  add("backward_kernel/onednn", onednn, Pass::backward_kernel);
  add("pack/direct", direct_pack);
  if (!WinogradConv::supports(layer.geometry)) return;
  for (const int tile : {2, 4}) {
    const std::string name = tile == 2 ? "winograd" : "winograd4";
    add("forward/" + name, winograd, Pass::forward, tile);
    const bool tiles = layer.pool && layer.pool->window == ConvGeometry::Extents{1, 2, 2};
    if (tiles && tile == 2) add("forward_pool/" + name, winograd_forward_pool);
    add("backward_input/" + name, winograd, Pass::backward_input, tile);
    add("backward_kernel/" + name, winograd, Pass::backward_kernel, tile);
  }
}

}  // namespace
}  // namespace pando::bench

int main(int argc, char** argv) {
  omp_set_num_threads(1);  // for oneDNN; an environment variable would be read too late
  for (const auto& layer : pando::bench::conv_layers()) pando::bench::register_layer(layer);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
