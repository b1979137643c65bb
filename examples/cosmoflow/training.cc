// Training by `pando train`: the settings become its options, and a callback prints the lines of
// this program.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include <fmt/format.h>

#include "pando/app/job/exit_code.h"
#include "pando/app/run/job_run.h"
#include "pando/base/clock.h"
#include "run.h"

namespace cosmo {

using namespace pando;

namespace {

constexpr int64_t kWarmUpSteps = 10;
constexpr const char* kWeights = "weights.h5";

void add_optimizer_words(std::vector<std::string>& words, const Config& config) {
  const bool is_lars = config.optimizer == "lars";
  if (is_lars || config.optimizer == "sgd" || config.optimizer == "rmsprop") {
    words.push_back(fmt::format("--optimizer-params={{momentum: {}{}}}",
                                config.momentum.value_or(is_lars ? LarsOptions{}.momentum : 0),
                                is_lars ? ", weight_decay: 0, eeta: 0.001, epsilon: 0" : ""));
  }
  words.push_back("--optimizer=" + config.optimizer);
  words.push_back(fmt::format("--learning-rate={}", config.learning_rate()));
}

// The words of the command line of `pando train`. Its epoch is ours if loops divide that, otherwise
// all loops.
std::vector<std::string> words_of(const Run& run) {
  const Config& config = run.config;
  const Plan plan = make_plan(config);
  const bool by_epochs = plan.loops_per_epoch > 0;
  const int64_t loops = by_epochs ? plan.loops_per_epoch : plan.loops;
  const bool validates = run.data.validation.has_value();
  std::vector<std::string> words = {"--quiet", "--dataset=cosmoflow"};
  const auto add = [&](const char* flag, const auto& value) {
    words.push_back(fmt::format("--{}={}", flag, value));
  };
  add("model", config.model);
  add("run-dir", config.output_dir);
  add("seed", config.seed);
  add("micro-batch-size", config.micro_batch_size);
  add("num-epochs", by_epochs ? config.n_epochs : 1);
  add("weight-updates-per-epoch", loops * config.iterations_per_loop);
  add("steps-per-execution", config.iterations_per_loop);
  add("prefetch-depth", config.prefetch);
  add("shuffle", config.data == "cosmo" && config.shuffle_train);
  add_optimizer_words(words, config);
  add("ckpts-per-epoch", validates ? 1 : 0);  // validation follows checkpoints
  add("validation", validates ? "during" : "false");
  if (validates) add("keep-last", 1);
  config.data_dir ? add("dataset-path", *config.data_dir) : add("synthetic-data", "host");
  if (!dist::is_distributed()) add("num-replicas", config.replicas);
  return words;
}

// The network and the data of the configuration, which may differ from those of the zoo.
app::TrainingParts parts_of(const Run& run) {
  const Config& config = run.config;
  app::TrainingParts parts;
  parts.model = zoo_entry(config.model);
  parts.model->loss = config.loss;
  parts.model->make = [&config](const Shape&, int64_t, const ZooOptions&) {
    return make_network(config);
  };
  parts.data = TrainingData{.sets = {.train = run.data.train,
                                     .test = run.data.validation.value_or(run.data.train),
                                     .classes = config.target_shape[0]},
                            .task = "regression",
                            .fingerprint = config.data};
  parts.warm_up_updates = std::min(kWarmUpSteps, config.iterations_per_loop);
  return parts;
}

// Prints the loops, and at the end the results, before it writes the weights: a full disk must not
// lose the results.
class LoopWatch : public Callback {
 public:
  LoopWatch(const Run& run, Results& results, bool tells_epochs)
      : run_(run), results_(results), tells_epochs_(tells_epochs) {}

  void on_train_begin(FitContext& /*context*/) override {
    run_.tell(fmt::format("Duration: {:.3f} seconds", seconds_since(start_)));
    run_.tell("Executing...");
  }

  void on_epoch_begin(FitContext& /*context*/) override { seconds_ = 0; }

  void on_execution_end(FitContext& context, const Logs& /*epoch*/) override {
    results_.add_loop(context.sums.samples, context.seconds - seconds_, context.execution);
    seconds_ = context.seconds;
    if (context.validation.empty()) return;
    results_.validation.clear();
    for (const auto& [name, value] : context.validation) {
      results_.validation.emplace_back(name.substr(name.find('_') + 1), value);
    }
    if (!tells_epochs_) return;
    run_.tell(
        fmt::format("Epoch {}: validation {}", context.epoch + 1, text_of(results_.validation)));
  }

  void on_train_end(FitContext& context) override {
    results_.tell();
    run_.instances.from_first([&] {
      context.model->save_weights(run_.path(kWeights));
      return std::string();
    });
    run_.tell("Weights: " + run_.path(kWeights));
  }

 private:
  const Run& run_;
  Results& results_;
  bool tells_epochs_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double seconds_ = 0;  // of the epoch, in loops that are told
};

}  // namespace

app::TrainOptions train_options(const Run& run) {
  std::ostream nowhere(nullptr);
  return app::parse_train_options(words_of(run), nowhere).value();
}

int run_training(const Run& run) {
  const Plan plan = make_plan(run.config);
  if (const int64_t left = plan.steps % run.config.iterations_per_loop; left > 0) {
    run.tell(fmt::format("note: the epochs have {} steps, {} loops of {}; the last {} are skipped",
                         plan.steps, plan.loops, run.config.iterations_per_loop, left));
  }
  run.tell("Compiling and Warmup...");
  Results results(run);
  std::string signal;
  app::TrainingParts parts = parts_of(run);
  parts.callbacks.push_back(std::make_shared<LoopWatch>(run, results, plan.loops_per_epoch > 0));
  parts.stopped = [&](const std::string& cause) { signal = cause; };
  std::ostream nowhere(nullptr);  // the log of the run is in its folder
  int code = app::kDone;
  try {
    code = app::run_in_job([&](std::ostream&) { return train_options(run); }, nowhere, parts);
  } catch (const IoError&) {
    results.tell();
    throw;
  }
  if (code == app::kStopped) run.tell("Stopped by " + signal + " before the end");
  if (code == app::kDone) run.tell("All done!");
  return code;
}

}  // namespace cosmo
