// The implementation of Model. Owns the network, the variables, the workers and the programs made
// so far.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <tuple>

#include "pando/comm/job.h"
#include "pando/runtime/tuning/tuner.h"
#include "pando/train/metric_sums.h"
#include "pando/train/model.h"
#include "pando/train/other_sizes.h"
#include "pando/train/programs.h"

namespace pando::train {

// A compiled program with its placement and, once it is bound to memory, the executor that runs it.
class LoadedProgram {
 public:
  LoadedProgram(std::unique_ptr<const compiler::Program> program, runtime::Placement placement,
                std::vector<MetricColumn> columns)
      : program_(std::move(program)),
        placement_(std::move(placement)),
        columns_(std::move(columns)) {}
  // Takes the memory. `optimizer` is null unless it trains.
  void bind(runtime::VariableStore& variables, runtime::WorkerTeam& team,
            const Optimizer* optimizer) {
    executor_.emplace(*program_, variables, team, optimizer, placement_);
  }
  bool is_bound() const { return executor_.has_value(); }
  const compiler::Program& program() const { return *program_; }
  const runtime::Placement& placement() const { return placement_; }
  runtime::Executor& executor() { return executor_.value(); }  // requires: it is bound
  // Empty sums of its losses and metrics. Requires: it is bound.
  MetricSums metric_sums(MetricReduction reduction) const {
    return {columns_, executor_.value().metric_widths(), reduction};
  }

  // The graph after every pass that changed it, by name, until it is written at the first use.
  std::vector<std::pair<std::string, std::string>> dumps;

 private:
  std::unique_ptr<const compiler::Program> program_;
  runtime::Placement placement_;
  std::vector<MetricColumn> columns_;
  std::optional<runtime::Executor> executor_;
};

}  // namespace pando::train

namespace pando {

struct Model::Impl {
  // Held while a thread works with the model; the same thread may hold several, such as a callback
  // of its fit. Throws InvalidArgument if another thread holds one.
  class Use {
   public:
    explicit Use(Impl& impl);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    Impl& impl_;
  };

  // Takes the tensors of `given`, which has all weights, or makes random ones if it is null.
  Impl(Network network_in, ModelOptions options_in, std::map<std::string, Tensor>* given = nullptr);

  CompileOptions& compiled();  // throws InvalidArgument before compile()
  void compile(CompileOptions options_in);
  void drop_programs(RunMode mode);
  void drop_all();  // programs and workers: later programs may use other devices
  // The program for this mode and these data, compiled when first asked for; plan() takes no memory
  // for it, program() does, or throws OverMemoryLimit.
  train::LoadedProgram& plan(RunMode mode, int64_t batch, const std::vector<Field>& fields);
  train::LoadedProgram& program(RunMode mode, int64_t batch, const std::vector<Field>& fields);
  // Hands the graphs of a program to ExecutionOptions::dump_ir, once.
  void write_dumps(RunMode mode, train::LoadedProgram& loaded);
  RunMemory memory_of(const RunPart& part);
  // Throws OverMemoryLimit if memory for programs that are not bound yet is missing.
  void require(const std::vector<RunPart>& parts, const char* what);
  std::string compile_report(int64_t batch, const std::vector<Field>& fields);
  std::string memory_report(int64_t batch, const std::vector<Field>& fields);
  std::vector<std::string> layer_names() const;  // in the order of execution
  int most_workers();                            // of any device
  // Times kernels on this instance, if the options say so. tune_together() is called by all
  // instances, which then have the choices of instance 0.
  void tune(int64_t batch, const std::vector<Field>& fields);
  void tune_together(int64_t batch, const std::vector<Field>& fields);
  void set_kernel_choices(KernelChoices choices);
  std::vector<std::string> unused_kernel_choices() const;
  // Wiring::deciding_weights() with the losses and metrics of compile().
  std::vector<int> deciding_weights(const std::vector<Field>& fields);
  Verification verify(int64_t batch, const std::vector<Field>& fields);
  MeasuredSplits measure_splits(int stages, const Dataset& data, int64_t batch);
  runtime::WorkerTeam& workers();
  // The threads that prepare up to `ahead` batches: `wanted`, or if that is 0 one per core that no
  // device uses, at least one and at most one per batch. They avoid the cores of devices if there
  // are others.
  PrefetchOptions data_workers(int wanted, int ahead);
  void set_pipelining(const PipeliningOptions& options_in);
  void set_accumulation(const GradientAccumulationOptions& options_in);
  void set_replication(const ReplicationOptions& options_in);
  // How a program of this mode is placed on the devices.
  runtime::Placement placement(RunMode mode);
  // Gives all instances the weights, the optimizer's state, the counters and the seed of instance
  // 0.
  void follow_first_instance();

  // Reports values that are out of range.
  void assign(runtime::Variable& variable, const Tensor& value, LoadReport& report);
  Shape file_shape(const std::string& name) const;  // of a weight; WeightSpec::file_shape
  store::WeightsFile weights_file() const;
  LoadReport assign_weights(const store::WeightsFile& file, const LoadOptions& load);
  TrainingState training_state() const;
  LoadReport restore(const TrainingState& state);

  // What programs run: the network, or the part of it behind the layer of start_from().
  const Network& running() const { return rest ? *rest : network; }
  // Whether evaluation and prediction also see mirror images of samples.
  bool flips() const { return test_time_flip && !rest; }
  // The same for these data: predictions may be of samples of another size.
  const Network& running(RunMode mode, const std::vector<Field>& fields);
  // Drops what is kept for samples of other sizes than these; returns whether there was any.
  bool drop_other_sizes(const std::vector<Field>& fields);

  Network network;
  std::optional<Network> rest;
  ModelOptions options;
  ModelFacts facts;
  std::shared_ptr<const DeviceStrategyOptions> strategy;  // null: made outside any scope
  comm::Job job;                                          // that this process is an instance of
  PipeliningOptions pipelining;
  GradientAccumulationOptions accumulation;
  ReplicationOptions replication;
  std::set<std::string> frozen;
  bool test_time_flip = false;
  train::OtherSizes other_sizes;
  runtime::VariableStore variables;
  std::optional<CompileOptions> compile_options;
  LossScaler scaler;      // of training, as compile() says
  int64_t iteration = 0;  // weight updates since compile()
  int64_t epochs = 0;     // epochs of data drawn since compile(), or the last one's number if more
  TrainingPosition position;                // of the last fit
  std::vector<runtime::Totals> epoch_sums;  // as TrainingState has them, at `position`
  int64_t epoch_offset = 0;                 // added to its epoch numbers, gives those of the data
  std::vector<std::string> tuning_lines;    // messages about tuning that were not shown yet
  bool chooses_like_training = false;       // predictions use the kernels of training

 private:
  std::mutex use_mutex_;
  std::thread::id user_;  // guarded by use_mutex_, like uses_
  int uses_ = 0;

  void drop_predictions(const std::string& fields);
  bool pipelined(RunMode mode) const;
  // Null if the kernels of this program need not be timed.
  std::unique_ptr<runtime::Tuner> make_tuner(RunMode mode, const train::SliceDivision& division);
  const compiler::KernelDecision* decide(const compiler::TunableLayer& layer,
                                         runtime::Tuner* tuner);
  void end_tuning(runtime::Tuner& tuner);
  void note_unavailable_kernels(const compiler::Program& program);
  void check_memory(const compiler::Program& program, const runtime::Placement& place);
  train::SliceDivision division_of(int64_t batch, const ExecutionOptions& execution);
  train::GraphRequest graph_request(RunMode mode, int64_t slice_batch,
                                    const std::vector<Field>& fields);

  using Key = std::tuple<RunMode, int64_t, std::string>;
  std::unique_ptr<runtime::WorkerTeam> team_;
  std::vector<int> threads_beside_;  // hardware threads that no device is pinned to
  int cores_beside_ = 0;
  std::map<Key, std::unique_ptr<train::LoadedProgram>> programs_;
  std::map<std::string, compiler::KernelDecision, std::less<>> decisions_;  // by layer_key()
  // The programs of training that were tuned: batch size, fields and frozen layers.
  using TunedProgram = std::tuple<int64_t, std::string, std::set<std::string>>;
  std::set<TunedProgram> tuned_;               // by this instance
  std::set<TunedProgram> agreed_;              // together with the other instances
  bool may_measure_ = false;                   // while tune() compiles
  std::set<std::string> unavailable_kernels_;  // that were chosen for layers of training
};

}  // namespace pando
