// `pando export`: writes a trained network for other software.
// SPDX-License-Identifier: MIT
#include <chrono>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <optional>

#include <fmt/chrono.h>
#include <fmt/core.h>

#include "pando/app/job/exit_code.h"
#include "pando/app/run/example_pictures.h"
#include "pando/app/run/export_version.h"
#include "pando/app/run/trained_model.h"
#include "pando/cli/program.h"
#include "pando/cli/trained_flags.h"
#include "pando/options/output_place.h"
#include "pando/train/safetensors_weights.h"

namespace pando::cli {

namespace {

constexpr const char* kExportHelpHead = R"(usage: pando export [WHAT] -o FILE [flags]
       pando export [WHAT] --export-dir BASE [flags]

Writes a network with its weights, the names of its classes and how pictures are prepared for it.
WHAT is the directory of a run, a checkpoint, a file of weights (with --model) or a model file;
without it, the network has random weights. Flags of 'pando train' that concern only training are
accepted and ignored, because configuration files contain them.

With --export-dir, the file is BASE/<N>/model.onnx, for a server that serves the folder BASE. N is
the next free number, unless --model-version chooses one. The folder <N> appears when it is
complete. If the data set is on this machine, a few pictures of its validation part are stored in
BASE/<N>/examples/, and the page of the server offers them; --examples 0 leaves them out.

examples:
  pando export runs/mnist_cnn-20261116-050000 -o mnist.onnx
  pando export runs/a/checkpoints/epoch_3.0.h5 -o epoch3.onnx --opset 11 --half
  pando export weights.h5 --model resnet50 -o resnet50.onnx
  pando export runs/photos -o photos.safetensors --names torchvision
  pando export runs/photos --export-dir models/photos --input images

exit codes: 0 done, 1 failed, 2 wrong flag or configuration.

)";

struct ExportFlags {
  std::string what;
  std::string output;
  std::string format;
  std::vector<std::string> labels;
  SaveModelOptions save;
  WeightNames names = WeightNames::pando;
  std::string export_dir;
  int64_t version = 0;
  std::optional<ServedInput> input;
  bool static_batch = false;
  int64_t examples = 6;
  std::string checkpoint;  // another name of `what`
  int64_t iterations = 1;
  bool pipelined = false;
  bool serving_api = false;
  bool pytest = false;
  app::WhichCheckpoint which = app::WhichCheckpoint::best_or_newest;
};

constexpr const char* kSafetensors = "safetensors";

void check_output(const std::string& output) {
  if (output.empty()) {
    throw UsageError("--output: not given, expected the file to write: -o model.onnx");
  }
  check_output_file("--output", output);
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

void add_file_flags(OptionTable& table, ExportFlags& flags) {
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
  table
      .add("checkpoint-input-path", flags.checkpoint,
           "the checkpoint, as WHAT; without either, the weights are random")
      .with_hint("FILE");
}

void add_serving_flags(OptionTable& table, ExportFlags& flags) {
  table.begin_group("Serving");
  table
      .add("export-dir", flags.export_dir,
           "write a version for a server: a new folder, or one with numbered folders")
      .with_hint("BASE");
  table.add("model-version", flags.version, "the number of the version; 0: the next free one")
      .with_hint("N")
      .at_least(0);
  table.add_choice("input", flags.input,
                   {{"tensors", ServedInput::tensors},
                    {"images", ServedInput::images},
                    {"bytes", ServedInput::pixels}},
                   "what clients send: numbers as the network takes them, encoded JPEGs and PNGs, "
                   "or eight-bit pixels. By default tensors, or bytes with --eight-bit-transfer");
  table.add("static-batch", flags.static_batch,
            "bind other software to batches of --micro-batch-size; otherwise any size is taken");
  table
      .add("examples", flags.examples,
           "pictures of the validation data to store beside the model, for the page of the server; "
           "by default, if the data set is on this machine")
      .with_hint("N")
      .at_least(0)
      .at_most(static_cast<int64_t>(app::kMostExamples));
  table.add("pipeline-serving-model", flags.pipelined,
            "accepted; the server divides its work over the cores itself");
  table.add("use-serving-api", flags.serving_api, "accepted; there is one way to export");
  table.add("iterations", flags.iterations, "accepted; clients decide how much is computed")
      .at_least(1);
  table.add("pytest", flags.pytest, "accepted").hidden = true;
}

bool is_asked_for_examples(const OptionTable& table) {
  return table.find_exact("examples")->origin.kind != Origin::Kind::built_in;
}

void check_serving_flags(ExportFlags& flags, const OptionTable& table) {
  if (!flags.checkpoint.empty()) {
    if (!flags.what.empty()) {
      throw UsageError("--checkpoint-input-path: '", flags.what,
                       "' has weights already; remove one of them");
    }
    flags.what = flags.checkpoint;
  }
  if (flags.export_dir.empty()) {
    if (flags.version > 0) throw UsageError("--model-version: requires --export-dir");
    if (is_asked_for_examples(table)) throw UsageError("--examples: requires --export-dir");
    return;
  }
  if (!flags.output.empty() || !flags.format.empty()) {
    throw UsageError(flags.output.empty() ? "--format" : "--output",
                     ": --export-dir says where the ONNX file is written; remove one of them");
  }
  app::check_export_dir(flags.export_dir);
  if (flags.iterations > 1) {
    std::cerr << "pando: warning: --iterations " << flags.iterations
              << " has no effect: clients decide how much is computed\n";
  }
}

// The metadata that a server reads.
void set_serving_facts(ModelFacts& facts, ExportFlags& flags, const app::TrainOptions& options) {
  const bool eight_bit = options.data.eight_bit_transfer && facts.pictures;
  const ServedInput input =
      flags.input.value_or(eight_bit ? ServedInput::pixels : ServedInput::tensors);
  if (input != ServedInput::tensors && !facts.pictures) {
    throw UsageError("--input ", input == ServedInput::images ? "images" : "bytes",
                     ": the model does not say how pictures are prepared, so a server cannot do "
                     "it; use --input tensors");
  }
  if (flags.static_batch) flags.save.batch = options.micro_batch_size;
  if (flags.export_dir.empty() && !flags.input && !flags.static_batch) return;
  facts.serving = ServingFacts{.input = input, .batch = flags.save.batch};
}

// Examples are optional unless the user asked for them.
std::vector<app::ExamplePicture> examples_of(const app::TrainedModel& trained,
                                             const ExportFlags& flags, bool is_asked) {
  if (flags.export_dir.empty() || flags.examples == 0) return {};
  const ModelFacts& facts = trained.model.facts();
  if (!facts.pictures || !trained.data) {
    if (!is_asked) return {};
    throw UsageError("--examples: the model does not say ",
                     facts.pictures ? "which data it is for" : "how pictures are prepared",
                     "; use --examples 0");
  }
  try {
    return app::example_pictures(*trained.data, facts, flags.examples);
  } catch (const InternalError&) {
    throw;
  } catch (const Error&) {
    if (is_asked) throw;
    return {};  // the data are not here
  }
}

void write_model(const Model& model, ExportFlags& flags, const ModelFileKind* format,
                 std::vector<app::ExamplePicture> examples) {
  if (!flags.export_dir.empty()) {
    flags.output = app::export_version(model, {.base = flags.export_dir,
                                               .version = flags.version,
                                               .save = flags.save,
                                               .examples = std::move(examples)});
  } else if (format != nullptr) {
    format->save(model, flags.output, flags.save);
  } else {
    save_safetensors(model, flags.output, {.names = flags.names, .half = flags.save.half});
  }
}

}  // namespace

int command_export(std::span<const std::string> args, std::ostream& out) {
  ExportFlags flags;
  TrainFlagTable train;
  OptionTable& table = train.table;
  table.add_positional("WHAT", flags.what,
                       "the directory of a run, a checkpoint, a file of weights or a model file",
                       false);
  add_file_flags(table, flags);
  add_serving_flags(table, flags);
  train.add();
  if (!train.parse(args, out, kExportHelpHead)) return app::kDone;

  check_serving_flags(flags, table);
  const ModelFileKind* format =
      flags.export_dir.empty() ? format_of(flags) : &kind_to_write("model.onnx");
  if (flags.static_batch && (format == nullptr || format->name != "onnx")) {
    throw UsageError("--static-batch: only ONNX files fix the batch; remove it");
  }
  app::TrainedModel trained = app::open_trained_model(
      flags.what, {.which = flags.which, .table = &table, .flags = &train.options});
  if (flags.export_dir.empty()) refuse_checkpoint(flags.output, trained.source);
  if (trained.source.empty()) {
    std::cerr << "pando: warning: no checkpoint was given: the weights of " << trained.model.name()
              << " are random\n";
  }
  ModelFacts facts = trained.model.facts();
  facts.origin.date = now();
  set_serving_facts(facts, flags, train.options);
  trained.model.set_facts(facts);
  if (trained.training) flags.save.training = &*trained.training;
  std::vector<app::ExamplePicture> examples =
      examples_of(trained, flags, is_asked_for_examples(table));
  const std::string beside =
      examples.empty() ? "" : fmt::format(", {} example pictures", examples.size());
  write_model(trained.model, flags, format, std::move(examples));
  std::error_code unknown;
  const auto bytes = std::filesystem::file_size(flags.output, unknown);
  out << fmt::format("{}: {}, {}, {} parameters{}{}\n", flags.output,
                     format == nullptr ? "safetensors" : format->title,
                     human_bytes(static_cast<double>(bytes)),
                     with_thousands(trained.model.network().parameters()),
                     trained.source.empty() ? "" : ", weights of " + trained.source, beside);
  return app::kDone;
}

}  // namespace pando::cli
