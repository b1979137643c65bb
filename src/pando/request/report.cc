// SPDX-License-Identifier: MIT
#include "pando/request/report.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/core.h>

#include "pando/base/json.h"

namespace pando::request {
namespace {

constexpr int kClasses = 20;
constexpr std::pair<const char*, double> kShares[] = {
    {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}};

std::string milliseconds(double seconds) {
  const double ms = seconds * 1e3;
  return fmt::format("{:.{}f}", ms, ms < 10 ? 3 : ms < 100 ? 2 : 1);
}

}  // namespace

std::vector<LatencyClass> histogram_of(const LoadResult& result) {
  std::vector<LatencyClass> classes;
  if (result.latencies.empty()) return classes;
  const double least = std::max(result.latencies.front(), 1e-6);
  const double most = std::max(result.latencies.back(), least * 1.1);
  const double factor = std::pow(most / least, 1.0 / kClasses);
  size_t next = 0;
  for (int i = 0; i < kClasses; ++i) {
    LatencyClass one{.from = least * std::pow(factor, i), .to = least * std::pow(factor, i + 1)};
    const bool is_last = i + 1 == kClasses;
    while (next < result.latencies.size() && (is_last || result.latencies[next] < one.to)) {
      ++one.count;
      ++next;
    }
    classes.push_back(one);
  }
  return classes;
}

std::string first_latency_text(const std::vector<double>& latencies) {
  if (latencies.empty()) return "";
  const auto [least, most] = std::ranges::minmax(latencies);
  const double sum = std::accumulate(latencies.begin(), latencies.end(), 0.0);
  return fmt::format("-- Latency of worker 0: avg {:.3f} ms, min {:.3f} ms, max {:.3f} ms.\n",
                     sum / static_cast<double>(latencies.size()) * 1e3, least * 1e3, most * 1e3);
}

std::string percentile_text(const LoadResult& result) {
  if (result.latencies.empty()) return "Latency in ms: no answers\n";
  std::string text = "Latency in ms:";
  for (const auto& [name, share] : kShares) {
    text += fmt::format(" {} {},", name, milliseconds(result.percentile(share)));
  }
  return text + fmt::format(" max {}\n", milliseconds(result.latencies.back()));
}

std::string histogram_text(const LoadResult& result) {
  constexpr double kColumns = 50;
  const std::vector<LatencyClass> classes = histogram_of(result);
  int64_t most = 1;
  for (const LatencyClass& one : classes) most = std::max(most, one.count);
  std::string text;
  for (const LatencyClass& one : classes) {
    const double share = static_cast<double>(one.count) / static_cast<double>(most);
    const auto columns = static_cast<size_t>(std::ceil(share * kColumns));
    text += fmt::format("{:>9} to {:>9} ms |{:<50} {}\n", milliseconds(one.from),
                        milliseconds(one.to), std::string(columns, '#'), one.count);
  }
  return text;
}

std::string error_text(const LoadResult& result) {
  std::string text;
  for (const auto& [code, count] : result.errors) {
    text += fmt::format("Failed: {} x {}: {}\n", count, code, result.texts.at(code));
  }
  if (!result.refusals.empty()) {
    text += fmt::format("Time to fail in ms: p50 {}, p99 {}, max {}\n",
                        milliseconds(percentile_of(result.refusals, 0.5)),
                        milliseconds(percentile_of(result.refusals, 0.99)),
                        milliseconds(result.refusals.back()));
  }
  return text;
}

std::string histogram_svg(const LoadResult& result) {
  constexpr double kWidth = 640;
  constexpr double kHeight = 320;
  constexpr double kMargin = 40;
  const std::vector<LatencyClass> classes = histogram_of(result);
  int64_t most = 1;
  for (const LatencyClass& one : classes) most = std::max(most, one.count);
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" font-family=\"sans-serif\" font-size=\"11\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"{2}\" y=\"20\">{3} answers: p50 {4} ms, p99 {5} ms</text>\n",
      kWidth, kHeight, kMargin, result.latencies.size(), milliseconds(result.percentile(0.5)),
      milliseconds(result.percentile(0.99)));
  const double step = (kWidth - 2 * kMargin) / kClasses;
  for (size_t i = 0; i < classes.size(); ++i) {
    const double share = static_cast<double>(classes[i].count) / static_cast<double>(most);
    const double height = share * (kHeight - 2 * kMargin);
    const double x = kMargin + static_cast<double>(i) * step;
    text += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"#3572a5\">"
        "<title>{} to {} ms: {}</title></rect>\n",
        x, kHeight - kMargin - height, step - 2, height, milliseconds(classes[i].from),
        milliseconds(classes[i].to), classes[i].count);
    if (i % 4 == 0) {
      text += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x, kHeight - 24,
                          milliseconds(classes[i].from));
    }
  }
  return text +
         fmt::format("<text x=\"{}\" y=\"{}\">ms</text>\n</svg>\n", kWidth - kMargin, kHeight - 24);
}

std::string result_json(const LoadResult& result, int64_t batch) {
  const auto answers = static_cast<int64_t>(result.latencies.size());
  Json json = Json::object();
  json["seconds"] = result.seconds;
  json["requests"] = answers + result.failed();
  json["answers"] = answers;
  json["samples"] = answers * batch;
  json["samples_per_second"] =
      result.seconds > 0 ? static_cast<double>(answers * batch) / result.seconds : 0.0;
  for (const auto& [name, share] : kShares) {
    json["latency_ms"][name] = result.percentile(share) * 1e3;
  }
  json["failure_ms"]["p50"] = percentile_of(result.refusals, 0.5) * 1e3;
  json["failure_ms"]["p99"] = percentile_of(result.refusals, 0.99) * 1e3;
  json["errors"] = Json::object();
  for (const auto& [code, count] : result.errors) json["errors"][code] = count;
  json["histogram"] = Json::array();
  for (const LatencyClass& one : histogram_of(result)) {
    Json entry = Json::object();
    entry["from_ms"] = one.from * 1e3;
    entry["to_ms"] = one.to * 1e3;
    entry["count"] = one.count;
    json["histogram"].push_back(std::move(entry));
  }
  return json.dump(1) + "\n";
}

}  // namespace pando::request
