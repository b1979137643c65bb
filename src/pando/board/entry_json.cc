// SPDX-License-Identifier: MIT
#include "pando/board/entry_json.h"

#include <cctype>

#include <fmt/core.h>

#include "pando/base/named_values.h"
#include "pando/board/board.h"

namespace pando::board {
namespace {

Json last_value(const app::RunSummary& summary, const char* column) {
  const double* const found = find_named(summary.last, column);
  return found == nullptr ? Json() : Json(*found);
}

Json best_of(const app::RunSummary& summary) {
  if (!summary.best) return nullptr;
  const app::BestValue& best = *summary.best;
  return {{"value", best.value},
          {"text", figure_text(summary.facts.task, best.value)},
          {"epoch", best.epoch},
          {"of_validation", best.of_validation}};
}

}  // namespace

std::string id_of(const std::string& path) {
  std::string id;
  for (const char letter : path) {
    const auto byte = static_cast<unsigned char>(letter);
    const bool is_plain =
        (byte < 128 && std::isalnum(byte) != 0) || letter == '-' || letter == '_' || letter == '.';
    id += is_plain ? std::string(1, letter) : fmt::format("%{:02X}", byte);
  }
  return id;
}

Json entry_json(const RunEntry& entry) {
  const app::RunSummary& summary = entry.summary;
  const app::SummaryFacts& facts = summary.facts;
  return {{"id", id_of(entry.path)},
          {"name", entry.name},
          {"state", app::to_string(summary.state)},
          {"cause", summary.cause},
          {"problem", entry.problem},
          {"activity", facts.command},
          {"model", facts.model},
          {"dataset", facts.dataset},
          {"metric", facts.task.metric},
          {"larger_is_better", facts.task.larger_is_better},
          {"instances", facts.instances},
          {"replicas", facts.replicas},
          {"best", best_of(summary)},
          {"loss", last_value(summary, "loss")},
          {"throughput", last_value(summary, "throughput")},
          {"epoch", summary.epoch},
          {"epochs", facts.epochs},
          {"step", summary.step},
          {"seconds", summary.seconds},
          {"started_ms", 1e3 * summary.started},
          {"touched_ms", 1e3 * entry.touched},
          {"curve", summary.curve},
          {"points", summary.points}};
}

}  // namespace pando::board
