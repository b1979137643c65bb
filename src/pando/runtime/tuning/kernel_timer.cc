// SPDX-License-Identifier: MIT
#include "pando/runtime/tuning/kernel_timer.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "pando/base/clock.h"
#include "pando/base/memory_limit.h"
#include "pando/base/random.h"
#include "pando/ops/op.h"
#include "pando/runtime/machine/arena.h"
#include "pando/tensor/half_rounding.h"

namespace pando::runtime {
namespace {

using compiler::KernelOption;
using compiler::KernelTime;

constexpr double kShortest = 1e-8;   // seconds
constexpr size_t kAlignment = 4096;  // different buffers begin on different pages

size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Normal numbers, repeated: kernels take the same time for all of them.
void fill(std::byte* to, const ir::Value& value) {
  constexpr size_t kRandom = 1 << 14;
  const DType dtype = value.type().dtype;
  const size_t bytes = value.bytes();
  const size_t first = std::min(bytes / size_of(dtype), kRandom);
  RandomStream random(hash_name("tuning"));
  std::vector<float> numbers(first);
  for (float& number : numbers) number = random.next_normal();
  if (dtype == DType::f32) {
    std::memcpy(to, numbers.data(), first * sizeof(float));
  } else {
    round_halves(dtype, numbers.data(), reinterpret_cast<uint16_t*>(to),
                 static_cast<int64_t>(first), {});
  }
  for (size_t done = first * size_of(dtype); done > 0 && done < bytes;) {
    const size_t more = std::min(done, bytes - done);
    std::memcpy(to + done, to, more);
    done += more;
  }
}

// The buffers of all workers for one layer, and of all options.
class Bench {
 public:
  Bench(const ir::Node& node, const std::vector<KernelOption>& options, WorkerTeam& team,
        const TimerOptions& how)
      : node_(node), options_(options), team_(team), how_(how), memory_(needed_bytes()) {
    team_.run([&](int worker) {
      const size_t share = memory_.size() / static_cast<size_t>(team_.size()) + 1;
      const size_t begin = share * static_cast<size_t>(worker);
      memory_.prefault(begin, begin + share);
    });
    cut_memory();
  }

  // Seconds of a call that starts on all workers at the same time.
  double call_seconds(size_t option, int repetitions) {
    const kernels::Kernel& kernel = *options_[option].offer.kernel;
    return timed([&](int worker) {
             for (int i = 0; i < repetitions; ++i) call(kernel, option, worker);
           }) /
           repetitions;
  }

  // Seconds in which all workers together pack the filter; 0 if nothing is packed.
  double pack_seconds(size_t option) {
    if (options_[option].offer.packings.empty()) return 0;
    return timed([&](int worker) { pack(option, worker); });
  }

 private:
  template <typename Work>
  double timed(const Work& work) {
    std::vector<double> seconds(static_cast<size_t>(team_.size()));
    team_.run([&](int worker) {
      const auto start = std::chrono::steady_clock::now();
      work(worker);
      seconds[static_cast<size_t>(worker)] = seconds_since(start);
    });
    return std::max(std::ranges::max(seconds), kShortest);
  }

  // Workers that share the operands of a slice: those of a device.
  size_t copy_of(int worker) const {
    return static_cast<size_t>(how_.parts > 0 ? team_.device_of(worker) : worker);
  }
  size_t copies() const {
    return static_cast<size_t>(how_.parts > 0 ? team_.devices() : team_.size());
  }

  size_t packed_bytes(const KernelOption& option) const {
    size_t bytes = 0;
    for (const kernels::Packing& packing : option.offer.packings) {
      bytes += aligned(static_cast<size_t>(packing.layout.elements) * size_of(packing.dtype));
    }
    return bytes;
  }

  size_t scratch_bytes() const {
    size_t most = 0;
    for (const KernelOption& option : options_) {
      most = std::max(most, option.offer.kernel->scratch_bytes());
      for (const kernels::Packing& packing : option.offer.packings) {
        most = std::max(most, packing.packer->scratch_bytes());
      }
    }
    return aligned(most);
  }

  // Parts of an op that sums over the batch have their own outputs.
  bool has_own_outputs() const {
    return how_.parts == 0 || ops::has_trait(node_, ops::Trait::batch_sum);
  }

  // What a packer of this operand reads: packers of a variable that is rounded round it themselves.
  const ir::Value& packed_from(size_t input) const {
    const ir::Value* value = node_.input(static_cast<int>(input));
    if (value->is_input() || !ops::has_trait(*value->producer(), ops::Trait::per_update)) {
      return *value;
    }
    const ir::Value* source = value->producer()->input(0);
    const bool is_rounded = source->type().dtype != value->type().dtype;
    return is_rounded ? *source : *value;
  }

  bool has_own_source(size_t input) const {
    return &packed_from(input) != node_.input(static_cast<int>(input));
  }

  size_t needed_bytes() const {
    size_t slice = 0;
    for (const ir::Value* value : node_.inputs()) slice += aligned(value->bytes());
    size_t sources = 0;
    for (size_t i = 0; i < node_.inputs().size(); ++i) {
      if (has_own_source(i)) sources += aligned(packed_from(i).bytes());
    }
    size_t results = 0;
    for (const ir::Value* value : node_.outputs()) results += aligned(value->bytes());
    size_t bytes = copies() * slice + sources;
    bytes += static_cast<size_t>(team_.size()) * scratch_bytes();
    bytes += (has_own_outputs() ? static_cast<size_t>(team_.size()) : copies()) * results;
    for (const KernelOption& option : options_) bytes += packed_bytes(option);
    require_memory("timing the kernels of a layer", static_cast<int64_t>(bytes));
    return bytes;
  }

  std::byte* take(size_t bytes) {
    std::byte* taken = memory_.data() + used_;
    used_ += aligned(bytes);
    return taken;
  }

  void cut_memory() {
    for (size_t copy = 0; copy < copies(); ++copy) {
      std::vector<std::byte*>& inputs = inputs_.emplace_back();
      for (const ir::Value* value : node_.inputs()) {
        inputs.push_back(take(value->bytes()));
        fill(inputs.back(), *value);
      }
    }
    sources_ = inputs_[0];
    for (size_t i = 0; i < sources_.size(); ++i) {
      if (!has_own_source(i)) continue;
      sources_[i] = take(packed_from(i).bytes());
      fill(sources_[i], packed_from(i));
    }
    const size_t results = has_own_outputs() ? static_cast<size_t>(team_.size()) : copies();
    for (size_t i = 0; i < results; ++i) {
      std::vector<std::byte*>& outputs = outputs_.emplace_back();
      for (const ir::Value* value : node_.outputs()) outputs.push_back(take(value->bytes()));
    }
    for (int worker = 0; worker < team_.size(); ++worker) scratch_.push_back(take(scratch_bytes()));
    for (const KernelOption& option : options_) {
      std::vector<std::byte*>& packed = packed_.emplace_back();
      for (const kernels::Packing& packing : option.offer.packings) {
        packed.push_back(
            take(static_cast<size_t>(packing.layout.elements) * size_of(packing.dtype)));
      }
    }
  }

  void pack(size_t option, int worker) {
    const std::vector<kernels::Packing>& packings = options_[option].offer.packings;
    for (size_t i = 0; i < packings.size(); ++i) {
      const kernels::Kernel& packer = *packings[i].packer;
      if (!packer.splits() && worker > 0) continue;
      const std::byte* in[] = {sources_[static_cast<size_t>(packings[i].input)]};
      std::byte* out[] = {packed_[option][i]};
      kernels::StepArgs step;
      if (packer.splits()) step.part = {worker, team_.size()};
      packer.run({in, out, scratch_[static_cast<size_t>(worker)], 1}, step);
    }
  }

  void call(const kernels::Kernel& kernel, size_t option, int worker) {
    const size_t copy = copy_of(worker);
    std::vector<const std::byte*> inputs(inputs_[copy].begin(), inputs_[copy].end());
    const std::vector<kernels::Packing>& packings = options_[option].offer.packings;
    for (size_t i = 0; i < packings.size(); ++i) {
      inputs[static_cast<size_t>(packings[i].input)] = packed_[option][i];
    }
    const size_t result = has_own_outputs() ? static_cast<size_t>(worker) : copy;
    const kernels::KernelArgs args{inputs.data(), outputs_[result].data(),
                                   scratch_[static_cast<size_t>(worker)],
                                   static_cast<int>(inputs.size())};
    kernels::StepArgs step;
    step.valid = node_.input(0)->shape().front();
    step.batch_valid = step.valid;
    if (how_.parts == 0) return kernel.run(args, step);
    const int device = team_.device_of(worker);
    const int parts = kernel.splits() ? how_.parts : 1;
    for (int part = worker - team_.first_worker(device); part < parts;
         part += team_.workers_of(device)) {
      step.part = {part, parts};
      kernel.run(args, step);
    }
  }

  const ir::Node& node_;
  const std::vector<KernelOption>& options_;
  WorkerTeam& team_;
  const TimerOptions& how_;
  Arena memory_;
  size_t used_ = 0;
  std::vector<std::vector<std::byte*>> inputs_;   // of each copy of the slice
  std::vector<std::byte*> sources_;               // what packers read, by input
  std::vector<std::vector<std::byte*>> outputs_;  // of each copy, or of each worker
  std::vector<std::byte*> scratch_;               // of each worker
  std::vector<std::vector<std::byte*>> packed_;   // of each option
};

}  // namespace

std::vector<KernelTime> time_kernels(const ir::Node& node, const std::vector<KernelOption>& options,
                                     WorkerTeam& team, const TimerOptions& how) {
  constexpr double kHopeless = 1.5;  // times the fastest first call
  Bench bench(node, options, team, how);
  std::vector<KernelTime> times;
  std::vector<double> packing;
  for (size_t i = 0; i < options.size(); ++i) {
    packing.push_back(bench.pack_seconds(i));
    // The first call finds cold caches, so the shorter of two counts.
    const double cold = bench.call_seconds(i, 1);
    const double warm = bench.call_seconds(i, 1);
    times.push_back({.candidate = options[i].candidate, .seconds = std::min(cold, warm)});
  }
  std::vector<double> first;
  for (const KernelTime& time : times) first.push_back(time.seconds);
  const double fastest = *std::ranges::min_element(first);
  const double wanted = how.rounds * how.round_seconds / fastest;
  const int rounds =
      std::max(how.fewest_rounds, static_cast<int>(std::min<double>(how.rounds, wanted)));
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < options.size(); ++i) {
      const bool is_hopeless = first[i] > kHopeless * fastest;
      if (is_hopeless && options[i].candidate != how.table) continue;
      const int repetitions = std::max(1, static_cast<int>(how.round_seconds / first[i]));
      times[i].seconds = std::min(times[i].seconds, bench.call_seconds(i, repetitions));
      if (packing[i] > 0) packing[i] = std::min(packing[i], bench.pack_seconds(i));
    }
  }
  for (size_t i = 0; i < options.size(); ++i) {
    times[i].seconds += packing[i] / std::max(how.calls_per_update, 1.0);
  }
  return times;
}

}  // namespace pando::runtime
