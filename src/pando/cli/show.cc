// `pando show`: what a model file or the network of a run has in it.
// SPDX-License-Identifier: MIT
#include <iostream>
#include <map>

#include <fmt/core.h>

#include "pando/app/job/exit_code.h"
#include "pando/app/report/network_svg.h"
#include "pando/app/run/predictions.h"
#include "pando/app/run/trained_model.h"
#include "pando/base/json.h"
#include "pando/base/new_file.h"
#include "pando/cli/program.h"
#include "pando/cli/trained_flags.h"
#include "pando/onnx/import.h"
#include "pando/options/output_place.h"

namespace pando::cli {

namespace {

constexpr const char* kShowHelpHead = R"(usage: pando show WHAT [flags]

Shows inputs, outputs, layers, parameters, work and metadata of a network. WHAT is the directory of
a run, a checkpoint of one or a model file. If parts of a file cannot be imported, all of them are
listed.

examples:
  pando show model.onnx
  pando show runs/flowers --graph network.svg
  pando show model.onnx --json

exit codes: 0 done, 1 failed or a network that cannot be imported, 2 wrong flag.

)";

struct ShowFlags {
  std::string what;
  std::string graph;
  bool json = false;
  int64_t image_size = 0;
  app::WhichCheckpoint which = app::WhichCheckpoint::best_or_newest;
  CommonOptions common;
};

std::string text_of(const onnx::ValueInfoProto& value) {
  std::vector<std::string> extents;
  for (const onnx::Dimension& dimension : value.shape) {
    extents.push_back(dimension.is_free() ? (dimension.name.empty() ? "?" : dimension.name)
                                          : std::to_string(dimension.value));
  }
  return fmt::format("{} {} [{}]", value.name, onnx::to_string(value.type), join(extents, ", "));
}

// A file whose nodes are not all known, as far as it can be shown.
int show_unknown(const onnx::ModelProto& file, const std::vector<std::string>& unknown,
                 const ShowFlags& flags, std::ostream& out) {
  out << flags.what << ": ONNX";
  for (const auto& [domain, version] : file.opsets) {
    out << ", opset " << (domain.empty() ? "" : domain + " ") << version;
  }
  out << "\n";
  for (const onnx::ValueInfoProto& input : file.graph.inputs) {
    out << "input   " << text_of(input) << "\n";
  }
  for (const onnx::ValueInfoProto& output : file.graph.outputs) {
    out << "output  " << text_of(output) << "\n";
  }
  std::map<std::string, int64_t> counts;
  for (const onnx::NodeProto& node : file.graph.nodes) ++counts[node.op_type];
  std::vector<std::string> ops;
  for (const auto& [op, count] : counts) ops.push_back(fmt::format("{} {}", count, op));
  out << counted(std::ssize(file.graph.nodes), "node") << ": " << join(ops, ", ") << "\n"
      << "cannot be imported:\n";
  for (const std::string& line : unknown) out << "  " << line << "\n";
  return app::kFailed;
}

void show_facts(const ModelFacts& facts, std::ostream& out) {
  const auto line = [&](const char* name, const std::string& text) {
    if (!text.empty()) out << fmt::format("{:<12} {}\n", name, text);
  };
  const ModelOrigin& origin = facts.origin;
  line("producer", origin.producer);
  line("model", origin.model);
  line("trained on", origin.dataset);
  line("task", origin.task);
  line("date", origin.date);
  if (facts.pictures) line("pictures", app::describe(*facts.pictures));
  constexpr size_t kShownLabels = 20;
  if (facts.labels.empty()) return;
  std::vector<std::string> shown(facts.labels.begin(),
                                 facts.labels.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                            facts.labels.size(), kShownLabels)));
  const bool more = facts.labels.size() > kShownLabels;
  line("classes",
       fmt::format("{}: {}{}", facts.labels.size(), join(shown, ", "), more ? ", ..." : ""));
}

// What training changes: frozen layers and moving statistics are left out, as in the summary.
int64_t trainable_parameters(const Model& model) {
  int64_t count = 0;
  for (const LayerInfo& layer : model.network().layers()) {
    if (layer.weights.empty() || !model.trainable(layer.name)) continue;
    for (const nn::WeightSpec& weight : layer.weights) {
      count += weight.is_state() ? 0 : weight.shape.elements();
    }
  }
  return count;
}

void show_text(const app::TrainedModel& trained, std::ostream& out) {
  const Network& network = trained.model.network();
  out << trained.model.summary();
  for (const NetworkInput& input : network.inputs()) {
    out << fmt::format("{:<12} {} {} {}\n", "input", input.name, to_string(input.dtype),
                       to_string(input.shape));
  }
  for (const NetworkOutput& output : network.outputs()) {
    out << fmt::format("{:<12} {} {}\n", "output", output.name, to_string(output.shape));
  }
  out << fmt::format("{:<12} {} ({} trainable)\n", "parameters",
                     with_thousands(network.parameters()),
                     with_thousands(trainable_parameters(trained.model)));
  out << fmt::format("{:<12} {:.2f} MFLOP a sample, in convolutions and dense layers\n", "work",
                     forward_flops(network) / 1e6);
  out << fmt::format("{:<12} {}\n", "weights of", trained.source);
  show_facts(trained.model.facts(), out);
}

void show_json(const app::TrainedModel& trained, std::ostream& out) {
  const Network& network = trained.model.network();
  Json json = {{"file", trained.source},
               {"parameters", network.parameters()},
               {"trainable_parameters", trainable_parameters(trained.model)},
               {"forward_flops", forward_flops(network)}};
  for (const NetworkInput& input : network.inputs()) {
    json["inputs"].push_back(
        {{"name", input.name}, {"dtype", to_string(input.dtype)}, {"shape", input.shape.dims()}});
  }
  for (const NetworkOutput& output : network.outputs()) {
    json["outputs"].push_back({{"name", output.name}, {"shape", output.shape.dims()}});
  }
  for (const LayerInfo& layer : network.layers()) {
    json["layers"].push_back({{"name", layer.name},
                              {"class", layer.class_name},
                              {"output_shape", layer.output_shape.dims()},
                              {"parameters", layer.parameters()},
                              {"inbound", layer.inbound}});
  }
  Json metadata = Json::object();
  for (const auto& [key, value] : to_metadata(trained.model.facts())) {
    metadata[key] = Json::parse(value);
  }
  json["metadata"] = std::move(metadata);
  out << json.dump(2) << "\n";
}

bool is_onnx_file(const std::string& path) {
  const ModelFileKind* kind = find_model_file_kind(path);
  return kind != nullptr && kind->name == "onnx";
}

}  // namespace

int command_show(std::span<const std::string> args, std::ostream& out) {
  ShowFlags flags;
  OptionTable table;
  table.add_positional("WHAT", flags.what, "the directory of a run, a checkpoint or a model file");
  table.begin_group("Flags");
  table.add("graph", flags.graph, "draw the network as SVG into this file").with_hint("FILE");
  table.add("json", flags.json, "print JSON");
  table.add("image-size", flags.image_size, "height and width where a model file leaves them open")
      .with_hint("N")
      .at_least(1)
      .at_most(1 << 14);
  add_checkpoint_choice(table, flags.which);
  add_help_option(table, flags.common);
  parse_command_line(table, flags.common, args);
  if (flags.common.help) {
    out << kShowHelpHead << help_text(table);
    return app::kDone;
  }
  if (!flags.graph.empty()) check_output_file("--graph", flags.graph);
  if (is_onnx_file(flags.what)) {
    const onnx::ModelProto file = onnx::read_model(flags.what);
    const std::vector<std::string> unknown = onnx::unknown_ops(file);
    if (!unknown.empty()) return show_unknown(file, unknown, flags, out);
  }
  const app::TrainedModel trained = app::open_trained_model(
      flags.what, {.which = flags.which,
                   .file = {.height = flags.image_size, .width = flags.image_size},
                   .table = &table});
  flags.json ? show_json(trained, out) : show_text(trained, out);
  if (flags.graph.empty()) return app::kDone;
  const std::string picture = app::network_svg(trained.model.network());
  write_new_file(flags.graph, std::as_bytes(std::span(picture)));
  if (!flags.json) out << fmt::format("{:<12} {}\n", "drawing", flags.graph);
  return app::kDone;
}

}  // namespace pando::cli
