// SPDX-License-Identifier: MIT
#include "pando/app/report/prediction_text.h"

#include <algorithm>

#include <fmt/core.h>

#include "pando/base/json.h"
#include "pando/base/strings.h"

namespace pando::app {

namespace {

// A field in quotes where the text needs them.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

// Makes one line of a terminal from any name of a file or class.
std::string on_one_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<uint8_t>(c) < ' '; }, ' ');
  return text;
}

}  // namespace

void PredictionWriter::write(const Prediction& prediction) {
  switch (form_) {
    case PredictionForm::text: write_text(prediction); break;
    case PredictionForm::csv: write_csv(prediction); break;
    case PredictionForm::json: write_json(prediction); break;
  }
  begun_ = true;
}

void PredictionWriter::finish() {
  if (form_ == PredictionForm::json) out_ << (begun_ ? "\n]\n" : "[]\n");
  if (form_ == PredictionForm::csv && !begun_) out_ << csv_header();
}

std::string PredictionWriter::csv_header() const {
  return concat("file,", several_outputs_ ? "output," : "", "rank,index,label,value\n");
}

void PredictionWriter::write_text(const Prediction& prediction) {
  std::vector<std::string> parts;
  if (!prediction.mask.empty()) parts.push_back(on_one_line(prediction.mask));
  for (const Score& score : prediction.scores) {
    const std::string label = on_one_line(score.label);
    parts.push_back(prediction.are_shares ? fmt::format("{} {:.2f} %", label, 100 * score.value)
                                          : fmt::format("{} {:.6g}", label, score.value));
  }
  out_ << on_one_line(prediction.file);
  if (several_outputs_) out_ << ", " << on_one_line(prediction.output);
  out_ << ": " << join(parts, ", ") << "\n";
}

void PredictionWriter::write_csv(const Prediction& prediction) {
  if (!begun_) out_ << csv_header();
  std::string place = csv_field(prediction.file) + ",";
  if (several_outputs_) place += csv_field(prediction.output) + ",";
  int64_t rank = 0;
  for (const Score& score : prediction.scores) {
    out_ << fmt::format("{}{},{},{},{:.9g}\n", place, ++rank, score.index, csv_field(score.label),
                        score.value);
  }
}

void PredictionWriter::write_json(const Prediction& prediction) {
  Json json = {{"file", prediction.file}};
  if (several_outputs_) json["output"] = prediction.output;
  if (!prediction.mask.empty()) json["mask"] = prediction.mask;
  Json scores = Json::array();
  for (const Score& score : prediction.scores) {
    scores.push_back({{"index", score.index}, {"label", score.label}, {"value", score.value}});
  }
  json["scores"] = std::move(scores);
  out_ << (begun_ ? ",\n  " : "[\n  ") << json.dump();
}

}  // namespace pando::app
