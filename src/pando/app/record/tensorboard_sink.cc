// SPDX-License-Identifier: MIT
#include "pando/app/record/tensorboard_sink.h"

#include "pando/app/record/log_line.h"
#include "pando/base/strings.h"
#include "pando/train/model.h"

namespace pando::app {
namespace {

// Formats the text as a code block of Markdown.
std::string as_code(const std::string& text) {
  std::string code;
  for (const std::string& line : split(text, '\n')) code += "    " + line + "\n";
  return code;
}

class HistogramCallback : public Callback {
 public:
  HistogramCallback(TensorBoardSink& sink, const HistogramPlan& plan) : sink_(sink), plan_(plan) {}

  void on_train_begin(FitContext& context) override { written_ = periods(context.updates); }

  void on_execution_end(FitContext& context, const Logs&) override {
    const int64_t done = periods(context.updates);
    if (done == written_) return;
    written_ = done;
    sink_.write_histograms(context.updates * plan_.steps_per_update, *context.model);
  }

 private:
  // How many histograms are due after this many updates.
  int64_t periods(int64_t updates) const {
    return updates * plan_.per_epoch.numerator() /
           (plan_.updates_per_epoch * plan_.per_epoch.denominator());
  }

  TensorBoardSink& sink_;
  HistogramPlan plan_;
  int64_t written_ = 0;
};

}  // namespace

TensorBoardSink::TensorBoardSink(const TensorBoardOptions& options)
    : file_(options.folder, options.file) {
  const int64_t start = options.resumed_step.value_or(0);
  if (options.resumed_step) file_.restart(start + 1);
  if (!options.config_text.empty()) {
    file_.add_text(start, "configuration", as_code(options.config_text));
  }
}

void TensorBoardSink::write(const HistoryRow& row) {
  store::EventFile::Scalars scalars;
  const auto add = [&](const std::string& tag, const std::optional<double>& value) {
    if (value) scalars.emplace_back(tag, *value);
  };
  add("loss/train", row.loss);
  add("loss/validation", row.val_loss);
  add(row.metric_name + "/train", row.metric);
  add(row.metric_name + "/validation", row.val_metric);
  add("run/epoch", row.epoch);
  add("run/learning_rate", row.learning_rate);
  add("run/throughput", row.throughput);
  add("run/seconds", row.seconds);
  for (const auto& [name, value] : row.extra) scalars.emplace_back("run/" + name, value);
  file_.add_scalars(row.step, scalars);
}

void TensorBoardSink::write_histograms(int64_t step, const Model& model) {
  const std::vector<std::string> names = model.weight_names();
  const std::vector<Tensor> weights = model.get_weights();
  store::EventFile::Histograms histograms;
  for (size_t i = 0; i < names.size(); ++i) {
    const Tensor wide = cast(weights[i], DType::f32);
    histograms.emplace_back("weights/" + names[i], store::histogram_of(wide.f32()));
  }
  file_.add_histograms(step, histograms);
}

std::shared_ptr<Callback> histogram_callback(TensorBoardSink& sink, const HistogramPlan& plan) {
  return std::make_shared<HistogramCallback>(sink, plan);
}

}  // namespace pando::app
