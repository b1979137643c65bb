// SPDX-License-Identifier: MIT
#include "pando/train/fit_loop.h"

#include <chrono>
#include <utility>

#include "pando/base/error.h"
#include "pando/train/model_impl.h"
#include "pando/train/progress.h"

namespace pando::train {

namespace {

// Hands the batches of a stream to an executor. The batch in use stays until the next one is
// asked for.
class StreamFeed {
 public:
  StreamFeed(BatchStream& stream, size_t fields, int64_t samples_per_epoch)
      : stream_(stream), addresses_(fields), samples_per_epoch_(samples_per_epoch) {}

  bool next(runtime::StepFeed& feed) {
    if (!stream_.next(batch_)) return false;
    for (size_t i = 0; i < addresses_.size(); ++i) addresses_[i] = batch_.fields[i].data();
    feed = {.fields = addresses_.data(),
            .valid = batch_.valid,
            .first_sample = batch_.epoch * samples_per_epoch_ + batch_.first_sample};
    return true;
  }

 private:
  BatchStream& stream_;
  Batch batch_;
  std::vector<const std::byte*> addresses_;
  int64_t samples_per_epoch_;
};

// Running sums of an epoch or an evaluation, and the means they stand for.
struct Sums {
  int64_t samples = 0;
  double loss = 0;
  std::vector<std::string> names;  // of the metrics
  std::vector<double> metrics;

  void add(const runtime::Executor& executor, const runtime::ExecutionTotals& totals) {
    names = executor.metric_names();
    samples += totals.samples;
    loss += totals.loss;
    metrics.resize(totals.metrics.size());
    for (size_t i = 0; i < metrics.size(); ++i) metrics[i] += totals.metrics[i];
  }
  Logs logs(const std::string& prefix = "") const {
    const double count = static_cast<double>(std::max<int64_t>(samples, 1));
    Logs logs = {{prefix + "loss", loss / count}};
    for (size_t i = 0; i < metrics.size(); ++i)
      logs.emplace_back(prefix + names[i], metrics[i] / count);
    return logs;
  }
};

constexpr int kPrefetchDepth = 4;

int64_t steps_of(const Dataset& dataset, int64_t batch) {
  return (dataset.size() + batch - 1) / batch;
}

void check_data(const char* what, const Dataset& dataset, int64_t batch) {
  if (dataset.size() == 0) throw InvalidArgument(what, ": the data set is empty");
  if (dataset.size() == kEndless)
    throw InvalidArgument(what, ": the data set is repeated without end; fit counts epochs itself");
  if (batch < 1) throw InvalidArgument(what, ": batch_size is ", batch, ", wanted at least 1");
}

Logs evaluate_with(Model::Impl& impl, const Dataset& dataset, int64_t batch, Progress* progress,
                   const std::string& prefix) {
  check_data("evaluate", dataset, batch);
  LoadedProgram& loaded = impl.program(Mode::evaluate, batch, dataset.fields());
  BatchStream stream = dataset.batch(batch).prefetch(kPrefetchDepth);
  StreamFeed feed(stream, dataset.fields().size(), dataset.size());
  const int64_t steps = steps_of(dataset, batch);
  const int64_t chunk = std::max<int64_t>(1, steps / 20);
  Sums sums;
  for (int64_t step = 0; step < steps; step += chunk) {
    sums.add(loaded.executor(),
             loaded.executor().run({.steps = chunk, .seed = impl.options.seed},
                                   [&](runtime::StepFeed& into) { return feed.next(into); }));
    if (progress != nullptr) progress->update(std::min(step + chunk, steps), sums.logs(prefix));
  }
  return sums.logs(prefix);
}

class FitLoop {
 public:
  FitLoop(Model& model, Model::Impl& impl, const Dataset& dataset, const FitOptions& options)
      : impl_(impl),
        options_(options),
        train_(dataset),
        validation_(options.validation_data),
        progress_(standard_progress(options.verbose)) {
    if (options.validation_split != 0) {
      if (validation_)
        throw InvalidArgument("fit: give validation_data or validation_split, not both");
      DatasetSplit split = dataset.split(options.validation_split);
      train_ = split.train;
      validation_ = split.validation;
    }
    check_data("fit", train_, options.batch_size);
    if (options.initial_epoch < 0 || options.epochs < options.initial_epoch) {
      throw InvalidArgument("fit: epochs is ", options.epochs, " and initial_epoch ",
                            options.initial_epoch);
    }
    context_ = {.model = &model,
                .epoch = options.initial_epoch,
                .epochs = options.epochs,
                .steps = steps_of(train_, options.batch_size)};
    if (options.carry_remainder) context_.steps = train_.size() / options.batch_size;
    if (context_.steps == 0) {
      throw InvalidArgument("fit: ", train_.size(), " samples fill no batch of ",
                            options.batch_size, " and carry_remainder allows no partial one");
    }
  }

  History run() {
    executor();  // data that do not fit are an error before the first callback
    // A fit after a fit goes on to new orders of the samples and new dropout masks.
    const int64_t first = std::max(options_.initial_epoch, impl_.epochs);
    const int64_t end = first + options_.epochs - options_.initial_epoch;
    BatchStream stream = make_stream(first, std::max(end, first + 1));
    StreamFeed feed(stream, train_.fields().size(), train_.size());
    call([&](Callback& callback) { callback.on_train_begin(context_); });
    for (int64_t epoch = options_.initial_epoch; epoch < options_.epochs && !context_.stop;
         ++epoch) {
      impl_.epochs = first + epoch - options_.initial_epoch + 1;
      run_epoch(feed, epoch);
    }
    call([&](Callback& callback) { callback.on_train_end(context_); });
    return std::move(history_);
  }

 private:
  template <typename Function>
  void call(Function function) {
    for (const auto& callback : options_.callbacks) function(*callback);
  }

  // The batches of epochs [first, end). With a carried remainder the epochs follow each other
  // without a gap, so a batch may hold the last samples of one and the first of the next.
  BatchStream make_stream(int64_t first, int64_t end) const {
    const Dataset ordered =
        options_.shuffle ? train_.shuffle({.seed = impl_.options.seed}) : train_;
    BatchStream stream =
        options_.carry_remainder
            ? ordered.repeat(end).batch(options_.batch_size).prefetch(kPrefetchDepth)
            : ordered.batch(options_.batch_size).repeat(end).prefetch(kPrefetchDepth);
    stream.restore(options_.carry_remainder
                       ? StreamState{0, first * context_.steps * options_.batch_size}
                       : StreamState{first, 0});
    return stream;
  }

  // Asked for at every execution: a callback may have frozen a layer or compiled anew.
  runtime::Executor& executor() {
    return impl_.program(Mode::train, options_.batch_size, train_.fields()).executor();
  }

  void run_epoch(StreamFeed& feed, int64_t epoch) {
    context_.epoch = epoch;
    context_.step = 0;
    context_.seconds = 0;
    progress_.begin_epoch(epoch + 1, options_.epochs, context_.steps);
    call([&](Callback& callback) { callback.on_epoch_begin(context_); });
    if (context_.stop) return;
    Sums sums;
    const int64_t wanted = impl_.compiled().steps_per_execution;
    const int64_t chunk = wanted > 0 ? wanted : std::max<int64_t>(1, context_.steps / 20);
    while (context_.step < context_.steps && !context_.stop) run_execution(feed, chunk, sums);
    Logs logs = sums.logs();
    const bool whole = context_.step >= context_.steps;
    if (validation_ && whole) {
      const int64_t batch =
          options_.validation_batch_size > 0 ? options_.validation_batch_size : options_.batch_size;
      progress_.begin_validation(steps_of(*validation_, batch));
      const Logs validation = evaluate_with(impl_, *validation_, batch, &progress_, "val_");
      logs.insert(logs.end(), validation.begin(), validation.end());
    }
    progress_.end_epoch(logs);
    history_.add(epoch, logs);
    call([&](Callback& callback) { callback.on_epoch_end(context_, logs); });
  }

  void run_execution(StreamFeed& feed, int64_t chunk, Sums& sums) {
    call([&](Callback& callback) { callback.on_execution_begin(context_); });
    runtime::Executor& device = executor();
    const auto start = std::chrono::steady_clock::now();
    const runtime::ExecutionTotals totals =
        device.run({.steps = std::min(chunk, context_.steps - context_.step),
                    .seed = impl_.options.seed,
                    .learning_rate = impl_.compiled().optimizer.learning_rate,
                    .iteration = impl_.iteration},
                   [&](runtime::StepFeed& into) { return feed.next(into); });
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    impl_.iteration += totals.finite ? totals.steps : totals.steps - 1;
    if (!totals.finite) {
      throw NonFiniteLoss(
          concat("the loss is not a finite number in epoch ", context_.epoch + 1, ", step ",
                 context_.step + totals.steps, " of ", context_.steps,
                 "; that step changed no weights. A smaller learning rate may help"));
    }
    context_.step += totals.steps;
    context_.samples = totals.samples;
    context_.seconds += took.count();
    context_.step_seconds = took.count() / static_cast<double>(std::max<int64_t>(totals.steps, 1));
    sums.add(device, totals);
    const Logs logs = sums.logs();
    progress_.update(context_.step, logs);
    call([&](Callback& callback) { callback.on_execution_end(context_, logs); });
  }

  Model::Impl& impl_;
  const FitOptions& options_;
  Dataset train_;
  std::optional<Dataset> validation_;
  Progress progress_;
  FitContext context_;
  History history_;
};

}  // namespace

History run_fit(Model& model, Model::Impl& impl, const Dataset& dataset,
                const FitOptions& options) {
  return FitLoop(model, impl, dataset, options).run();
}

Logs run_evaluate(Model::Impl& impl, const Dataset& dataset, const EvaluateOptions& options) {
  if (options.verbose == 0) return evaluate_with(impl, dataset, options.batch_size, nullptr, "");
  Progress progress(standard_progress(options.verbose));
  progress.begin_epoch(1, 1, steps_of(dataset, std::max<int64_t>(options.batch_size, 1)));
  Logs logs = evaluate_with(impl, dataset, options.batch_size, &progress, "");
  progress.end_epoch(logs);
  return logs;
}

Tensor run_predict(Model::Impl& impl, const Tensor& x, int64_t batch_size) {
  const Dataset dataset = Dataset::from_tensors(x);
  check_data("predict", dataset, batch_size);
  LoadedProgram& loaded = impl.program(Mode::predict, batch_size, dataset.fields());
  std::vector<int64_t> dims = {dataset.size()};
  const Shape& row = impl.network.output_shape();
  dims.insert(dims.end(), row.begin(), row.end());
  Tensor result(DType::f32, Shape(dims));
  BatchStream stream = dataset.batch(batch_size);
  StreamFeed feed(stream, 1, dataset.size());
  loaded.executor().run(
      {.steps = steps_of(dataset, batch_size), .seed = impl.options.seed, .results = result.data()},
      [&](runtime::StepFeed& into) { return feed.next(into); });
  return result;
}

}  // namespace pando::train
