// SPDX-License-Identifier: MIT
#include "pando/app/record/history_writer.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <fmt/core.h>

#include "pando/base/error.h"
#include "pando/base/json.h"
#include "pando/base/strings.h"

namespace pando::app {
namespace {

using Cells = std::vector<std::pair<std::string, std::optional<double>>>;

constexpr const char* kJsonEnd = "\n]\n";

Cells cells_of(const HistoryRow& row) {
  Cells cells = {{"epoch", row.epoch}, {"step", static_cast<double>(row.step)}};
  for (const RowField& field : kRowFields) cells.emplace_back(field.name, row.*field.value);
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
  for (const auto& [name, value] : object.members()) {
    if (name == "epoch" || name == "step" || value.is_null()) continue;
    const auto found =
        std::find_if(kRowFields.begin(), kRowFields.end(),
                     [&key = name](const RowField& field) { return field.name == key; });
    if (found == kRowFields.end()) {
      row.extra.emplace_back(name, object.get<double>(name));
    } else {
      row.*found->value = object.get<double>(name);
    }
  }
  return row;
}

}  // namespace

HistoryWriter::HistoryWriter(const std::filesystem::path& csv, const std::filesystem::path& json,
                             const std::vector<HistoryRow>& kept)
    : columns_(names_of(cells_of({}))) {
  const auto fresh = [&](std::filesystem::path path) {
    if (!kept.empty()) path += ".new";
    return std::make_unique<AppendFile>(std::move(path));
  };
  csv_ = fresh(csv);
  json_ = fresh(json);
  csv_->append(join(columns_, ",") + "\n");
  json_->append(concat("[", kJsonEnd));
  for (const HistoryRow& row : kept) append(row);
  if (kept.empty()) return;
  csv_->move_to(csv);
  json_->move_to(json);
}

void HistoryWriter::append(const HistoryRow& row) {
  const Cells cells = cells_of(row);
  add_columns(names_of(cells));
  const std::string line = csv_line(columns_, cells);
  csv_->append(line);
  csv_rows_.push_back(line);
  json_->replace_tail(kJsonEnd, (is_empty_ ? "\n" : ",\n") + json_object(row, cells) + kJsonEnd);
  is_empty_ = false;
}

void HistoryWriter::add_columns(const std::vector<std::string>& names) {
  std::vector<std::string> columns = columns_;
  for (const std::string& name : names) {
    if (std::find(columns.begin(), columns.end(), name) == columns.end()) columns.push_back(name);
  }
  if (columns.size() == columns_.size()) return;
  std::vector<std::string> rows = csv_rows_;
  std::string text = join(columns, ",") + "\n";
  for (std::string& row : rows) {
    row.insert(row.size() - 1, columns.size() - columns_.size(), ',');
    text += row;
  }
  std::filesystem::path temporary = csv_->path();
  temporary += ".new";
  auto wider = std::make_unique<AppendFile>(temporary);
  wider->append(text);
  wider->move_to(csv_->path());
  csv_ = std::move(wider);
  columns_ = std::move(columns);
  csv_rows_ = std::move(rows);
}

std::vector<HistoryRow> read_history(const std::filesystem::path& json, int64_t last_step) {
  std::vector<HistoryRow> rows;
  if (!std::filesystem::exists(json)) return rows;
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

}  // namespace pando::app
