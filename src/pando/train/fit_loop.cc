// SPDX-License-Identifier: MIT
#include "pando/train/fit_loop.h"

#include <chrono>
#include <utility>

#include "pando/base/checked.h"
#include "pando/base/clock.h"
#include "pando/base/error.h"
#include "pando/comm/collectives.h"
#include "pando/train/batch_source.h"
#include "pando/train/class_weight.h"
#include "pando/train/epoch_plan.h"
#include "pando/train/evaluation.h"
#include "pando/train/fit_check.h"
#include "pando/train/metric_sums.h"
#include "pando/train/model_impl.h"
#include "pando/train/progress.h"
#include "pando/train/step_watch.h"
#include "pando/train/ticker.h"

namespace pando::train {

namespace {

class FitLoop {
 public:
  FitLoop(Model& model, Model::Impl& impl, const Dataset& dataset, const FitOptions& options)
      : impl_(impl),
        options_(options),
        train_(dataset),
        validation_(options.validation_data),
        progress_(standard_progress(impl.job.is_first() ? options.verbose : 0)) {
    if (options.validation_split != 0) {
      if (validation_)
        throw InvalidArgument("fit: give validation_data or validation_split, not both");
      DatasetSplit split = dataset.split(options.validation_split);
      train_ = split.train;
      validation_ = split.validation;
    }
    train_ = with_class_weight(train_, impl.running(), options.class_weight);
    check_fit(train_, options);
    if (validation_) check_finite("fit: validation_data", *validation_);
    context_ = {.model = &model, .epoch = options.initial_epoch, .epochs = options.epochs};
    context_.tell = [this](std::string_view line) { progress_.message(line); };
  }

  History run() {
    impl_.tune_together(options_.batch_size, train_.fields());
    impl_.require(parts(), "fit");
    LoadedProgram& loaded = program();  // data that do not fit are an error before any callback
    const runtime::Placement placement = loaded.placement();
    for (const std::string& line : std::exchange(impl_.tuning_lines, {})) progress_.message(line);
    expect_same_fit(placement);
    make_plan(placement);
    impl_.follow_first_instance();
    context_.updates = impl_.iteration;
    // A second fit continues with new orders of the samples and new dropout masks. A state from
    // within joined epochs counts those of them that are done.
    const int64_t joined_done = options_.initial_update / updates_of_an_epoch();
    const int64_t first = std::max(options_.initial_epoch, impl_.epochs - joined_done);
    impl_.epoch_offset = first - options_.initial_epoch;
    begin_at_initial_position();
    // If samples vary, the micro-batches of an update are counted before it begins.
    const int depth = placement.samples_vary
                          ? std::max(options_.prefetch_depth, placement.micro_batches)
                          : options_.prefetch_depth;
    const int ahead = depth * placement.replicas;
    BatchStream stream = make_stream(first, ahead, placement);
    const int64_t done = first * epoch_samples() + samples_before(options_.initial_update);
    const ClassCheck check = class_check("fit", impl_, train_);
    runtime::InfeedQueue infeed(options_.same_batch ? repeating(stream, done, check)
                                                    : numbered(stream, train_.size(), check),
                                ahead);
    progress_.expect_validation(
        {.steps_per_epoch = validation_ ? batches_of(*validation_, options_.batch_size) : 0,
         .steps_at_end = options_.validation_steps_to_follow});
    call([&](Callback& callback) { callback.on_train_begin(context_); });
    for (int64_t epoch = options_.initial_epoch; epoch < options_.epochs;
         epoch += options_.joined_epochs) {
      context_.stop = agreed(context_.stop || stop_wanted());
      if (context_.stop) break;
      impl_.epochs = epoch + impl_.epoch_offset + options_.joined_epochs;
      run_epoch(infeed, epoch);
    }
    call([&](Callback& callback) { callback.on_train_end(context_); });
    return std::move(history_);
  }

 private:
  template <typename Function>
  void call(Function function) {
    for (const auto& callback : options_.callbacks) function(*callback);
  }

  // Instances that train in different ways would wait for each other forever, or average gradients
  // that do not belong together.
  void expect_same_fit(const runtime::Placement& placement) const {
    if (impl_.job.communicator == nullptr) return;
    const int64_t validated = validation_ ? validation_->size() : 0;
    const std::string scaling = to_string(impl_.compiled().loss_scaling);
    comm::expect_same(
        *impl_.job.communicator, "fit",
        concat(train_.size(), shuffles() ? " shuffled samples, " : " samples in order, ", validated,
               " to validate, epochs ", options_.initial_epoch, " to ", options_.epochs,
               " from update ", options_.initial_update, ", ", placement.replicas, " replicas x ",
               placement.micro_batches, " micro-batches of ", options_.batch_size, " in precision ",
               to_string(impl_.compiled().precision),
               scaling == "none" ? "" : ", loss scaling " + scaling));
  }

  // Throws when no weight update fits, or when the fit would begin after the end of an epoch.
  void make_plan(const runtime::Placement& placement) {
    plan_.emplace(
        EpochShape{.samples = train_.size(),
                   .micro_batch = options_.batch_size,
                   .replicas = placement.total_replicas(),
                   .accumulation = placement.micro_batches,
                   .whole_updates = carries_remainder(options_) || options_.drop_remainder,
                   .updates = joined_updates(placement),
                   .steps_per_execution = impl_.compiled().steps_per_execution});
    context_.steps = plan_->elements();
    if (context_.steps == 0) {
      throw InvalidArgument("fit: ", train_.size(), " samples do not fill a weight update of ",
                            options_.batch_size, " x ", placement.total_replicas(), " replicas x ",
                            placement.micro_batches,
                            " micro-batches; use a smaller batch_size, or neither carry_remainder "
                            "nor drop_remainder");
    }
    const int64_t updates = plan_->updates();
    if (options_.initial_update < 0 || options_.initial_update >= updates) {
      throw InvalidArgument("fit: initial_update: expected 0 to ", updates - 1, " (an epoch has ",
                            updates, " weight updates), got ", options_.initial_update);
    }
  }

  // The weight updates of the epochs that are joined; 0: as many as the samples fill.
  int64_t joined_updates(const runtime::Placement& placement) const {
    const int64_t wanted = wanted_updates(options_, placement.micro_batches);
    if (options_.joined_epochs == 1) return wanted;
    const int64_t filled =
        train_.size() /
        checked_product("fit: the global batch",
                        {options_.batch_size, placement.total_replicas(), placement.micro_batches});
    return checked_product("fit: the weight updates of joined epochs",
                           {options_.joined_epochs, wanted > 0 ? wanted : filled});
  }

  int64_t updates_of_an_epoch() const { return plan_->updates() / options_.joined_epochs; }
  int64_t epoch_samples() const { return plan_->samples() / options_.joined_epochs; }

  // The samples of an epoch, or of joined epochs, before an update.
  int64_t samples_before(int64_t update) const { return update * plan_->first().samples; }

  // Sets the position after `update` weight updates of the epochs that begin with `epoch`.
  void set_position(int64_t epoch, int64_t update) {
    const int64_t each = updates_of_an_epoch();
    impl_.position = {epoch + update / each, update % each};
  }

  // The sums of a begun epoch belong to the position where it was left.
  void begin_at_initial_position() {
    const TrainingPosition before = impl_.position;
    set_position(options_.initial_epoch, options_.initial_update);
    if (impl_.position != before || options_.initial_update == 0) impl_.epoch_sums.clear();
  }

  void count_updates(int64_t before, int64_t done) {
    impl_.iteration += done;
    set_position(context_.epoch, before + done);
  }

  // Data without end keep their own order.
  bool shuffles() const { return options_.shuffle && train_.size() != kEndless; }

  // The batches from epoch `first` on, after the updates that are done. With a carried remainder
  // the epochs follow each other without a gap, so a batch may hold the last samples of one and the
  // first of the next.
  BatchStream make_stream(int64_t first, int ahead, const runtime::Placement& placement) const {
    const BatchShare share = share_of(placement);
    const auto last = sum_of({first, options_.epochs, -options_.initial_epoch});
    if (!last) throw InvalidArgument("fit: epochs: ", options_.epochs, " is too large");
    const int64_t end = std::max(*last, first + 1);
    const int64_t skipped = samples_before(options_.initial_update);
    const int64_t all = checked_product("fit: the samples of all epochs", {end, epoch_samples()});
    // One batch needs no threads.
    const PrefetchOptions workers =
        impl_.data_workers(options_.same_batch ? 1 : options_.data_workers, ahead);
    if (options_.same_batch) ahead = 0;
    const Dataset ordered = shuffles() ? train_.shuffle({.seed = impl_.options.seed}) : train_;
    if (carries_remainder(options_)) {
      const int64_t passes = all / train_.size() + 1;
      BatchStream stream =
          ordered.repeat(passes).batch(options_.batch_size).share(share).prefetch(ahead, workers);
      // A repeated batch is the same one after an interruption too.
      if (!options_.same_batch) stream.restore({0, first * epoch_samples() + skipped});
      return stream;
    }
    // Dropping cuts the order of an epoch, so the samples that are left out change with it.
    const Dataset whole = options_.drop_remainder ? ordered.take(plan_->samples()) : ordered;
    BatchStream stream =
        whole.batch(options_.batch_size).repeat(end).share(share).prefetch(ahead, workers);
    stream.restore({first, skipped});
    return stream;
  }

  // What will be in memory at once.
  std::vector<RunPart> parts() const {
    std::vector<RunPart> parts = {{.mode = RunMode::train,
                                   .batch_size = options_.batch_size,
                                   .fields = train_.fields(),
                                   .prefetch_depth = options_.prefetch_depth,
                                   .data_workers = options_.data_workers,
                                   .same_batch = options_.same_batch}};
    if (validation_) {
      parts.push_back({.mode = RunMode::evaluate,
                       .batch_size = validation_batch(),
                       .fields = validation_->fields(),
                       .data_workers = options_.data_workers});
    }
    return parts;
  }
  int64_t validation_batch() const {
    return options_.validation_batch_size > 0 ? options_.validation_batch_size
                                              : options_.batch_size;
  }

  // Looked up at every execution: a callback may have frozen a layer or called compile().
  LoadedProgram& program() {
    return impl_.program(RunMode::train, options_.batch_size, train_.fields());
  }

  void run_epoch(runtime::InfeedQueue& infeed, int64_t epoch) {
    const int64_t begin = epoch == options_.initial_epoch ? options_.initial_update : 0;
    const int64_t first_step = begin * plan_->first().elements;
    context_.epoch = epoch;
    context_.step = first_step;
    context_.seconds = 0;
    progress_.begin_epoch(epoch + begin / updates_of_an_epoch() + 1, options_.epochs,
                          context_.steps, first_step, epoch + options_.joined_epochs);
    call([&](Callback& callback) { callback.on_epoch_begin(context_); });
    context_.stop = agreed(context_.stop);
    if (context_.stop) return;
    MetricSums sums = program().metric_sums(impl_.replication.metrics);
    sums.restore(impl_.epoch_sums);
    const int64_t updates = plan_->updates();
    for (int64_t update = begin; update < updates && !context_.stop;) {
      update += run_execution(infeed, update, sums);
      if (update >= updates) impl_.epoch_sums.clear();
    }
    if (context_.step == first_step) return;  // stopped before its first update
    Logs logs = logs_of(sums);
    logs.insert(logs.end(), context_.validation.begin(), context_.validation.end());
    progress_.end_epoch(logs);
    history_.add(epoch + options_.joined_epochs - 1, logs);
    call([&](Callback& callback) { callback.on_epoch_end(context_, logs); });
  }

  // Runs the execution that begins with `update`; returns how many updates it made.
  int64_t run_execution(runtime::InfeedQueue& infeed, int64_t update, MetricSums& sums) {
    call([&](Callback& callback) { callback.on_execution_begin(context_); });
    LoadedProgram& loaded = program();
    runtime::Executor& devices = loaded.executor();
    runtime::Execution execution{.updates = next_updates(update),
                                 .micro_batch_size = options_.batch_size,
                                 .seed = impl_.options.seed,
                                 .learning_rate = impl_.compiled().optimizer.learning_rate,
                                 .iteration = impl_.iteration,
                                 .scaling = &impl_.scaler,
                                 .stop = [this] { return stop_wanted(); },
                                 .keep_last_step = wants_outfeed(),
                                 .keep_steps = options_.outfeed == OutfeedMode::all,
                                 .trace = options_.trace};
    const auto start = std::chrono::steady_clock::now();
    runtime::ExecutionTotals totals;
    try {
      const std::optional<Ticker> ticker = progress_of(devices, sums);
      totals = run_watched(devices, execution, infeed);
    } catch (...) {
      count_updates(update, devices.updates_done());  // they are in the weights
      throw;
    }
    const double took = seconds_since(start);
    count_updates(update, totals.updates);
    if (!totals.finite) throw_not_finite(totals);
    note(totals, took, devices, execution);
    MetricSums own = program().metric_sums(impl_.replication.metrics);
    own.add(totals);
    context_.sums = own.sums();
    context_.execution = logs_of(own);
    sums.add(totals);
    impl_.epoch_sums = sums.totals();
    const Logs logs = logs_of(sums);
    progress_.update(context_.step, logs);
    validate_if_due();
    call([&](Callback& callback) { callback.on_execution_end(context_, logs); });
    context_.stop = agreed(context_.stop || (options_.stop != nullptr && *options_.stop));
    return totals.updates;
  }

  // A stop ends the validation without a result, so that the weights are saved soon.
  void validate_if_due() {
    context_.validation.clear();
    const bool epoch_ends = context_.step >= context_.steps;
    const bool due =
        validation_ && (options_.validate_at ? options_.validate_at(impl_.position) : epoch_ends);
    if (!due || agreed(context_.stop || stop_wanted())) return;
    struct Stopped {};
    const int64_t batch = validation_batch();
    progress_.begin_validation(batches_of(*validation_, batch));
    try {
      context_.validation = evaluate_with(impl_, *validation_,
                                          {.batch = batch,
                                           .data_workers = options_.data_workers,
                                           .progress = &progress_,
                                           .prefix = "val_",
                                           .on_execution_end = [this](int64_t, const Logs&) {
                                             if (agreed(stop_wanted())) throw Stopped();
                                           }});
    } catch (const Stopped&) {
    }
    if (!epoch_ends) progress_.end_validation();
  }

  // Sets what callbacks see of an execution.
  void note(const runtime::ExecutionTotals& totals, double seconds,
            const runtime::Executor& devices, const runtime::Execution& execution) {
    const int64_t replicas = devices.bound().placement().total_replicas();
    const int64_t steps_before = context_.step / replicas;
    context_.step += totals.elements;
    context_.updates = impl_.iteration;
    context_.exchange = totals.exchange;
    context_.seconds += seconds;
    context_.step_seconds = seconds / static_cast<double>(std::max<int64_t>(totals.elements, 1));
    if (execution.keep_steps || execution.keep_last_step) {
      fill_outfeed(devices, steps_before, (totals.elements + replicas - 1) / replicas,
                   options_.outfeed == OutfeedMode::all);
    }
    context_.outfeed = &outfeed_;
    if (totals.updates < static_cast<int64_t>(execution.updates.size())) context_.stop = true;
  }

  // Includes the loss scaling factor of the next weight update.
  Logs logs_of(const MetricSums& sums) const {
    Logs logs = sums.logs();
    if (impl_.scaler.automatic()) {
      logs.emplace_back("loss_scaling_factor", impl_.scaler.state().factor);
    }
    return logs;
  }

  // Whether it is true on any instance.
  bool agreed(bool own) const {
    return impl_.job.communicator == nullptr ? own : comm::any(*impl_.job.communicator, own);
  }

  std::span<const runtime::UpdatePlan> next_updates(int64_t update) const {
    if (!options_.updates_per_execution) return plan_->execution(update);
    return plan_->execution(update,
                            std::max<int64_t>(1, options_.updates_per_execution(impl_.position)));
  }

  // Moves the progress bar within a long execution, with the values from before it.
  std::optional<Ticker> progress_of(const runtime::Executor& devices, const MetricSums& sums) {
    if (options_.verbose != 1 || !impl_.job.is_first()) return std::nullopt;
    const int64_t replicas = devices.bound().placement().total_replicas();
    return std::optional<Ticker>(
        std::in_place, std::chrono::milliseconds(250),
        [this, &devices, logs = context_.sums.samples > 0 ? logs_of(sums) : Logs(), replicas] {
          const int64_t done = devices.steps_done() * replicas;
          if (done > 0) progress_.update(context_.step + done, logs);
        });
  }

  bool wants_outfeed() const { return !options_.callbacks.empty(); }

  // Whether the user's flag or an asynchronous callback asks for a stop.
  bool stop_wanted() const { return watch_stop_ || (options_.stop != nullptr && *options_.stop); }

  runtime::ExecutionTotals run_watched(runtime::Executor& devices, runtime::Execution& execution,
                                       runtime::InfeedQueue& infeed) {
    if (!options_.asynchronous_callbacks) return devices.run(execution, infeed);
    execution.keep_steps = true;
    const int replicas = devices.bound().placement().replicas;
    const int64_t all_replicas = devices.bound().placement().total_replicas();
    const int64_t before = context_.step / all_replicas;
    FitContext context = context_;  // the host's own one changes meanwhile
    const LoadedProgram& loaded = program();
    StepWatch watch(devices, [&](int64_t step) {
      std::vector<runtime::Totals> values;
      for (int replica = 0; replica < replicas; ++replica) {
        values.push_back(devices.step_values(step, replica));
      }
      MetricSums sums = loaded.metric_sums(impl_.replication.metrics);
      sums.add(values);
      context.step = before + step;
      const Logs logs = sums.logs();
      for (const auto& callback : options_.callbacks) callback->on_step_end(context, logs);
      if (context.stop) watch_stop_ = true;
    });
    execution.stop = [&] { return stop_wanted() || watch.failed(); };
    runtime::ExecutionTotals totals = devices.run(execution, infeed);
    watch.finish((totals.elements + all_replicas - 1) / all_replicas);
    if (watch_stop_) context_.stop = true;
    return totals;
  }

  void fill_outfeed(const runtime::Executor& devices, int64_t before, int64_t steps, bool all) {
    outfeed_.clear();
    const int replicas = devices.bound().placement().replicas;
    const int first = devices.bound().placement().first_replica();
    for (int64_t step = all ? 0 : std::max<int64_t>(steps - 1, 0); step < steps; ++step) {
      for (int replica = 0; replica < replicas; ++replica) {
        const runtime::Totals values = devices.step_values(step, replica);
        if (values.samples == 0) continue;  // padding at the end of the data
        MetricSums sums = program().metric_sums(MetricReduction::mean);
        sums.add({values});
        outfeed_.push_back({before + step, first + replica, sums.logs()});
      }
    }
  }

  [[noreturn]] void throw_not_finite(const runtime::ExecutionTotals& totals) const {
    const CompileOptions& compiled = impl_.compiled();
    const bool overflows = compiled.precision.half() && compiled.half.nan_on_overflow;
    const bool scaled = impl_.scaler.automatic() || impl_.scaler.factor() != 1 || overflows;
    throw NonFiniteLoss(concat("the loss is not a finite number in epoch ", context_.epoch + 1,
                               ", step ", context_.step + totals.elements + 1, " of ",
                               context_.steps,
                               "; its weight update was not made. A smaller learning rate ",
                               scaled ? "or a smaller loss scaling " : "", "may help"));
  }

  Model::Impl& impl_;
  const FitOptions& options_;
  Dataset train_;
  std::optional<Dataset> validation_;
  Progress progress_;
  std::optional<EpochPlan> plan_;
  FitContext context_;
  std::vector<StepValues> outfeed_;
  std::atomic<bool> watch_stop_{false};
  History history_;
};

}  // namespace

History run_fit(Model& model, Model::Impl& impl, const Dataset& dataset,
                const FitOptions& options) {
  return FitLoop(model, impl, dataset, options).run();
}

}  // namespace pando::train
