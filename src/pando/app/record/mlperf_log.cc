// SPDX-License-Identifier: MIT
#include "pando/app/record/mlperf_log.h"

#include <chrono>

#include "pando/base/json.h"

namespace pando::app {
namespace {

Json to_json(const MlperfValue& value) {
  if (const auto* whole = std::get_if<int64_t>(&value)) return *whole;
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return nullptr;
}

}  // namespace

int64_t wall_clock_ms() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

MlperfLog::MlperfLog(std::function<void(const std::string&)> write,
                     std::function<int64_t()> clock_ms)
    : write_(std::move(write)), clock_ms_(std::move(clock_ms)) {}

void MlperfLog::write(const Line& line) const {
  if (!write_) return;
  Json json = {{"namespace", ""}, {"time_ms", line.time_ms},      {"event_type", line.type},
               {"key", line.key}, {"value", to_json(line.value)}, {"metadata", Json::object()}};
  for (const auto& [name, value] : line.metadata) json["metadata"][name] = to_json(value);
  write_(":::MLLOG " + json.dump());
}

void MlperfLog::event(const std::string& key, const MlperfValue& value,
                      const MlperfMetadata& metadata) {
  write({clock_ms_(), "POINT_IN_TIME", key, value, metadata});
}

void MlperfLog::start(const std::string& name, const MlperfMetadata& metadata) {
  write({clock_ms_(), "INTERVAL_START", name + "_start", {}, metadata});
}

void MlperfLog::stop(const std::string& name, const MlperfMetadata& metadata) {
  write({clock_ms_(), "INTERVAL_END", name + "_stop", {}, metadata});
}

void MlperfLog::started_at(int64_t time_ms, const std::string& name) {
  write({time_ms, "INTERVAL_START", name + "_start", {}, {}});
}

void MlperfEpochs::on_epoch_begin(FitContext& context) {
  log_.start("epoch", {{"epoch_num", context.epoch + 1}});
}

void MlperfEpochs::on_epoch_end(FitContext& context, const Logs&) {
  log_.stop("epoch", {{"epoch_num", context.epoch + 1}});
}

}  // namespace pando::app
