// SPDX-License-Identifier: MIT
#include "pando/app/record/wandb_sink.h"

#include <array>
#include <fstream>

#include "pando/base/json.h"
#include "pando/base/named_values.h"
#include "pando/base/strings.h"
#include "pando/options/config_value.h"
#include "pando/options/option_types.h"
#include "pando/store/atomic_file.h"

namespace pando::app {
namespace {

std::string time_text(std::time_t time, const char* format, bool local) {
  if (time == 0) time = std::time(nullptr);
  std::tm parts{};
  if (local) {
    localtime_r(&time, &parts);
  } else {
    gmtime_r(&time, &parts);
  }
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), format, &parts);
  return text.data();
}

// Converts numbers and booleans; everything else stays text.
Json scalar_of(const std::string& text) {
  if (text == "true") return true;
  if (text == "false") return false;
  if (const auto whole = parse_int(text)) return *whole;
  if (const auto real = parse_double(text)) return *real;
  return text;
}

Json json_of(const ConfigValue& value) {
  switch (value.kind) {
    case ConfigValue::Kind::null: return nullptr;
    case ConfigValue::Kind::scalar: return scalar_of(value.text);
    case ConfigValue::Kind::list: {
      Json list = Json::array();
      for (const ConfigValue& item : value.items) list.push_back(json_of(item));
      return list;
    }
    case ConfigValue::Kind::map: break;
  }
  Json map = Json::object();
  for (size_t i = 0; i < value.keys.size(); ++i) map[value.keys[i]] = json_of(value.items[i]);
  return map;
}

// Replaces invalid UTF-8, which names may contain, so that the line is valid JSON.
std::string line_of(const Json& object) { return object.dump() + "\n"; }

// The lines that stay valid if a run resumes after `step`. A line that was cut off when the process
// was killed does not parse and is dropped too.
std::string kept_lines(const std::filesystem::path& path, int64_t step) {
  std::ifstream file(path, std::ios::binary);
  std::string kept;
  for (std::string line; std::getline(file, line);) {
    const std::optional<Json> object = Json::try_parse(line);
    if (!object || !object->is_object()) continue;
    if (object->get<std::string>("type", "") == "summary") continue;
    if (object->get<int64_t>("step", 0) <= step) kept += line + "\n";
  }
  return kept;
}

}  // namespace

std::string wandb_run_name(const std::string& model, const std::string& dataset, std::time_t time) {
  return concat(model, "-", dataset, "-", time_text(time, "%Y%m%d-%H%M%S", true));
}

WandbSink::WandbSink(const WandbOptions& options) {
  const std::string before =
      options.resumed_step ? kept_lines(options.path, *options.resumed_step) : "";
  const std::string now = time_text(options.time, "%Y-%m-%dT%H:%M:%SZ", false);
  Json first = {{"type", before.empty() ? "config" : "resume"}, {"time", now}};
  if (options.resumed_step) first["step"] = *options.resumed_step;
  first["run_name"] = options.run_name;
  first["tags"] = options.tags;
  first["config"] = json_of(parse_yaml(options.config_text, "config.yml"));
  const std::string text = before + line_of(first);
  store::replace_file(options.path.string(), {std::as_bytes(std::span(text))});
  file_ = std::make_unique<AppendFile>(options.path, true);
}

void WandbSink::write(const HistoryRow& row) {
  Json line = {{"type", "row"}, {"step", row.step}, {"epoch", row.epoch}};
  for (const RowField& field : kRowFields) {
    if (row.*field.value) line[field.column(row)] = *(row.*field.value);
  }
  for (const auto& [name, value] : row.extra) line[name] = value;
  file_->append(line_of(line));
}

void WandbSink::summarize(const Logs& figures) {
  for (const auto& [name, value] : figures) set_named(figures_, name, value);
  Json line = {{"type", "summary"}};
  for (const auto& [name, value] : figures_) line[name] = value;
  file_->append(line_of(line));
}

}  // namespace pando::app
