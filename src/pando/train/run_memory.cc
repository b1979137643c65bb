// SPDX-License-Identifier: MIT
#include "pando/train/run_memory.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/core.h>

#include "pando/base/memory_use.h"
#include "pando/base/strings.h"
#include "pando/comm/wire.h"
#include "pando/runtime/report/memory_report.h"
#include "pando/train/model_impl.h"

namespace pando {

namespace {

std::string size_text(int64_t bytes) { return human_bytes(static_cast<double>(bytes)); }

std::string part_name(RunMode mode) {
  switch (mode) {
    case RunMode::train: return "training";
    case RunMode::evaluate: return "validation";
    case RunMode::predict: return "prediction";
  }
  return "";
}

int64_t slot_bytes(const runtime::VariableStore& variables, const Optimizer& optimizer) {
  int64_t bytes = 0;
  for (const runtime::Variable& variable : variables.all()) {
    if (variable.is_state() || !variable.slots.empty()) continue;
    for (const SlotSpec& slot : optimizer.rule->slots()) {
      const DType type = runtime::slot_type(slot, variable.value.dtype());
      bytes += variable.value.elements() * static_cast<int64_t>(size_of(type));
    }
  }
  return bytes;
}

// What evaluation keeps of weights of 16 bits while it uses their averages.
int64_t kept_bytes(const runtime::VariableStore& variables, const Optimizer& optimizer) {
  int64_t bytes = 0;
  if (optimizer.rule->average_decay() == 0) return bytes;
  for (const runtime::Variable& variable : variables.all()) {
    const bool kept = !variable.is_state() && variable.value.dtype() != DType::f32;
    if (kept) bytes += static_cast<int64_t>(variable.value.bytes());
  }
  return bytes;
}

// Memory of the exchange of gradients: values of other instances, and the sums of 16-bit gradients.
int64_t exchange_bytes(const compiler::Program& program, const runtime::Placement& place) {
  if (place.instances() < 2) return 0;
  int64_t elements = 0;
  const auto type =
      static_cast<int64_t>(size_of(program.options().precision.half() ? DType::f16 : DType::f32));
  for (const compiler::Bucket& bucket : program.memory().buckets) {
    elements += static_cast<int64_t>(bucket.end - bucket.begin) / type;
  }
  const auto wire = static_cast<int64_t>(comm::wire_bytes(place.wire, 1));
  const int64_t kept = place.wire == comm::WireFormat::f32 ? wire : 3 * wire;
  return elements * (kept + (type == 4 ? 0 : 4));
}

int64_t batch_bytes(const RunPart& part) {
  constexpr int64_t kHugePage = int64_t{2} << 20;  // large tensors are made of whole ones
  constexpr double kMost = 1e15;                   // more than any machine has
  int64_t all = 0;
  for (const Field& field : part.fields) {
    const double exact =
        static_cast<double>(part.batch_size) * static_cast<double>(bytes_per_sample(field));
    const auto bytes = static_cast<int64_t>(std::min(exact, kMost));
    all += bytes < kHugePage ? bytes : (bytes + kHugePage - 1) / kHugePage * kHugePage;
  }
  return all;
}

}  // namespace

int64_t RunMemory::to_come() const {
  return std::accumulate(items.begin(), items.end(), int64_t{0},
                         [](int64_t sum, const MemoryItem& item) { return sum + item.bytes; });
}

void RunMemory::add(const RunMemory& other) {
  items.insert(items.end(), other.items.begin(), other.items.end());
  threads += other.threads;
  state = std::max(state, other.state);
}

MemoryNeed RunMemory::need() const {
  constexpr int64_t kStackBytes = int64_t{8} << 20;
  return {.bytes = to_come(), .addresses = threads * kStackBytes, .processes = processes};
}

std::string to_text(const RunMemory& memory, const std::vector<MemoryLimit>& limits) {
  std::string text = "memory of the run\n";
  const auto row = [&](const std::string& what, int64_t bytes) {
    text += fmt::format("  {:<50} {:>11}\n", what, size_text(bytes));
  };
  row("most in use so far", memory_use().peak);
  row("in use now: program, data, weights", memory.held);
  for (const MemoryItem& item : memory.items) row(item.what, item.bytes);
  row(memory.processes > 1 ? fmt::format("total of each of {} instances", memory.processes)
                           : "total",
      memory.total());
  const MemoryLimit& limit = tightest(limits, memory.need());
  return text + "  now " + describe(limit, memory.need()) + "\n";
}

void check_fits(const RunMemory& memory, const std::string& what, const std::string& remedy) {
  const std::vector<MemoryLimit> limits = memory_limits();
  const MemoryLimit& limit = tightest(limits, memory.need());
  if (memory.to_come() <= left_for(limit, memory.need())) return;
  throw OverMemoryLimit(
      what, " needs ", size_text(memory.to_come()), " more memory than the program holds now, but ",
      describe(limit, memory.need()), "\n", to_text(memory, limits), "  what would help: ", remedy);
}

// Memory of all devices of this instance, and the packed weights, which they share.
RunMemory Model::Impl::memory_of(const RunPart& part) {
  RunMemory memory{.held = memory_use().resident, .processes = job.local_count};
  const std::string name = part_name(part.mode) + ": ";
  const int64_t slots =
      part.mode == RunMode::train ? slot_bytes(variables, compiled().optimizer) : 0;
  memory.state = slots;
  for (const runtime::Variable& variable : std::as_const(variables).all()) {
    memory.state += static_cast<int64_t>(variable.value.bytes());
    for (const Tensor& slot : variable.slots) memory.state += static_cast<int64_t>(slot.bytes());
  }
  const train::LoadedProgram& planned = plan(part.mode, part.batch_size, part.fields);
  const compiler::Program& program = planned.program();
  const runtime::Placement& place = planned.placement();
  if (!planned.is_bound()) {
    runtime::MemoryUse use;
    const int each = place.devices_per_replica(program.stages());
    for (int device = 0; device < place.replicas * each; ++device) {
      use.add(runtime::memory_use(program, runtime::device_load(program, place, device % each,
                                                                workers().workers_of(device))));
    }
    const auto add = [&](const char* what, size_t bytes, bool grows = false) {
      if (bytes > 0) memory.items.push_back({name + what, static_cast<int64_t>(bytes), grows});
    };
    add("activations", use.activations + use.held, true);
    add("gradients and sums", use.gradients + use.sums);
    add("scratch of kernels", use.scratch);
    add("packed weights", program.memory().packed_bytes);
    if (part.mode == RunMode::train) {
      add("optimizer slots", static_cast<size_t>(slots));
      add("exchange between instances", static_cast<size_t>(exchange_bytes(program, place)));
    } else if (compile_options) {
      add("weights of training", static_cast<size_t>(kept_bytes(variables, compiled().optimizer)));
    }
  }
  if (part.prefetch_depth == 0) return memory;
  const int ahead = part.prefetch_depth * place.replicas;
  const int threads = part.same_batch ? 1 : data_workers(part.data_workers, ahead).workers;
  // Ready in the queues of the threads and of the devices, being filled, and being used.
  const int batches =
      part.same_batch ? ahead + place.replicas + 1 : 2 * ahead + threads + place.replicas;
  memory.items.push_back(
      {fmt::format("{}{} batches ahead", name, batches), batches * batch_bytes(part), true});
  memory.threads = threads;
  return memory;
}

// Small models are not worth the question.
void Model::Impl::require(const std::vector<RunPart>& parts, const char* what) {
  constexpr int64_t kAlwaysThere = int64_t{16} << 20;
  RunMemory memory;
  bool is_new = false;
  for (const RunPart& part : parts) {
    is_new = is_new || !plan(part.mode, part.batch_size, part.fields).is_bound();
    const RunMemory own = memory_of(part);
    memory.held = own.held;
    memory.processes = own.processes;
    memory.add(own);
  }
  if (!is_new || memory.to_come() < kAlwaysThere) return;
  check_fits(memory, what,
             "a smaller batch_size, fewer batches ahead (prefetch_depth), half precision, "
             "recomputation, or a larger limit (set_memory_limit)");
}

std::string Model::Impl::memory_report(int64_t batch, const std::vector<Field>& fields) {
  train::LoadedProgram& loaded = plan(RunMode::train, batch, fields);
  return runtime::memory_report(loaded.program(), loaded.placement(), most_workers());
}

// The most workers of any device, on which reports and budgets are based.
int Model::Impl::most_workers() {
  int most = 1;
  for (int device = 0; device < workers().devices(); ++device) {
    most = std::max(most, workers().workers_of(device));
  }
  return most;
}

void Model::Impl::check_memory(const compiler::Program& program, const runtime::Placement& place) {
  if (strategy == nullptr || strategy->memory_per_device == 0) return;
  runtime::check_budget(program, place, most_workers(),
                        static_cast<size_t>(strategy->memory_per_device));
}

}  // namespace pando
