// SPDX-License-Identifier: MIT
#include "pando/app/run/row_sinks.h"

#include "pando/app/record/wandb_sink.h"
#include "pando/base/strings.h"

namespace pando::app {

RowSinks make_row_sinks(const LoggingFlags& flags, const SinkRequest& request) {
  RowSinks sinks;
  if (flags.tensorboard) {
    auto sink =
        std::make_unique<TensorBoardSink>(TensorBoardOptions{.folder = request.folder,
                                                             .config_text = request.config_text,
                                                             .resumed_step = request.resumed_step});
    sinks.tensorboard = sink.get();
    sinks.all.push_back(std::move(sink));
  }
  if (flags.wandb) {
    const std::filesystem::path path = request.folder / "wandb.jsonl";
    const bool named = !flags.wandb_run_name.empty();
    sinks.all.push_back(std::make_unique<WandbSink>(
        WandbOptions{.path = path,
                     .run_name = named ? flags.wandb_run_name
                                       : wandb_run_name(request.model, request.dataset, 0),
                     .tags = flags.wandb_tags,
                     .config_text = request.config_text,
                     .resumed_step = request.resumed_step}));
    sinks.notes.push_back(
        concat("--wandb: nothing is sent to any service; the record is in ", path.string()));
  }
  return sinks;
}

}  // namespace pando::app
