// SPDX-License-Identifier: MIT
#include "pando/app/record/run_summary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <span>

#include "pando/base/error.h"
#include "pando/base/json.h"
#include "pando/base/named_values.h"
#include "pando/base/strings.h"
#include "pando/store/atomic_file.h"

namespace pando::app {
namespace {

constexpr int kSummaryVersion = 1;
constexpr std::array kStateNames = {"unknown", "running", "done", "stopped", "failed", "killed"};
// Writing takes at most 1/kWriteShare of a run's time, also on a slow disk.
constexpr int kWriteShare = 100;

double unix_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::round(std::chrono::duration<double>(now).count() * 1e3) / 1e3;
}

// Enough digits for a picture of a few pixels.
double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10.0, 3 - std::floor(std::log10(std::abs(value))));
  return std::isfinite(scale) && scale > 0 ? std::round(value * scale) / scale : value;
}

RunState state_named(const std::string& name) {
  const auto found = std::ranges::find(kStateNames, name);
  if (found == kStateNames.end()) {
    throw IoError("state: expected ", join({kStateNames.begin(), kStateNames.end()}, ", "),
                  ", got '", name, "'");
  }
  return static_cast<RunState>(found - kStateNames.begin());
}

void read_facts(const Json& json, SummaryFacts& facts) {
  facts.command = json.get<std::string>("command", "train");
  facts.model = json.get<std::string>("model", "");
  facts.dataset = json.get<std::string>("dataset", "");
  facts.id = json.get<std::string>("id", "");
  facts.epochs = json.get<double>("epochs", 0);
  facts.instances = json.get<int64_t>("instances", 1);
  facts.replicas = json.get<int64_t>("replicas", 1);
  facts.task.name = json.get<std::string>("task", "");
  facts.task.metric = json.get<std::string>("metric", "");
  facts.task.larger_is_better = json.get<bool>("larger_is_better", true);
  facts.task.is_fraction = json.get<bool>("is_fraction", true);
}

}  // namespace

const char* to_string(RunState state) { return kStateNames[static_cast<size_t>(state)]; }

std::string to_json_text(const RunSummary& summary) {
  const SummaryFacts& facts = summary.facts;
  Json json = {{"version", kSummaryVersion},
               {"state", to_string(summary.state)},
               {"cause", summary.cause},
               {"command", facts.command},
               {"model", facts.model},
               {"dataset", facts.dataset},
               {"id", facts.id},
               {"task", facts.task.name},
               {"metric", facts.task.metric},
               {"larger_is_better", facts.task.larger_is_better},
               {"is_fraction", facts.task.is_fraction},
               {"instances", facts.instances},
               {"replicas", facts.replicas},
               {"started", summary.started},
               {"updated", summary.updated},
               {"seconds", summary.seconds},
               {"epoch", summary.epoch},
               {"epochs", facts.epochs},
               {"step", summary.step}};
  if (summary.best) {
    const BestValue& best = *summary.best;
    json["best"] = {
        {"value", best.value}, {"epoch", best.epoch}, {"of_validation", best.of_validation}};
  }
  Json& last = json["last"] = Json::object();
  for (const auto& [name, value] : summary.last) last[name] = value;
  json["curve"] = summary.curve;
  json["points"] = summary.points;
  return json.dump() + "\n";
}

RunSummary parse_summary(std::string_view text) {
  const Json json = Json::parse_strictly(text);
  const int version = json.get<int>("version");
  if (version != kSummaryVersion) {
    throw IoError("version: expected ", kSummaryVersion, ", got ", version,
                  "; a later version of Pando wrote it");
  }
  RunSummary summary;
  read_facts(json, summary.facts);
  summary.state = state_named(json.get<std::string>("state"));
  summary.cause = json.get<std::string>("cause", "");
  summary.started = json.get<double>("started", 0);
  summary.updated = json.get<double>("updated", 0);
  summary.seconds = json.get<double>("seconds", 0);
  summary.epoch = json.get<double>("epoch", 0);
  summary.step = json.get<int64_t>("step", 0);
  if (const Json* best = json.find("best"); best != nullptr && !best->is_null()) {
    summary.best = {.value = best->get<double>("value"),
                    .epoch = best->get<double>("epoch", 0),
                    .of_validation = best->get<bool>("of_validation", true)};
  }
  if (const Json* last = json.find("last")) {
    for (const Json::Member& member : last->members()) {
      if (!member.value.is_null())
        summary.last.emplace_back(member.key, member.value.get<double>());
    }
  }
  summary.curve = json.get<std::string>("curve", "");
  summary.points = json.get<std::vector<double>>("points", {});
  if (summary.points.size() > Sparkline::kMostPoints) {
    throw IoError("points: expected at most ", Sparkline::kMostPoints, ", got ",
                  summary.points.size());
  }
  return summary;
}

SummaryWriter::SummaryWriter(SummaryOptions options)
    : options_(std::move(options)), tokens_(options_.burst) {
  summary_.facts = options_.facts;
  summary_.started = options_.started > 0 ? options_.started : unix_seconds();
  for (const HistoryRow& row : options_.rows) take(row);
  write();
}

SummaryWriter::~SummaryWriter() {
  if (summary_.state != RunState::running) return;
  try {
    end(RunState::failed, "the run ended without saying why; see log.txt");
  } catch (const std::exception&) {
    // Readers see that the lock is free.
  }
}

void SummaryWriter::add(const HistoryRow& row) {
  take(row);
  if (!may_write()) return;
  try {
    write();
  } catch (const IoError&) {
    // The run does not depend on this file.
  }
}

void SummaryWriter::end(RunState state, const std::string& cause) {
  summary_.state = state;
  summary_.cause = cause;
  write();
}

// Validations after training have rows of earlier epochs.
void SummaryWriter::take(const HistoryRow& row) {
  summary_.epoch = std::max(summary_.epoch, row.epoch);
  summary_.step = std::max(summary_.step, row.step);
  summary_.seconds = std::max(summary_.seconds, row.seconds.value_or(0));
  const auto note_last = [&](const std::string& name, double value) {
    if (std::isfinite(value)) set_named(summary_.last, name, value);
  };
  for (const RowField& field : kRowFields) {
    const std::optional<double> value = row.*field.value;
    if (value && field.value != &HistoryRow::seconds) note_last(field.column(row), *value);
  }
  for (const auto& [name, value] : row.extra) note_last(name, value);
  if (row.loss) loss_.add(*row.loss);
  if (row.val_metric) validation_.add(*row.val_metric);
  note_best(row);
}

// Validation figures have priority over figures of training.
void SummaryWriter::note_best(const HistoryRow& row) {
  const Task& task = summary_.facts.task;
  std::optional<BestValue>& best = summary_.best;
  const auto note = [&](std::optional<double> value, bool of_validation) {
    if (!value || !std::isfinite(*value)) return;
    const bool is_same = best && best->of_validation == of_validation;
    if (is_same && !task.is_better(*value, best->value)) return;
    best = {.value = *value, .epoch = row.epoch, .of_validation = of_validation};
  };
  if (!best || !best->of_validation) note(row.metric, false);
  note(row.val_metric, true);
}

bool SummaryWriter::may_write() {
  const Clock::time_point now = Clock::now();
  const Clock::duration interval =
      std::max<Clock::duration>(options_.interval, write_time_ * kWriteShare);
  const std::chrono::duration<double> since = now - refilled_;
  tokens_ += since / std::chrono::duration<double>(interval);
  tokens_ = std::min(tokens_, static_cast<double>(options_.burst));
  refilled_ = now;
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

void SummaryWriter::write() {
  const Clock::time_point begin = Clock::now();
  summary_.updated = unix_seconds();
  const bool has_loss = !loss_.empty();
  summary_.curve = has_loss              ? "loss"
                   : validation_.empty() ? ""
                                         : "val_" + summary_.facts.task.metric;
  summary_.points = has_loss ? loss_.points() : validation_.points();
  for (double& point : summary_.points) point = rounded(point);
  const std::string text = to_json_text(summary_);
  store::replace_file((options_.folder / kSummaryFile).string(), {std::as_bytes(std::span(text))});
  write_time_ = Clock::now() - begin;
}

double start_in(const std::filesystem::path& folder) {
  std::ifstream file(folder / kSummaryFile);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  try {
    return parse_summary(text).started;
  } catch (const IoError&) {
    return 0;
  }
}

}  // namespace pando::app
