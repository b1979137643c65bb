// SPDX-License-Identifier: MIT
#include "pando/train/early_stopping.h"

#include <algorithm>
#include <limits>

#include "pando/base/error.h"
#include "pando/nn/losses.h"
#include "pando/train/model.h"

namespace pando {
namespace {

constexpr std::string_view kValidation = "val_";

bool watches_upwards(const EarlyStoppingOptions& options) {
  if (options.mode != MonitorMode::automatic) return options.mode == MonitorMode::max;
  return larger_is_better(options.monitor);
}

std::vector<std::string> names_of(const Logs& logs) {
  std::vector<std::string> names;
  for (const auto& entry : logs) names.push_back(entry.first);
  return names;
}

class EarlyStoppingCallback : public Callback {
 public:
  explicit EarlyStoppingCallback(EarlyStoppingOptions options) : options_(std::move(options)) {
    if (options_.patience < 0) {
      throw InvalidArgument("EarlyStopping: patience: expected 0 or more epochs, got ",
                            options_.patience);
    }
    if (!(options_.min_delta >= 0)) {
      throw InvalidArgument("EarlyStopping: min_delta: expected 0 or more, got ",
                            options_.min_delta);
    }
  }

  void on_train_begin(FitContext& context) override {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    best_ = watches_upwards(options_) ? -kInfinity : kInfinity;
    best_epoch_ = -1;
    wait_ = 0;
    checked_ = stopped_ = false;
    best_weights_.clear();
    for (const auto& [epoch, value] : options_.earlier) {
      stopped_ = !see(epoch, value) && runs_out(epoch);
    }
    if (!stopped_) return;
    context.stop = true;  // the fit that is continued had already stopped
    tell(context, concat("early stopping: the best ", options_.monitor, ", ", best_,
                         ", was in epoch ", best_epoch_ + 1, ", and the patience has run out"));
  }

  // Checks early: a misspelt name must not cost an epoch.
  void on_execution_end(FitContext&, const Logs& logs) override {
    if (checked_) return;
    checked_ = true;
    std::string_view name = options_.monitor;
    if (name.starts_with(kValidation)) name.remove_prefix(kValidation.size());
    if (find_value(logs, name)) return;
    std::vector<std::string> known = names_of(logs);
    for (const auto& entry : logs) known.push_back(concat(kValidation, entry.first));
    throw InvalidArgument("EarlyStopping: ",
                          unknown_name_message("figure", options_.monitor, known));
  }

  void on_epoch_end(FitContext& context, const Logs& logs) override {
    if (context.stop) return;  // the epoch is not whole
    const std::optional<double> value = find_value(logs, options_.monitor);
    if (!value) {
      throw InvalidArgument(
          "EarlyStopping: ", unknown_name_message("figure", options_.monitor, names_of(logs)),
          "; the fit has no validation data");
    }
    if (see(context.epoch, *value)) {
      if (options_.restore_best) best_weights_ = context.model->get_weights();
      return;
    }
    if (!runs_out(context.epoch)) return;
    stopped_ = true;
    context.stop = true;
    tell(context, concat("early stopping after epoch ", context.epoch + 1, ": ", options_.monitor,
                         " was ", *value, ", the best was ", best_, " in epoch ", best_epoch_ + 1));
  }

  void on_train_end(FitContext& context) override {
    const bool whole = context.epoch + 1 >= context.epochs && context.step >= context.steps;
    if (!options_.restore_best || best_epoch_ < 0 || !(stopped_ || whole)) return;
    if (best_weights_.empty()) {
      tell(context,
           concat("the best epoch, ", best_epoch_ + 1,
                  ", was before this fit began; the weights remain those of the last epoch"));
      return;
    }
    if (context.epoch != best_epoch_) {  // the last weights may be the best
      context.model->set_weights(best_weights_);
      tell(context, concat("restored the weights of epoch ", best_epoch_ + 1));
    }
    if (options_.at_best) options_.at_best(*context.model, best_epoch_);
  }

 private:
  bool is_better(double value, double than) const {
    return watches_upwards(options_) ? value - options_.min_delta > than
                                     : value + options_.min_delta < than;
  }

  // Whether the fit ends after an epoch without an improvement.
  bool runs_out(int64_t epoch) const { return wait_ >= options_.patience && epoch > 0; }

  // Counts an epoch; returns whether it is the best so far.
  bool see(int64_t epoch, double value) {
    ++wait_;
    if (!is_better(value, best_)) return false;
    best_ = value;
    best_epoch_ = epoch;
    best_weights_.clear();
    if (!options_.baseline || is_better(value, *options_.baseline)) wait_ = 0;
    return true;
  }

  void tell(const FitContext& context, const std::string& line) const {
    if (options_.tell) {
      options_.tell(line);
    } else if (context.tell) {
      context.tell(line);
    }
  }

  EarlyStoppingOptions options_;
  double best_ = 0;
  int64_t best_epoch_ = -1;  // from 0
  int64_t wait_ = 0;         // epochs since the last improvement
  bool checked_ = false;     // the name of the figure was checked
  bool stopped_ = false;     // by this callback
  std::vector<Tensor> best_weights_;
};

}  // namespace

std::shared_ptr<Callback> EarlyStopping(EarlyStoppingOptions options) {
  return std::make_shared<EarlyStoppingCallback>(std::move(options));
}

}  // namespace pando
