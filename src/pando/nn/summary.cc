// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "pando/base/strings.h"
#include "pando/nn/network.h"

namespace pando {

namespace {

std::string batch_shape(const Shape& shape) {
  std::string text = "(None";
  for (const int64_t extent : shape) text += concat(", ", extent);
  return text + ")";
}

// "bn_2, shortcut" for a layer with several inputs. Empty for one input: it is usually the line
// above.
std::string connected_to(const LayerInfo& info) {
  return info.inbound.size() > 1 ? join(info.inbound, ", ") : "";
}

std::string bytes_text(int64_t parameters, DType type) {
  const auto bytes = static_cast<double>(parameters) * static_cast<double>(size_of(type));
  return fmt::format("{} as {}: {}", with_thousands(parameters), to_string(type),
                     human_bytes(bytes));
}

// "269,722 as f16: 526.8 KiB, 2,752 as f32: 10.8 KiB".
std::string stored_text(int64_t trained, int64_t state, DType type) {
  if (type == DType::f32 || state == 0) return bytes_text(trained + state, type);
  return bytes_text(trained, type) + ", " + bytes_text(state, DType::f32);
}

}  // namespace

std::string Network::summary(const std::string& model_name, const std::set<std::string>& frozen,
                             DType stored) const {
  size_t name_width = 24;
  bool joins = false;
  for (const LayerInfo& info : layers_) {
    name_width = std::max(name_width, info.name.size() + info.class_name.size() + 3);
    joins = joins || info.inbound.size() > 1;
  }
  const size_t width = name_width + 26 + 12 + (joins ? 30 : 0);
  const auto row = [&](const std::string& a, const std::string& b, const std::string& c,
                       const std::string& d) {
    const std::string line = fmt::format(" {:<{}} {:<24} {:<10} {}", a, name_width, b, c, d);
    return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  };
  std::string text = fmt::format("Model: \"{}\"\n{}\n", model_name, std::string(width, '_'));
  text += row("Layer (type)", "Output Shape", "Param #", joins ? "Connected to" : "");
  text += std::string(width, '=') + "\n";
  int64_t frozen_parameters = parameters() - trainable_parameters();
  for (const LayerInfo& info : layers_) {
    text += row(info.name + " (" + info.class_name + ")", batch_shape(info.output_shape),
                std::to_string(info.parameters()), connected_to(info));
    if (!frozen.contains(info.name)) continue;
    for (const nn::WeightSpec& weight : info.weights) {
      frozen_parameters += weight.is_state() ? 0 : weight.shape.elements();
    }
  }
  text += std::string(width, '=') + "\n";
  text +=
      fmt::format("Total params: {}\nTrainable params: {}\nNon-trainable params: {}\n",
                  with_thousands(parameters()), with_thousands(parameters() - frozen_parameters),
                  with_thousands(frozen_parameters));
  text += fmt::format(
      "Stored params: {}\n",
      stored_text(trainable_parameters(), parameters() - trainable_parameters(), stored));
  return text + std::string(width, '_') + "\n";
}

std::string Network::stage_summary(int line_length) const {
  using Row = std::array<std::string, 3>;
  const Row header = {"Layer (type) (node index)", "Input layers", "Pipeline stage"};
  std::vector<Row> rows;
  for (const StageAssignment& entry : stage_assignment()) {
    const int stage = entry.pipeline_stage;
    rows.push_back(
        {fmt::format("{} ({}) ({})", entry.layer, layer(entry.layer).class_name, entry.node_index),
         entry.inbound_layers[0], stage < 0 ? "None" : std::to_string(stage)});
    // Each further input has its own line.
    for (size_t i = 1; i < entry.inbound_layers.size(); ++i) {
      rows.push_back({"", entry.inbound_layers[i], ""});
    }
  }
  // The first two columns share the width that the last column and the separating spaces leave.
  const auto wanted = static_cast<size_t>(std::max(line_length, 0));
  const size_t rest = wanted - std::min(wanted, header[2].size() + 3);
  std::array<size_t, 2> widths = {std::max(rest * 5 / 8, header[0].size()),
                                  std::max(rest * 3 / 8, header[1].size())};
  for (const Row& row : rows) {
    for (size_t i = 0; i < 2; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  const auto line = [&](const Row& row) {
    const std::string text =
        fmt::format(" {:<{}} {:<{}} {}", row[0], widths[0], row[1], widths[1], row[2]);
    return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  };
  const size_t width = std::max(wanted, widths[0] + widths[1] + header[2].size() + 3);
  std::string text = std::string(width, '_') + "\n" + line(header) + std::string(width, '=') + "\n";
  for (const Row& row : rows) text += line(row);
  return text + std::string(width, '_') + "\n";
}

}  // namespace pando
