// SPDX-License-Identifier: MIT
#include "pando/serve/metrics.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "pando/base/error.h"

namespace pando::serve {

namespace {

std::string escaped(const std::string& text, bool quotes) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') {
      result += "\\\\";
    } else if (c == '\n') {
      result += "\\n";
    } else if (c == '"' && quotes) {
      result += "\\\"";
    } else {
      result += c;
    }
  }
  return result;
}

// `model="a",version="1"`; also the key of a metric within its family.
std::string label_text(const MetricLabels& labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    if (!text.empty()) text += ',';
    text += fmt::format("{}=\"{}\"", name, escaped(value, true));
  }
  return text;
}

std::string in_braces(const std::string& labels) {
  return labels.empty() ? "" : "{" + labels + "}";
}

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

void write_histogram(std::string& text, const std::string& name, const std::string& labels,
                     const Histogram& histogram) {
  const std::vector<int64_t> counts = histogram.counts();
  const std::string comma = labels.empty() ? "" : ",";
  int64_t total = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    total += counts[i];
    const std::string bound =
        i < histogram.bounds().size() ? number_text(histogram.bounds()[i]) : "+Inf";
    text += fmt::format("{}_bucket{{{}{}le=\"{}\"}} {}\n", name, labels, comma, bound, total);
  }
  text += fmt::format("{}_sum{} {}\n", name, in_braces(labels), number_text(histogram.sum()));
  text += fmt::format("{}_count{} {}\n", name, in_braces(labels), total);
}

}  // namespace

Histogram::Histogram(std::vector<double> bounds)
    : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {
  PANDO_CHECK(std::ranges::is_sorted(bounds_), "bounds of a histogram");
}

void Histogram::observe(double value) {
  const auto bucket = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
  counts_[static_cast<size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

std::vector<int64_t> Histogram::counts() const {
  std::vector<int64_t> counts;
  counts.reserve(counts_.size());
  for (const auto& count : counts_) counts.push_back(count.load(std::memory_order_relaxed));
  return counts;
}

std::vector<double> exponential_bounds(double first, double factor, int count) {
  std::vector<double> bounds;
  double bound = first;
  for (int i = 0; i < count; ++i, bound *= factor) bounds.push_back(bound);
  return bounds;
}

Metrics::Family& Metrics::family(const std::string& name, const std::string& help, Kind kind) {
  const auto [place, is_new] = families_.try_emplace(name);
  if (is_new) {
    place->second.kind = kind;
    place->second.help = help;
  }
  PANDO_CHECK(place->second.kind == kind, "metric ", name, " has two kinds");
  return place->second;
}

Counter& Metrics::counter(const std::string& name, const std::string& help,
                          const MetricLabels& labels) {
  const std::lock_guard lock(mutex_);
  auto& place = family(name, help, Kind::counter).counters[label_text(labels)];
  if (place == nullptr) place = std::make_unique<Counter>();
  return *place;
}

Gauge& Metrics::gauge(const std::string& name, const std::string& help,
                      const MetricLabels& labels) {
  const std::lock_guard lock(mutex_);
  auto& place = family(name, help, Kind::gauge).gauges[label_text(labels)];
  if (place == nullptr) place = std::make_unique<Gauge>();
  return *place;
}

Histogram& Metrics::histogram(const std::string& name, const std::string& help,
                              const std::vector<double>& bounds, const MetricLabels& labels) {
  const std::lock_guard lock(mutex_);
  auto& place = family(name, help, Kind::histogram).histograms[label_text(labels)];
  if (place == nullptr) place = std::make_unique<Histogram>(bounds);
  return *place;
}

void Metrics::own(const MetricLabels& labels, std::weak_ptr<const void> owner) {
  const std::lock_guard lock(mutex_);
  owners_[label_text(labels)].push_back(std::move(owner));
  remove_left();
}

// Requires: the mutex is held.
void Metrics::remove_left() const {
  for (auto at = owners_.begin(); at != owners_.end();) {
    std::erase_if(at->second, [](const auto& owner) { return owner.expired(); });
    if (!at->second.empty()) {
      ++at;
      continue;
    }
    for (auto& [name, family] : families_) {
      family.counters.erase(at->first);
      family.gauges.erase(at->first);
      family.histograms.erase(at->first);
    }
    at = owners_.erase(at);
  }
}

void Metrics::before_text(std::function<void()> update) {
  const std::lock_guard lock(mutex_);
  updates_.push_back(std::move(update));
}

std::string Metrics::text() const {
  std::vector<std::function<void()>> updates;
  {
    const std::lock_guard lock(mutex_);
    updates = updates_;
  }
  for (const auto& update : updates) update();  // may ask for metrics, so without the lock
  const std::lock_guard lock(mutex_);
  remove_left();
  std::string text;
  for (const auto& [name, family] : families_) {
    constexpr const char* kKinds[] = {"counter", "gauge", "histogram"};
    text += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, escaped(family.help, false), name,
                        kKinds[static_cast<int>(family.kind)]);
    for (const auto& [labels, counter] : family.counters) {
      text += fmt::format("{}{} {}\n", name, in_braces(labels), number_text(counter->value()));
    }
    for (const auto& [labels, gauge] : family.gauges) {
      text += fmt::format("{}{} {}\n", name, in_braces(labels), number_text(gauge->value()));
    }
    for (const auto& [labels, histogram] : family.histograms) {
      write_histogram(text, name, labels, *histogram);
    }
  }
  return text;
}

}  // namespace pando::serve
