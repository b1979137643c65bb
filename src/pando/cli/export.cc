// `pando export`: writes a trained network for other software.
// SPDX-License-Identifier: MIT
#include <chrono>
#include <ctime>
#include <filesystem>
#include <iostream>

#include <fmt/chrono.h>
#include <fmt/core.h>

#include "pando/app/job/exit_code.h"
#include "pando/app/run/trained_model.h"
#include "pando/base/paths.h"
#include "pando/cli/program.h"
#include "pando/cli/trained_flags.h"
#include "pando/train/safetensors_weights.h"

namespace pando::cli {

namespace {

constexpr const char* kExportHelpHead = R"(usage: pando export [WHAT] -o FILE [flags]

Writes a network with its weights, the names of its classes and how pictures are prepared for it.
WHAT is the directory of a run, a checkpoint, a file of weights (with --model) or a model file;
without it, the network has random weights. Flags of 'pando train' that concern only training are
accepted and ignored, because configuration files contain them.

examples:
  pando export runs/mnist_cnn-20261116-050000 -o mnist.onnx
  pando export runs/a/checkpoints/epoch_3.0.h5 -o epoch3.onnx --opset 11 --half
  pando export weights.h5 --model resnet50 -o resnet50.onnx
  pando export runs/photos -o photos.safetensors --names torchvision

exit codes: 0 done, 1 failed, 2 wrong flag or configuration.

)";

struct ExportFlags {
  std::string what;
  std::string output;
  std::string format;
  std::vector<std::string> labels;
  SaveModelOptions save;
  WeightNames names = WeightNames::pando;
  app::WhichCheckpoint which = app::WhichCheckpoint::best_or_newest;
};

constexpr const char* kSafetensors = "safetensors";

void check_output(const std::string& output) {
  if (output.empty()) {
    throw UsageError("--output: not given, expected the file to write: -o model.onnx");
  }
  const std::filesystem::path folder = std::filesystem::path(output).parent_path();
  if (is_folder(output)) {
    throw UsageError("--output: '", output, "' is a folder; expected the path of a file");
  }
  if (!folder.empty() && !is_folder(folder)) {
    throw UsageError("--output: the folder '", folder.string(),
                     "' does not exist; create it, or use another path");
  }
}

// The kind of model files to write; null: weights only, as safetensors. Throws InvalidArgument.
const ModelFileKind* format_of(const ExportFlags& flags) {
  check_output(flags.output);
  const bool is_weights =
      flags.format.empty() ? flags.output.ends_with(".safetensors") : flags.format == kSafetensors;
  if (is_weights && flags.save.opset > 0) {
    throw UsageError("--opset: only ONNX files have one; remove it");
  }
  if (!is_weights && flags.names != WeightNames::pando) {
    throw UsageError("--names: only for --format safetensors; remove it");
  }
  if (is_weights) return nullptr;
  if (!flags.format.empty()) return &kind_to_write("." + flags.format);
  try {
    return &kind_to_write(flags.output);
  } catch (const InvalidArgument& error) {
    throw UsageError("--output: ", error.what(), "; weights only: safetensors (.safetensors)");
  }
}

// A run resumes from its checkpoints, so none of them becomes something else.
void refuse_checkpoint(const std::string& output, const std::string& source) {
  std::error_code unknown;
  if (is_model_file(source) || !std::filesystem::equivalent(output, source, unknown)) return;
  throw UsageError("--output: '", output, "' is the checkpoint that is read; use another path");
}

std::string now() {
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(seconds));
}

}  // namespace

int command_export(std::span<const std::string> args, std::ostream& out) {
  ExportFlags flags;
  TrainFlagTable train;
  OptionTable& table = train.table;
  table.add_positional("WHAT", flags.what,
                       "the directory of a run, a checkpoint, a file of weights or a model file",
                       false);
  table.begin_group("Export");
  table.add("output", flags.output, "the file to write; also -o").with_hint("FILE");
  std::vector<std::pair<std::string, std::string>> formats;
  for (const ModelFileKind& kind : model_file_kinds()) {
    if (kind.save != nullptr) formats.emplace_back(kind.name, kind.suffixes[0].substr(1));
  }
  formats.emplace_back(kSafetensors, kSafetensors);
  table.add_choice(
      "format", flags.format, std::move(formats),
      "the kind of file; by default, what the suffix of --output says. safetensors has "
      "only weights");
  table.add_choice("names", flags.names,
                   {{"pando", WeightNames::pando}, {"torchvision", WeightNames::torchvision}},
                   "names and layout of the weights in a safetensors file: ours, or those of the "
                   "network that torchvision has too");
  table
      .add("opset", flags.save.opset,
           "version of the operators of an ONNX file, 9 to 17; 0: 13 or, if layers need it, 17")
      .with_hint("N")
      .at_least(0)
      .at_most(17);
  table.add("half", flags.save.half, "store the weights in 16 bits: half the size");
  add_checkpoint_choice(table, flags.which);
  train.add();
  if (!train.parse(args, out, kExportHelpHead)) return app::kDone;

  const ModelFileKind* format = format_of(flags);
  app::TrainedModel trained = app::open_trained_model(
      flags.what, {.which = flags.which, .table = &table, .flags = &train.options});
  refuse_checkpoint(flags.output, trained.source);
  if (trained.source.empty()) {
    std::cerr << "pando: warning: no checkpoint was given: the weights of " << trained.model.name()
              << " are random\n";
  }
  ModelFacts facts = trained.model.facts();
  facts.origin.date = now();
  trained.model.set_facts(facts);
  if (format != nullptr) {
    format->save(trained.model, flags.output, flags.save);
  } else {
    save_safetensors(trained.model, flags.output, {.names = flags.names, .half = flags.save.half});
  }
  std::error_code unknown;
  const auto bytes = std::filesystem::file_size(flags.output, unknown);
  out << fmt::format("{}: {}, {}, {} parameters{}\n", flags.output,
                     format == nullptr ? "safetensors" : format->title,
                     human_bytes(static_cast<double>(bytes)),
                     with_thousands(trained.model.network().parameters()),
                     trained.source.empty() ? "" : ", weights of " + trained.source);
  return app::kDone;
}

}  // namespace pando::cli
