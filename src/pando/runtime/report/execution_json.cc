// The execution report as JSON.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/base/json.h"
#include "pando/runtime/report/execution_report.h"

namespace pando::runtime {

namespace {

using compiler::OpReport;

Json spent_json(const ExecutionReport& report, const Spent& spent) {
  Json json = {{"seconds", spent.seconds},
               {"flops", spent.flops},
               {"bytes", spent.bytes},
               {"gflops_per_worker", spent.gflops()},
               {"gbytes_per_worker", spent.gbytes()},
               {"share", report.share(spent.seconds)}};
  if (report.peak.threads > 0) json["peak_fraction"] = report.peak_fraction(spent);
  return json;
}

Json phases_json(const PhaseSeconds& seconds) {
  Json json;
  for (size_t i = 0; i < kPhases; ++i) {
    std::string key = to_string(static_cast<Phase>(i));
    std::replace(key.begin(), key.end(), ' ', '_');
    json[key] = seconds[i];
  }
  return json;
}

Json summary_json(const ExecutionReport& report) {
  Json json = {{"span_seconds", report.span_seconds},
               {"workers", report.workers},
               {"replicas", report.replicas},
               {"events", report.events},
               {"dropped_events", report.dropped},
               {"steps", report.steps},
               {"samples", report.samples},
               {"padding_rows", report.padding},
               {"updates", report.updates},
               {"steps_per_second", report.per_second(report.steps)},
               {"samples_per_second", report.per_second(report.samples)},
               {"gflops", report.whole().gflops()},
               {"busy_share", report.busy_share()},
               {"feed_wait_share", report.share(Phase::feed_wait)},
               {"update_share", report.share(Phase::update)},
               {"other_program_seconds", report.other_seconds},
               {"phase_seconds", phases_json(report.seconds)},
               {"forward", spent_json(report, report.forward)},
               {"backward", spent_json(report, report.backward)},
               {"update", spent_json(report, report.update)}};
  if (report.peak.threads > 0) {
    json["peak"] = {{"isa", report.peak.isa},
                    {"threads", report.peak.threads},
                    {"gflops", report.peak.gflops},
                    {"memory_gb_per_second", report.peak.memory_rate}};
  }
  return json;
}

}  // namespace

std::string to_json(const ExecutionReport& report, const compiler::CompilationReport& compilation) {
  Json json = summary_json(report);
  json["ops"] = Json::array();
  for (const OpTime& row : report.ops) {
    const OpReport& op = compilation.ops[static_cast<size_t>(row.call)];
    Json entry = {{"call", row.call},    {"op", op.op},
                  {"name", op.name},     {"layer", op.layer},
                  {"stage", op.stage},   {"part", compiler::to_string(op.part)},
                  {"kernel", op.kernel}, {"times", row.times}};
    entry.update(spent_json(report, row.spent));
    json["ops"].push_back(std::move(entry));
  }
  json["layers"] = Json::array();
  for (const LayerTime& row : report.layers) {
    json["layers"].push_back({{"layer", row.layer},
                              {"stage", row.stage},
                              {"forward", spent_json(report, row.forward)},
                              {"backward", spent_json(report, row.backward)}});
  }
  json["devices"] = Json::array();
  for (const DeviceTime& row : report.devices) {
    json["devices"].push_back({{"device", row.device},
                               {"workers", row.workers},
                               {"busy_share", row.busy_share},
                               {"phase_seconds", phases_json(row.seconds)}});
  }
  json["stages"] = Json::array();
  for (const profile::StageSummary& row : report.stages) {
    json["stages"].push_back({{"stage", row.stage},
                              {"backward", row.backward},
                              {"visits", row.visits},
                              {"mean_seconds", row.mean_seconds}});
  }
  return json.dump(1);
}

}  // namespace pando::runtime
