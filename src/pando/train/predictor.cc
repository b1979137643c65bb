// SPDX-License-Identifier: MIT
#include "pando/train/predictor.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <string_view>

#include "pando/base/clock.h"
#include "pando/base/error.h"
#include "pando/base/memory_limit.h"
#include "pando/kernels/denormals.h"
#include "pando/runtime/machine/device_set.h"
#include "pando/runtime/machine/helper_team.h"
#include "pando/runtime/program/averaged_weights.h"
#include "pando/train/model_impl.h"
#include "pando/train/predictor_programs.h"

namespace pando {

namespace {

constexpr int64_t kMostPredictorBatch = 1 << 20;
constexpr int kMostPredictorWorkers = 4096;

using runtime::BoundInference;
using runtime::InferenceProgram;
using Parts = std::span<const PredictorRows>;

// Lends the memory of workers to calling threads. The memory returned last is lent first, because
// it is still in a cache.
class BoundPool {
 public:
  BoundPool(const std::vector<InferenceProgram>& programs, int count) {
    free_.reserve(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) {
      free_.push_back(all_.emplace_back(std::make_unique<BoundInference>(programs, 0)).get());
    }
  }

  class Loan {
   public:
    explicit Loan(BoundPool& pool) : pool_(pool) {
      std::unique_lock lock(pool.mutex_);
      pool.returned_.wait(lock, [&] { return !pool.free_.empty(); });
      bound_ = pool.free_.back();
      pool.free_.pop_back();
    }
    ~Loan() {
      {
        const std::lock_guard lock(pool_.mutex_);
        pool_.free_.push_back(bound_);
      }
      pool_.returned_.notify_one();
    }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    BoundInference& bound() const { return *bound_; }

   private:
    BoundPool& pool_;
    BoundInference* bound_ = nullptr;
  };

 private:
  std::vector<std::unique_ptr<BoundInference>> all_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<BoundInference*> free_;
};

// Calls function(part, row of the part, rows, row of the range) for the pieces of parts that lie in
// the range of `count` samples from `first` on.
template <typename Function>
void for_pieces(Parts parts, int64_t first, int64_t count, const Function& function) {
  int64_t before = 0;
  for (const PredictorRows& part : parts) {
    const int64_t begin = std::max(first, before);
    const int64_t end = std::min(first + count, before + part.samples);
    if (begin < end) function(part, begin - before, end - begin, begin - first);
    before += part.samples;
  }
}

int64_t samples_of(Parts parts) {
  int64_t samples = 0;
  for (const PredictorRows& part : parts) samples += part.samples;
  return samples;
}

std::vector<PredictorTensor> inputs_of(const Network& network) {
  std::vector<PredictorTensor> inputs;
  for (const NetworkInput& input : network.inputs()) {
    if (!input.auxiliary) inputs.push_back({input.name, input.dtype, input.shape});
  }
  return inputs;
}

std::vector<PredictorTensor> outputs_of(const Network& network) {
  std::vector<PredictorTensor> outputs;
  for (const NetworkOutput& output : network.outputs()) {
    outputs.push_back({output.name, DType::f32, output.shape});
  }
  return outputs;
}

void check_options(const PredictorOptions& options) {
  if (options.max_batch < 1 || options.max_batch > kMostPredictorBatch) {
    throw InvalidArgument("max_batch: expected 1 to ", kMostPredictorBatch, ", got ",
                          options.max_batch);
  }
  if (options.workers < 0 || options.workers > kMostPredictorWorkers) {
    throw InvalidArgument("workers: expected 0 to ", kMostPredictorWorkers, ", got ",
                          options.workers);
  }
}

}  // namespace

struct Predictor::Impl {
  // All cores compute one call: in parts, or each some of the samples.
  struct Together {
    Together(std::vector<InferenceProgram> programs_in, int spins)
        : programs(std::move(programs_in)), bound(programs, spins), team(bound.parts(), spins) {}
    std::vector<InferenceProgram> programs;
    BoundInference bound;
    runtime::HelperTeam team;
    std::mutex mutex;              // one call at a time
    bool parts_are_sooner = true;  // than one core alone, for fewer samples than workers
  };

  Impl(Model::Impl& model, const PredictorOptions& options);
  void add_programs(Model::Impl& model, const PredictorOptions& options);
  void take_memory(std::string_view what, size_t arena, int arenas);
  void compare_parts();
  void check(Parts parts, PredictorMode mode) const;
  void run(Parts parts, PredictorMode mode) const;
  void run_range(Parts parts, int64_t first, int64_t count) const;
  void run_in_parts(Parts parts, int64_t count) const;
  void gather(Parts parts, int64_t first, BoundInference& bound, size_t program) const;
  void scatter(Parts parts, int64_t first, const BoundInference& bound, size_t program) const;

  std::string name;
  std::vector<PredictorTensor> inputs;
  std::vector<PredictorTensor> outputs;
  ModelFacts facts;
  int workers = 1;
  int64_t bytes = 0;
  std::vector<int> feed_inputs;    // per feed of the graphs: its input; -1: zeros
  std::vector<size_t> feed_bytes;  // of a sample
  runtime::FrozenWeights weights;
  std::vector<InferenceProgram> programs;  // of ascending sizes, the first is 1
  mutable std::optional<BoundPool> pool;
  mutable std::unique_ptr<Together> together;  // null without latency, or with one worker
  bool has_latency = false;
};

Predictor::Impl::Impl(Model::Impl& model, const PredictorOptions& options)
    : name(model.options.name),
      inputs(inputs_of(model.running())),
      outputs(outputs_of(model.running())),
      facts(model.facts),
      has_latency(options.latency) {
  const Model::Impl::Use use(model);
  check_options(options);
  workers = options.workers;
  if (workers == 0) workers = std::max(runtime::topology_of(model.job).usable_cores(), 1);
  add_programs(model, options);
  bytes += static_cast<int64_t>(weights.bytes());
  if (together != nullptr && !options.always_in_parts) compare_parts();
}

// Counts memory before it is taken.
void Predictor::Impl::take_memory(std::string_view what, size_t arena, int arenas) {
  const int64_t more = static_cast<int64_t>(arena) * arenas;
  require_memory(what, more);
  bytes += more;
}

// Also binds the programs. Allocates the memory of one kind before the next kind is compiled.
void Predictor::Impl::add_programs(Model::Impl& model, const PredictorOptions& options) {
  train::PredictorPlan plan{
      .network = model.running().without_stages(), .fields = {}, .test_time_flip = model.flips()};
  for (const PredictorTensor& input : inputs) {
    plan.fields.push_back({input.name, input.dtype, input.shape});
  }
  if (model.compile_options) {
    const CompileOptions& chosen = *model.compile_options;
    plan.compiling.precision = chosen.precision;
    plan.compiling.half = chosen.half;
    plan.compiling.disabled_passes = chosen.execution.disabled_passes;
    plan.compiling.scratch_limits = chosen.execution.scratch_limits;
    plan.compiling.winograd = chosen.execution.winograd;
    if (chosen.execution.reference_kernels) {
      plan.compiling.accept = [](const ir::Node&, const kernels::Candidate&) { return false; };
    }
  }
  plan.compiling.half.stochastic_rounding = StochasticRounding::off;
  const runtime::AveragedWeights averaged(model.variables);
  programs = train::make_predictor_programs(plan, options.max_batch, 1, model.variables, weights);
  const ir::Graph& graph = programs[0].program->graph();
  feed_inputs = train::feed_fields(plan.network, graph, plan.fields);
  for (const ir::Value* value : graph.inputs()) {
    if (value->role() == ir::InputRole::feed) feed_bytes.push_back(value->bytes());
  }
  take_memory("the memory of the predictor's workers", runtime::arena_bytes(programs), workers);
  pool.emplace(programs, workers);
  if (!options.latency || workers == 1) return;
  std::vector<InferenceProgram> in_parts =
      train::make_predictor_programs(plan, workers - 1, workers, model.variables, weights);
  take_memory("calls that all workers compute together", runtime::arena_bytes(in_parts), 1);
  const bool shares = workers > runtime::topology_of(model.job).usable_cores();
  together = std::make_unique<Together>(std::move(in_parts), shares ? 0 : runtime::kSpins);
}

// Threads meet after every call of a program. For small networks that costs more than it gains.
void Predictor::Impl::compare_parts() {
  constexpr double kLong = 1e-3;  // seconds; then parts are sooner
  constexpr int kRuns = 5;
  std::vector<std::vector<std::byte>> memory;
  std::vector<const std::byte*> from;
  for (const PredictorTensor& input : inputs) {
    from.push_back(memory.emplace_back(input.sample_bytes()).data());
  }
  const std::vector<std::byte*> to(outputs.size(), nullptr);
  const PredictorRows one{.inputs = from, .outputs = to, .samples = 1};
  const kernels::DenormalsFlushed flushed;
  const auto measure = [](const auto& work) { return least_seconds(kRuns, kRuns * kLong, work); };
  const double alone = measure([&] { run_range({&one, 1}, 0, 1); });
  if (alone > kLong) return;
  together->parts_are_sooner = measure([&] { run_in_parts({&one, 1}, 1); }) < alone;
}

void Predictor::Impl::check(Parts parts, PredictorMode mode) const {
  if (mode == PredictorMode::latency && !has_latency) {
    throw InvalidArgument("predictor '", name,
                          "': made without PredictorMode::latency; set PredictorOptions::latency");
  }
  for (const PredictorRows& part : parts) {
    const bool fits = part.inputs.size() == inputs.size() && part.outputs.size() == outputs.size();
    if (!fits || part.samples < 0) {
      throw InvalidArgument("predictor '", name, "': expected ", inputs.size(), " inputs, ",
                            outputs.size(), " outputs and 0 or more samples, got ",
                            part.inputs.size(), ", ", part.outputs.size(), " and ", part.samples);
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (part.inputs[i] != nullptr || part.samples == 0) continue;
      throw InvalidArgument("predictor '", name, "': input '", inputs[i].name,
                            "': expected an address, got null");
    }
  }
}

void Predictor::Impl::gather(Parts parts, int64_t first, BoundInference& bound,
                             size_t program) const {
  const int64_t count = bound.samples(program);
  for (size_t i = 0; i < feed_inputs.size(); ++i) {
    std::byte* to = bound.feed(program, i);
    const size_t row = feed_bytes[i];
    if (feed_inputs[i] < 0) {
      std::memset(to, 0, static_cast<size_t>(count) * row);
      continue;
    }
    const auto input = static_cast<size_t>(feed_inputs[i]);
    for_pieces(parts, first, count,
               [&](const PredictorRows& part, int64_t at, int64_t rows, int64_t place) {
                 std::memcpy(to + static_cast<size_t>(place) * row,
                             part.inputs[input] + static_cast<size_t>(at) * row,
                             static_cast<size_t>(rows) * row);
               });
  }
}

void Predictor::Impl::scatter(Parts parts, int64_t first, const BoundInference& bound,
                              size_t program) const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::byte* from = bound.result(program, i);
    const size_t row = outputs[i].sample_bytes();
    for_pieces(parts, first, bound.samples(program),
               [&](const PredictorRows& part, int64_t at, int64_t rows, int64_t place) {
                 if (part.outputs[i] == nullptr) return;
                 std::memcpy(part.outputs[i] + static_cast<size_t>(at) * row,
                             from + static_cast<size_t>(place) * row,
                             static_cast<size_t>(rows) * row);
               });
  }
}

// The largest programs that fit answer any number of samples.
void Predictor::Impl::run_range(Parts parts, int64_t first, int64_t count) const {
  if (count == 0) return;
  const BoundPool::Loan loan(*pool);
  size_t program = programs.size() - 1;
  while (count > 0) {
    while (loan.bound().samples(program) > count) --program;
    gather(parts, first, loan.bound(), program);
    loan.bound().run(program, 0);
    scatter(parts, first, loan.bound(), program);
    first += loan.bound().samples(program);
    count -= loan.bound().samples(program);
  }
}

void Predictor::Impl::run_in_parts(Parts parts, int64_t count) const {
  BoundInference& bound = together->bound;
  size_t program = together->programs.size() - 1;
  for (int64_t first = 0; first < count; first += bound.samples(program)) {
    while (bound.samples(program) > count - first) --program;
    gather(parts, first, bound, program);
    together->team.run([&](int part) { bound.run(program, part); });
    scatter(parts, first, bound, program);
  }
}

void Predictor::Impl::run(Parts parts, PredictorMode mode) const {
  check(parts, mode);
  const kernels::DenormalsFlushed flushed;
  const int64_t count = samples_of(parts);
  const bool alone = mode == PredictorMode::throughput || together == nullptr ||
                     (count == 1 && !together->parts_are_sooner);
  if (alone) return run_range(parts, 0, count);
  const std::lock_guard lock(together->mutex);
  if (count < workers && together->parts_are_sooner) return run_in_parts(parts, count);
  together->team.run([&](int worker) {
    const int64_t begin = count * worker / workers;
    run_range(parts, begin, count * (worker + 1) / workers - begin);
  });
}

Predictor::Predictor(const Model& model, const PredictorOptions& options)
    : impl_(std::make_shared<const Impl>(*model.impl_, options)) {}

Predictor Predictor::load(const std::string& path, const PredictorOptions& options,
                          const LoadModelOptions& file) {
  return Predictor(load_model(path, file), options);
}

const std::string& Predictor::name() const { return impl_->name; }
const std::vector<PredictorTensor>& Predictor::inputs() const { return impl_->inputs; }
const std::vector<PredictorTensor>& Predictor::outputs() const { return impl_->outputs; }
const ModelFacts& Predictor::facts() const { return impl_->facts; }
int64_t Predictor::max_batch() const { return impl_->programs.back().samples(); }
int Predictor::workers() const { return impl_->workers; }
int64_t Predictor::bytes() const { return impl_->bytes; }

void Predictor::run(const PredictorRows& rows, PredictorMode mode) const {
  impl_->run({&rows, 1}, mode);
}

void Predictor::run(std::span<const PredictorRows> parts, PredictorMode mode) const {
  impl_->run(parts, mode);
}

Tensor Predictor::run(const Tensor& x, PredictorMode mode) const {
  const bool is_simple = inputs().size() == 1 && outputs().size() == 1;
  if (!is_simple) {
    throw InvalidArgument("predictor '", name(), "': has ", inputs().size(), " inputs and ",
                          outputs().size(), " outputs, expected one of each; pass PredictorRows");
  }
  const auto with_batch = [](int64_t samples, const Shape& shape) {
    std::vector<int64_t> dims = {samples};
    dims.insert(dims.end(), shape.begin(), shape.end());
    return Shape(dims);
  };
  const int64_t samples = x.shape().rank() == 0 ? 0 : x.shape()[0];
  const Shape wanted = with_batch(samples, inputs()[0].shape);
  if (x.dtype() != inputs()[0].dtype || x.shape() != wanted) {
    throw InvalidArgument("predictor '", name(), "': expected ", to_string(inputs()[0].dtype),
                          wanted, ", got ", to_string(x.dtype()), x.shape());
  }
  Tensor y(outputs()[0].dtype, with_batch(samples, outputs()[0].shape));
  const std::byte* from = x.data();
  std::byte* to = y.data();
  run(PredictorRows{.inputs = {&from, 1}, .outputs = {&to, 1}, .samples = samples}, mode);
  return y;
}

}  // namespace pando
