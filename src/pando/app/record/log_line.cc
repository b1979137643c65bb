// SPDX-License-Identifier: MIT
#include "pando/app/record/log_line.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "pando/base/memory_use.h"
#include "pando/base/strings.h"
#include "pando/options/config_value.h"
#include "pando/train/history.h"
#include "pando/zoo/task.h"

namespace pando::app {
namespace {

constexpr double kMebibyte = 1 << 20;

// Has enough decimals for four significant digits, but between four and ten.
std::string loss_text(double loss) {
  if (!std::isfinite(loss) || loss == 0) return fmt::format("{:.4f}", loss);
  const int decimals = 3 - static_cast<int>(std::floor(std::log10(std::abs(loss))));
  return fmt::format("{:.{}f}", loss, std::clamp(decimals, 4, 10));
}

std::string throughput_text(double throughput) {
  return fmt::format("{:.{}f}", throughput, throughput < 100 ? 2 : 0);
}

}  // namespace

std::string epoch_text(double epoch) {
  const bool whole = epoch == std::floor(epoch) && epoch < 1e15;
  return whole ? fmt::format("{:.1f}", epoch) : fmt::format("{}", epoch);
}

void add_memory(HistoryRow& row) {
  const MemoryUse use = memory_use();
  if (use.resident == 0) return;
  row.extra.emplace_back(kMemoryColumn, static_cast<double>(use.resident) / kMebibyte);
  if (use.machine == 0) return;
  row.extra.emplace_back(kMemoryShareColumn, 100 * static_cast<double>(use.resident) /
                                                 static_cast<double>(use.machine));
}

std::string log_line(const HistoryRow& row) {
  std::vector<std::string> parts;
  const Task& task = task_of_metric(row.metric_name);
  const auto add = [&](const std::string& name, const std::string& text) {
    parts.push_back(fmt::format("{}: {}", name, text));
  };
  if (row.loss) add("loss", loss_text(*row.loss));
  if (row.metric) add("training " + task.metric, figure_text(task, *row.metric));
  if (row.throughput) add("throughput", throughput_text(*row.throughput) + " samples/sec");
  if (row.learning_rate) add("learning rate", fmt::format("{:g}", *row.learning_rate));
  if (const auto factor = find_value(row.extra, kLossScalingColumn)) {
    add("loss scaling factor", fmt::format("{:.0f}", *factor));
  }
  if (const auto memory = find_value(row.extra, kMemoryColumn)) {
    const auto share = find_value(row.extra, kMemoryShareColumn);
    add("memory",
        fmt::format("{:.0f} MiB", *memory) + (share ? fmt::format(" ({:.1f} %)", *share) : ""));
  }
  if (row.val_loss) add("val_loss", loss_text(*row.val_loss));
  if (row.val_metric) add("val_" + task.metric, figure_text(task, *row.val_metric));
  const bool whole = row.epoch == std::floor(row.epoch);
  const std::string head =
      "epoch " + (whole ? fmt::format("{:.1f}", row.epoch) : fmt::format("{:g}", row.epoch));
  return parts.empty() ? head : head + ": " + join(parts, ", ");
}

std::string validation_line(const HistoryRow& row) {
  return fmt::format("validation epoch {}: {}: {}, loss: {:.4f}", epoch_text(row.epoch),
                     row.metric_name,
                     figure_text(task_of_metric(row.metric_name), row.val_metric.value_or(0)),
                     row.val_loss.value_or(0));
}

std::string hyper_parameters_line(const std::string& config_text) {
  return "hyper-parameters: " + to_yaml(parse_yaml(config_text, "config.yml"));
}

}  // namespace pando::app
