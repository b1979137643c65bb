// SPDX-License-Identifier: MIT
#include "pando/train/profile_report.h"

#include <filesystem>
#include <system_error>

#include <fmt/core.h>

#include "pando/base/error.h"
#include "pando/base/json.h"
#include "pando/compiler/report.h"
#include "pando/kernels/direct/isa_kernels.h"
#include "pando/profile/chrome_trace.h"
#include "pando/profile/memory_rate.h"
#include "pando/profile/multiply_add_peak.h"
#include "pando/runtime/report/execution_report.h"
#include "pando/runtime/report/memory_report.h"
#include "pando/store/atomic_file.h"
#include "pando/train/model_impl.h"

namespace pando {

namespace {

std::string name_of(RunMode mode) {
  switch (mode) {
    case RunMode::train: return "training";
    case RunMode::evaluate: return "evaluation";
    case RunMode::predict: return "prediction";
  }
  PANDO_CHECK(false, static_cast<int>(mode));
}

// Bytes that all programs of a model share, and those that a weight update changes.
struct VariableBytes {
  size_t weights = 0;
  size_t statistics = 0;
  size_t slots = 0;
  size_t updated = 0;  // weights and slots that have a gradient
};

VariableBytes variable_bytes(const runtime::VariableStore& variables,
                             const compiler::Program& program) {
  VariableBytes bytes;
  for (const runtime::Variable& variable : variables.all()) {
    (variable.is_state() ? bytes.statistics : bytes.weights) += variable.value.bytes();
    size_t slots = 0;
    for (const Tensor& slot : variable.slots) slots += slot.bytes();
    bytes.slots += slots;
    const bool updated =
        program.graph().find_output(ir::OutputRole::gradient, variable.name) != nullptr;
    if (updated) bytes.updated += variable.value.bytes() + slots;
  }
  return bytes;
}

std::string size(size_t bytes) { return human_bytes(static_cast<double>(bytes)); }

std::string counted(int64_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : what.ends_with("h") ? "es" : "s");
}

std::string heading(const std::string& text) {
  constexpr size_t kWidth = 98;
  return fmt::format("\n== {} {:=<{}}\n", text, "", kWidth - std::min(kWidth, text.size() + 4));
}

runtime::MachinePeak measure_peak(const ProfileRequest& request) {
  int threads = 0;
  for (const profile::TraceTrack* track : request.trace->tracks()) {
    threads += track->device() == profile::kHostDevice ? 0 : 1;
  }
  if (request.peak_seconds <= 0 || threads == 0) return {};
  const std::string isa = kernels::direct::choose_isa().name;
  return {.isa = isa,
          .threads = threads,
          .gflops = profile::multiply_add_peak(isa, threads, request.peak_seconds).best,
          .memory_rate = profile::memory_rate(threads, request.peak_seconds)};
}

void write_text(const std::string& path, const std::string& text) {
  store::replace_file(path, {std::as_bytes(std::span(text))});
}

// Puts the three parts of a report together.
class ReportWriter {
 public:
  ReportWriter(Model::Impl& impl, const ProfileRequest& request)
      : impl_(impl),
        request_(request),
        loaded_(impl.program(request.mode, request.batch_size, request.fields)),
        compilation_(compiler::compilation_report(loaded_.program(), impl.layer_names())),
        variables_(variable_bytes(impl.variables, loaded_.program())) {
    const runtime::Placement& placement = loaded_.placement();
    text_ = fmt::format("profile of {}, model '{}': micro-batches of {} ({})\n",
                        name_of(request.mode), impl.options.name,
                        counted(request.batch_size, "sample"), to_string(request.fields));
    text_ += concat(counted(placement.total_replicas(), "replica"), " on ",
                    counted(placement.instances(), "instance"));
    if (request.mode == RunMode::train) {
      text_ += concat(", ", counted(placement.micro_batches, "micro-batch"), " per weight update",
                      " by ", impl.compiled().optimizer.rule->name());
    }
    text_ += placement.instances() > 1 ? "; figures of one instance\n" : "\n";
    json_ = {{"program", name_of(request.mode)},       {"model", impl.options.name},
             {"batch_size", request.batch_size},       {"fields", to_string(request.fields)},
             {"replicas", placement.total_replicas()}, {"instances", placement.instances()}};
    if (request.mode == RunMode::train) {
      json_["micro_batches_per_update"] = placement.micro_batches;
    }
  }

  ProfileReport write() {
    text_ += heading("compilation") + compiler::to_text(compilation_, {.blocks = true});
    json_["compilation"] = Json::parse(compiler::to_json(compilation_));
    write_memory();
    if (request_.trace != nullptr) write_execution();
    return {.text = std::move(text_), .json = json_.dump(1) + "\n"};
  }

 private:
  void write_memory() {
    const VariableBytes& bytes = variables_;
    const int workers = impl_.most_workers();
    text_ += heading("memory") +
             fmt::format(
                 "held once for the model: weights {}, moving statistics {}, optimizer state {},\n"
                 "packed weights {}\n",
                 size(bytes.weights), size(bytes.statistics), size(bytes.slots),
                 size(compilation_.always_live.packed));
    write_lifetimes(workers);
    text_ += runtime::memory_report(loaded_.program(), loaded_.placement(), workers);
    json_["memory"] = {{"weights_bytes", bytes.weights},
                       {"moving_statistics_bytes", bytes.statistics},
                       {"optimizer_bytes", bytes.slots},
                       {"packed_bytes", compilation_.always_live.packed},
                       {"always_live_bytes", always_live_},
                       {"not_always_live_bytes", working_},
                       {"devices", Json::parse(runtime::memory_report_json(
                                       loaded_.program(), loaded_.placement(), workers))}};
  }

  // The memory of all devices of this instance, and what the model holds once.
  void write_lifetimes(int workers) {
    const runtime::Placement& placement = loaded_.placement();
    const compiler::Program& program = loaded_.program();
    runtime::MemoryUse all;
    for (int device = 0; device < placement.devices_per_replica(program.stages()); ++device) {
      all.add(memory_use(program, runtime::device_load(program, placement, device, workers)));
    }
    const auto replicas = static_cast<size_t>(placement.replicas);
    const size_t once = variables_.weights + variables_.statistics + variables_.slots +
                        compilation_.always_live.packed;
    always_live_ = once + replicas * (all.held + all.gradients);
    working_ = replicas * (all.activations + all.sums + all.scratch);
    text_ += fmt::format("always live: {}, with packed weights {}, gradients {}, held {}\n",
                         size(always_live_), size(compilation_.always_live.packed),
                         size(replicas * all.gradients), size(replicas * all.held));
    text_ += fmt::format("not always live: {}, with sums {}, scratch {}\nin all: {}\n",
                         size(working_), size(replicas * all.sums), size(replicas * all.scratch),
                         size(always_live_ + working_));
  }

  // Weights and slots are read and written, the gradients of all lanes are read.
  double update_bytes() const {
    const size_t lanes = static_cast<size_t>(loaded_.program().slices()) *
                         static_cast<size_t>(loaded_.placement().replicas);
    return static_cast<double>(2 * variables_.updated + lanes * compilation_.always_live.gradients);
  }

  void write_execution() {
    const runtime::ExecutionReport execution =
        runtime::execution_report(compilation_, *request_.trace,
                                  {.micro_batch_size = request_.batch_size,
                                   .update_bytes = update_bytes(),
                                   .peak = measure_peak(request_)});
    text_ += heading("execution") + runtime::to_text(execution, compilation_);
    json_["execution"] = Json::parse(runtime::to_json(execution, compilation_));
  }

  Model::Impl& impl_;
  const ProfileRequest& request_;
  const train::LoadedProgram& loaded_;
  const compiler::CompilationReport compilation_;
  const VariableBytes variables_;
  size_t always_live_ = 0;
  size_t working_ = 0;
  std::string text_;
  Json json_;
};

}  // namespace

ProfileReport Model::profile(const ProfileRequest& request) {
  const Impl::Use use(*impl_);
  return ReportWriter(*impl_, request).write();
}

ProfileFiles write_profile(Model& model, const std::string& folder, const std::string& name,
                           const ProfileRequest& request) {
  const ProfileReport report = model.profile(request);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw IoError("profile: cannot make the folder '", folder, "': ", error.message());
  const std::string start = (std::filesystem::path(folder) / name).string();
  ProfileFiles files{.text = start + "_report.txt", .json = start + "_report.json"};
  write_text(files.text, report.text);
  write_text(files.json, report.json);
  if (request.trace != nullptr) {
    files.trace = start + "_trace.json";
    profile::write_chrome_trace(*request.trace, files.trace, {.instance = {}, .run = request.run});
  }
  return files;
}

}  // namespace pando
