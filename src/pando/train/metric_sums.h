// Running sums of an epoch or an evaluation, and the figures computed from them.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "pando/runtime/executor.h"
#include "pando/train/history.h"
#include "pando/train/parallel_options.h"
#include "pando/train/programs.h"

namespace pando::train {

class MetricSums {
 public:
  // `widths`: the sums of each column.
  MetricSums(std::vector<MetricColumn> columns, const std::vector<size_t>& widths,
             MetricReduction reduction)
      : columns_(std::move(columns)), reduction_(reduction) {
    size_t first = 0;
    for (const size_t width : widths) {
      places_.push_back({first, width});
      first += width;
    }
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

  // Sums over all replicas, for any reduction of the logs.
  LogSums sums() const {
    LogSums sums{.samples = all_.samples, .sums = {{"loss", all_.loss}}};
    const Logs shown = means(all_, "");
    for (size_t i = 0, row = 1; i < columns_.size(); ++i) {
      if (columns_[i].weight_sum) continue;
      const bool mean = is_mean(i) && !columns_[i].weighted;
      sums.sums.emplace_back(shown[row].first, mean ? sum_at(all_, places_[i].first)
                                                    : WideSum(shown[row].second * count_of(all_)));
      if (!is_mean(i) && !columns_[i].weighted) {
        sums.no_means.emplace_back(shown[row].first, sums_of(i));
      }
      ++row;
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
    for (size_t metric = 0; metric < means(all_, prefix).size(); ++metric) {
      for (size_t i = 0; i < replicas_.size(); ++i) {
        if (replicas_[i].samples == 0) continue;
        const auto [name, value] = means(replicas_[i], prefix)[metric];
        logs.emplace_back(concat(name, "[", i, "]"), value);
      }
    }
    return logs;
  }

 private:
  struct Place {
    size_t first = 0;
    size_t width = 1;
  };
  Logs means(const runtime::Totals& totals, const std::string& prefix) const {
    const double count = count_of(totals);
    Logs logs = {{prefix + "loss", totals.loss / count}};
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].weight_sum) continue;
      logs.emplace_back(prefix + columns_[i].name, value_of(totals, i, count));
    }
    return logs;
  }
  double value_of(const runtime::Totals& totals, size_t column, double count) const {
    const MetricColumn& own = columns_[column];
    if (own.weighted) {
      size_t weights = column + 1;
      while (!columns_[weights].weight_sum) ++weights;
      count = double{sum_at(totals, places_[weights].first)};
      if (count == 0) return 0;
    }
    if (is_mean(column)) return sum_at(totals, places_[column].first) / count;
    std::vector<double> sums;
    for (size_t i = 0; i < places_[column].width; ++i) {
      sums.push_back(double{sum_at(totals, places_[column].first + i)});
    }
    return own.metric->finish(sums, count);
  }
  // The sums of a metric that is not a mean, to add them to those of other executions.
  LogSums::Metric sums_of(size_t column) const {
    LogSums::Metric result;
    for (size_t i = 0; i < places_[column].width; ++i) {
      result.sums.push_back(sum_at(all_, places_[column].first + i));
    }
    result.value = [metric = columns_[column].metric](const std::vector<WideSum>& sums,
                                                      double samples) {
      return metric->finish(std::vector<double>(sums.begin(), sums.end()), samples);
    };
    return result;
  }
  // Whether its value is its sum divided by a count.
  bool is_mean(size_t column) const {
    return columns_[column].metric == nullptr || columns_[column].metric->is_mean();
  }
  static double count_of(const runtime::Totals& totals) {
    return static_cast<double>(std::max<int64_t>(totals.samples, 1));
  }
  static WideSum sum_at(const runtime::Totals& totals, size_t place) {
    return place < totals.metrics.size() ? totals.metrics[place] : WideSum();
  }

  std::vector<MetricColumn> columns_;
  std::vector<Place> places_;  // of the sums of each column
  MetricReduction reduction_;
  runtime::Totals all_;
  std::vector<runtime::Totals> replicas_;
};

}  // namespace pando::train
