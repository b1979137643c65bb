// Counters, gauges and histograms that any thread may change, and their text for Prometheus.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace pando::serve {

// Names and values; values may hold any text.
using MetricLabels = std::vector<std::pair<std::string, std::string>>;

class Counter {
 public:
  void add(double amount = 1) { value_.fetch_add(amount, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

class Gauge {
 public:
  void set(double value) { value_.store(value, std::memory_order_relaxed); }
  void add(double amount) { value_.fetch_add(amount, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

// Counts values up to each bound, and all.
class Histogram {
 public:
  explicit Histogram(std::vector<double> bounds);  // ascending

  void observe(double value);
  const std::vector<double>& bounds() const { return bounds_; }
  // Values up to bounds()[i], not those up to the bound before; the last: above all bounds.
  std::vector<int64_t> counts() const;
  double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  std::vector<double> bounds_;
  std::deque<std::atomic<int64_t>> counts_;
  std::atomic<double> sum_{0};
};

// first, first * factor, ...: TensorFlow Serving's are (10, 1.8, 33), in microseconds.
std::vector<double> exponential_bounds(double first, double factor, int count);

// Metrics live as long as the registry, unless they have owners. The first call for a name and
// labels makes the metric, later ones find it; a name has one kind and one help text. Every method
// may be called by any thread, but keep the reference instead of asking for each request.
class Metrics {
 public:
  Counter& counter(const std::string& name, const std::string& help,
                   const MetricLabels& labels = {});
  Gauge& gauge(const std::string& name, const std::string& help, const MetricLabels& labels = {});
  Histogram& histogram(const std::string& name, const std::string& help,
                       const std::vector<double>& bounds, const MetricLabels& labels = {});
  // Owns all metrics with exactly these labels, of any name; a user of the metrics keeps an owner.
  // When the last owner has been destroyed, the next call of own() or text() removes the metrics.
  void own(const MetricLabels& labels, std::weak_ptr<const void> owner);
  // text() calls the function before it reads, for gauges that are computed only then.
  void before_text(std::function<void()> update);

  // In the text format 0.0.4 of Prometheus.
  std::string text() const;

 private:
  enum class Kind { counter, gauge, histogram };
  struct Family {
    Kind kind = Kind::counter;
    std::string help;
    std::map<std::string, std::unique_ptr<Counter>> counters;  // by their labels as text
    std::map<std::string, std::unique_ptr<Gauge>> gauges;
    std::map<std::string, std::unique_ptr<Histogram>> histograms;
  };
  Family& family(const std::string& name, const std::string& help, Kind kind);
  void remove_left() const;

  mutable std::mutex mutex_;
  mutable std::map<std::string, Family> families_;
  mutable std::map<std::string, std::vector<std::weak_ptr<const void>>> owners_;  // by labels
  std::vector<std::function<void()>> updates_;
};

}  // namespace pando::serve
