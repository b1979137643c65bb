// SPDX-License-Identifier: MIT
#include "pando/app/run/exchange_log.h"

#include <fmt/core.h>

#include "pando/base/strings.h"

namespace pando::app {

namespace {

class ExchangeLog : public Callback {
 public:
  explicit ExchangeLog(RunLog& log) : log_(log) {}

  void on_train_begin(FitContext& context) override {
    updates_before_ = context.updates;
    updates_ = 0;
    total_ = {};
    seconds_ = 0;
  }
  void on_epoch_begin(FitContext&) override { epoch_seconds_ = 0; }

  void on_execution_end(FitContext& context, const Logs&) override {
    const bool is_first = total_.bytes_sent == 0;
    total_.add(context.exchange);
    seconds_ += context.seconds - epoch_seconds_;
    epoch_seconds_ = context.seconds;
    updates_ = context.updates - updates_before_;
    if (!is_first || total_.bytes_sent == 0 || updates_ == 0) return;
    log_.directory().log(fmt::format("an instance sends {} per weight update", per_update()));
  }

  void on_train_end(FitContext&) override {
    if (total_.bytes_sent == 0 || updates_ == 0) return;
    log_.say(
        fmt::format("exchange between instances: each sent {} per weight update; devices only "
                    "waited for it {:.2f} ms per weight update, {:.1f} % of the training time",
                    per_update(), 1e3 * total_.exposed_seconds / static_cast<double>(updates_),
                    100 * total_.exposed_seconds / seconds_));
  }

 private:
  std::string per_update() const {
    return human_bytes(static_cast<double>(total_.bytes_sent) / static_cast<double>(updates_));
  }

  RunLog& log_;
  runtime::ExchangeFigures total_;
  int64_t updates_before_ = 0;
  int64_t updates_ = 0;
  double seconds_ = 0;
  double epoch_seconds_ = 0;  // the part of this epoch that seconds_ already contains
};

}  // namespace

std::shared_ptr<Callback> exchange_log(RunLog& log) { return std::make_shared<ExchangeLog>(log); }

}  // namespace pando::app
