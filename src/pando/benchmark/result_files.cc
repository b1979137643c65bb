// SPDX-License-Identifier: MIT
#include "pando/benchmark/result_files.h"

#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "pando/app/report/svg_text.h"
#include "pando/benchmark/valid_text.h"

namespace pando::benchmark {
namespace {

std::string quoted_cell(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::vector<std::string> quoted;
  for (const std::string& cell : cells) quoted.push_back(quoted_cell(cell));
  return join(quoted, ",") + "\n";
}

// Empty without a value. Written by Json, so that the CSV has the digits of the JSON file.
std::string value_text(const std::vector<Spread>& spreads, const std::string& name) {
  for (const Spread& spread : spreads) {
    if (spread.name == name && !spread.values.empty()) return Json(spread.middle()).dump();
  }
  return "";
}

std::string attribute(const std::string& name, const std::string& value) {
  return " " + name + "=\"" + app::xml_text(valid_utf8(value)) + "\"";
}

std::string test_case(const VariantResult& result) {
  std::string text = "    <testcase" + attribute("classname", result.benchmark->name) +
                     attribute("name", result.variant.name) +
                     fmt::format(" time=\"{:.3f}\">\n", result.seconds());
  std::string properties;
  for (const Spread& spread : result.spreads()) {
    if (spread.values.empty()) continue;
    properties += "        <property" + attribute("name", spread.name + "." + spread.reduction) +
                  attribute("value", Json(spread.middle()).dump()) + "/>\n";
  }
  if (!properties.empty()) text += "      <properties>\n" + properties + "      </properties>\n";
  if (!result.skipped.empty()) {
    text += "      <skipped" + attribute("message", result.skipped) + "/>\n";
  }
  for (const Repetition& one : result.repetitions) {
    if (one.code == 0) continue;
    std::string errors;
    for (const std::string& line : one.last_errors) {
      errors += app::xml_text(valid_utf8(line)) + "\n";
    }
    text += "      <failure" + attribute("message", one.failure) + ">" + errors + "</failure>\n";
    break;
  }
  return text + "    </testcase>\n";
}

// "tests", "failures", "skipped" and "time" of some results.
std::string counts(const std::vector<const VariantResult*>& results) {
  double seconds = 0;
  size_t failures = 0;
  size_t skipped = 0;
  for (const VariantResult* one : results) {
    seconds += one->seconds();
    failures += one->has_failed() ? 1 : 0;
    skipped += one->skipped.empty() ? 0 : 1;
  }
  return fmt::format(" tests=\"{}\" failures=\"{}\" skipped=\"{}\" time=\"{:.3f}\"", results.size(),
                     failures, skipped, seconds);
}

}  // namespace

std::string results_json(const std::vector<VariantResult>& results) {
  std::map<std::string, std::vector<Json>> benchmarks;
  for (const VariantResult& one : results) {
    if (!one.repetitions.empty()) benchmarks[one.benchmark->name].push_back(to_json(one));
  }
  return Json(benchmarks).dump(2) + "\n";
}

std::string results_csv(const std::vector<VariantResult>& results, const CsvColumns& columns) {
  std::vector<std::string> head = {"benchmark name", "Variant name", "throughput", "latency",
                                   "total_compiling_time"};
  if (columns.additional) {
    head.insert(head.end(), {"test_duration", "loss", "result", "cmd", "env", "git_commit_hash"});
  }
  head.insert(head.end(), columns.metrics.begin(), columns.metrics.end());
  std::string text = csv_line(head);
  for (const VariantResult& one : results) {
    if (one.repetitions.empty()) continue;
    const std::vector<Spread> spreads = one.spreads();
    std::vector<std::string> cells = {one.benchmark->name, one.variant.name};
    for (const char* name : {"throughput", "latency", "total_compiling_time"}) {
      cells.push_back(value_text(spreads, name));
    }
    if (columns.additional) {
      const Json env(
          std::map<std::string, std::string>(one.benchmark->env.begin(), one.benchmark->env.end()));
      cells.insert(cells.end(), {fmt::format("{:.6f}", one.seconds()), value_text(spreads, "loss"),
                                 one.has_failed() ? "FAILED" : "PASSED", one.command, env.dump(),
                                 one.git_commit});
    }
    for (const std::string& name : columns.metrics) cells.push_back(value_text(spreads, name));
    text += csv_line(cells);
  }
  return text;
}

std::string results_xml(const std::vector<VariantResult>& results) {
  std::vector<const VariantResult*> all;
  std::vector<std::string> names;  // of the benchmarks, in their order
  for (const VariantResult& one : results) {
    all.push_back(&one);
    if (names.empty() || names.back() != one.benchmark->name) names.push_back(one.benchmark->name);
  }
  std::string text =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" + counts(all) + ">\n";
  for (const std::string& name : names) {
    std::vector<const VariantResult*> own;
    std::string cases;
    for (const VariantResult& one : results) {
      if (one.benchmark->name != name) continue;
      own.push_back(&one);
      cases += test_case(one);
    }
    text +=
        "  <testsuite" + attribute("name", name) + counts(own) + ">\n" + cases + "  </testsuite>\n";
  }
  return text + "</testsuites>\n";
}

}  // namespace pando::benchmark
