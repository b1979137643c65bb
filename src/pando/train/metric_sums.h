// Running sums of an epoch or an evaluation, and the figures computed from them.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "pando/runtime/executor.h"
#include "pando/train/history.h"
#include "pando/train/parallel_options.h"

namespace pando::train {

// The output of a weighted metric has this before its name. Its value is its sum divided by the sum
// of the samples' weights, which is the output `kWeightSum` and is not shown itself.
inline const std::string kWeightedMetric = "weighted/";
inline const std::string kWeightSum = "weighted/";

class MetricSums {
 public:
  MetricSums(std::vector<std::string> metric_names, MetricReduction reduction)
      : names_(std::move(metric_names)), reduction_(reduction) {
    names_.insert(names_.begin(), "loss");
    for (std::string& name : names_) {
      weighted_.push_back(name.starts_with(kWeightedMetric));
      if (weighted_.back()) name.erase(0, kWeightedMetric.size());
    }
    // The sum of the weights is the last output.
    if (weighted_.back()) names_.pop_back();
  }

  void add(const runtime::ExecutionTotals& totals) {
    all_.add(totals.all);
    replicas_.resize(totals.replicas.size());
    for (size_t i = 0; i < replicas_.size(); ++i) replicas_[i].add(totals.replicas[i]);
  }
  // One step of each replica.
  void add(const std::vector<runtime::Totals>& replicas) {
    replicas_.resize(replicas.size());
    for (size_t i = 0; i < replicas.size(); ++i) {
      all_.add(replicas[i]);
      replicas_[i].add(replicas[i]);
    }
  }

  // The sums of all replicas together, then of each, to continue them later.
  std::vector<runtime::Totals> totals() const {
    std::vector<runtime::Totals> totals = {all_};
    totals.insert(totals.end(), replicas_.begin(), replicas_.end());
    return totals;
  }
  // Continues sums that totals() returned; none: begins with zeros.
  void restore(const std::vector<runtime::Totals>& totals) {
    if (totals.empty()) return;
    all_ = totals.front();
    replicas_.assign(totals.begin() + 1, totals.end());
  }

  // Sums over all replicas, whatever the reduction of the logs.
  LogSums sums() const {
    LogSums sums{.samples = all_.samples, .sums = {{names_[0], all_.loss}}};
    const Logs shown = means(all_, "");
    for (size_t i = 1; i < names_.size(); ++i) {
      sums.sums.emplace_back(
          names_[i], weighted_[i] ? WideSum(shown[i].second * count_of(all_)) : metric(all_, i));
    }
    return sums;
  }

  Logs logs(const std::string& prefix = "") const {
    if (reduction_ == MetricReduction::mean || replicas_.size() <= 1) return means(all_, prefix);
    // At the end of the data some replicas may have no samples; they are left out.
    std::vector<const runtime::Totals*> told;
    for (const runtime::Totals& replica : replicas_) {
      if (replica.samples > 0) told.push_back(&replica);
    }
    Logs logs;
    if (told.empty()) return means(all_, prefix);
    if (reduction_ == MetricReduction::none) return means(*told.back(), prefix);
    if (reduction_ == MetricReduction::sum) {
      for (const runtime::Totals* replica : told) {
        const Logs more = means(*replica, prefix);
        if (logs.empty()) logs = Logs(more.size());
        for (size_t i = 0; i < more.size(); ++i) {
          logs[i] = {more[i].first, logs[i].second + more[i].second};
        }
      }
      return logs;
    }
    for (size_t metric = 0; metric < names_.size(); ++metric) {
      for (size_t i = 0; i < replicas_.size(); ++i) {
        if (replicas_[i].samples == 0) continue;
        const auto [name, value] = means(replicas_[i], prefix)[metric];
        logs.emplace_back(concat(name, "[", i, "]"), value);
      }
    }
    return logs;
  }

 private:
  Logs means(const runtime::Totals& totals, const std::string& prefix) const {
    const double count = count_of(totals);
    Logs logs = {{prefix + names_[0], totals.loss / count}};
    for (size_t i = 1; i < names_.size(); ++i) {
      const double weights = weighted_[i] ? double{metric(totals, names_.size())} : count;
      logs.emplace_back(prefix + names_[i], weights == 0 ? 0 : metric(totals, i) / weights);
    }
    return logs;
  }
  static double count_of(const runtime::Totals& totals) {
    return static_cast<double>(std::max<int64_t>(totals.samples, 1));
  }
  WideSum metric(const runtime::Totals& totals, size_t name) const {
    return name <= totals.metrics.size() ? totals.metrics[name - 1] : WideSum();
  }

  std::vector<std::string> names_;  // the loss, then the metrics
  std::vector<bool> weighted_;      // whether the metric of that place is weighted
  MetricReduction reduction_;
  runtime::Totals all_;
  std::vector<runtime::Totals> replicas_;
};

}  // namespace pando::train
