// SPDX-License-Identifier: MIT
#include "pando/app/record/history_writer.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <fmt/core.h>

#include "pando/base/error.h"
#include "pando/base/json.h"
#include "pando/base/paths.h"
#include "pando/base/strings.h"
#include "pando/store/atomic_file.h"
#include "pando/zoo/task.h"

namespace pando::app {
namespace {

using Cells = std::vector<std::pair<std::string, std::optional<double>>>;

constexpr const char* kJsonEnd = "\n]\n";

Cells cells_of(const HistoryRow& row) {
  Cells cells = {{"epoch", row.epoch}, {"step", static_cast<double>(row.step)}};
  for (const RowField& field : kRowFields) cells.emplace_back(field.column(row), row.*field.value);
  for (const auto& [name, value] : row.extra) {
    const auto same = [&column = name](const auto& cell) { return cell.first == column; };
    if (name.empty() || name.find_first_of(",\"\n\r") != std::string::npos ||
        std::any_of(cells.begin(), cells.end(), same)) {
      throw InvalidArgument("history: column '", name,
                            "' is empty, exists already or contains a comma, quote or line end");
    }
    cells.emplace_back(name, value);
  }
  return cells;
}

std::vector<std::string> names_of(const Cells& cells) {
  std::vector<std::string> names;
  for (const auto& cell : cells) names.push_back(cell.first);
  return names;
}

std::string csv_line(const std::vector<std::string>& columns, const Cells& cells) {
  std::vector<std::string> texts;
  for (const std::string& column : columns) {
    const auto same = [&](const auto& cell) { return cell.first == column; };
    const auto found = std::find_if(cells.begin(), cells.end(), same);
    const bool has_value = found != cells.end() && found->second.has_value();
    texts.push_back(has_value ? fmt::format("{}", *found->second) : "");
  }
  return join(texts, ",") + "\n";
}

std::string json_object(const HistoryRow& row, const Cells& cells) {
  Json object;
  for (const auto& [name, value] : cells) {
    if (value) object[name] = *value;
  }
  object["step"] = row.step;
  return object.dump();
}

HistoryRow row_of(const Json& object) {
  HistoryRow row{.epoch = object.get<double>("epoch"), .step = object.get<int64_t>("step")};
  for (const Task& task : all_tasks()) {
    const auto is_of_task = [&](const auto& member) {
      return member.key == task.metric || member.key == "val_" + task.metric;
    };
    const auto& members = object.members();
    if (std::any_of(members.begin(), members.end(), is_of_task)) row.metric_name = task.metric;
  }
  for (const auto& [name, value] : object.members()) {
    if (name == "epoch" || name == "step" || value.is_null()) continue;
    const auto found =
        std::find_if(kRowFields.begin(), kRowFields.end(),
                     [&, &key = name](const RowField& field) { return field.column(row) == key; });
    if (found == kRowFields.end()) {
      row.extra.emplace_back(name, object.get<double>(name));
    } else {
      row.*found->value = object.get<double>(name);
    }
  }
  return row;
}

bool lacks(const CsvTable& table, const std::vector<std::string>& names) {
  return std::ranges::any_of(names, [&](const std::string& name) {
    return std::ranges::find(table.columns, name) == table.columns.end();
  });
}

// Adds missing columns, which are empty in the rows so far.
void widen(CsvTable& table, const std::vector<std::string>& names) {
  const size_t before = table.columns.size();
  for (const std::string& name : names) {
    if (lacks(table, {name})) table.columns.push_back(name);
  }
  for (std::string& row : table.rows) {
    row.insert(row.size() - 1, table.columns.size() - before, ',');
  }
}

std::string text_of(const CsvTable& table) {
  return join(table.columns, ",") + "\n" + join(table.rows, "");
}

// Replaces the file as a whole and opens it for further rows.
std::unique_ptr<AppendFile> begin_with(const std::filesystem::path& path, const std::string& text) {
  store::replace_file(path.string(), {std::as_bytes(std::span(text))});
  return std::make_unique<AppendFile>(path, true);
}

}  // namespace

HistoryWriter::HistoryWriter(const std::filesystem::path& csv, const std::filesystem::path& json,
                             const std::vector<HistoryRow>& kept)
    : table_{.columns = names_of(cells_of({}))}, is_empty_(kept.empty()) {
  std::string objects;
  for (const HistoryRow& row : kept) {
    const Cells cells = cells_of(row);
    widen(table_, names_of(cells));
    table_.rows.push_back(csv_line(table_.columns, cells));
    objects += (objects.empty() ? "\n" : ",\n") + json_object(row, cells);
  }
  csv_ = begin_with(csv, text_of(table_));
  json_ = begin_with(json, "[" + objects + kJsonEnd);
}

void HistoryWriter::append(const HistoryRow& row) {
  const Cells cells = cells_of(row);
  const std::vector<std::string> names = names_of(cells);
  if (lacks(table_, names)) {
    CsvTable wider = table_;
    if (wider.rows.empty()) wider.columns.clear();  // the first row names the metric
    widen(wider, names);
    csv_ = begin_with(csv_->path(), text_of(wider));
    table_ = std::move(wider);
  }
  const std::string line = csv_line(table_.columns, cells);
  csv_->append(line);
  table_.rows.push_back(line);
  json_->replace_tail(kJsonEnd, (is_empty_ ? "\n" : ",\n") + json_object(row, cells) + kJsonEnd);
  is_empty_ = false;
}

std::vector<HistoryRow> read_history(const std::filesystem::path& json, int64_t last_step) {
  std::vector<HistoryRow> rows;
  if (!path_exists(json)) return rows;
  std::ifstream file(json);
  try {
    const Json all = Json::parse(std::string(std::istreambuf_iterator<char>(file), {}));
    for (const Json& object : all.items()) {
      HistoryRow row = row_of(object);
      if (row.step <= last_step) rows.push_back(std::move(row));
    }
  } catch (const IoError& error) {
    throw IoError(json.string(), ": not a valid history file: ", error.what());
  }
  return rows;
}

std::optional<HistoryRow> parse_history_line(std::string_view line) {
  line = trim(line);
  if (line.ends_with(',')) line.remove_suffix(1);
  if (!line.starts_with('{')) return std::nullopt;
  const std::optional<Json> object = Json::try_parse(line);
  if (!object) return std::nullopt;
  try {
    return row_of(*object);
  } catch (const IoError&) {  // another kind of object
    return std::nullopt;
  }
}

}  // namespace pando::app
