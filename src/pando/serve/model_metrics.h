// The metrics of one version of a model, under the names of TensorFlow Serving and Triton.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "pando/serve/infer.h"
#include "pando/serve/metrics.h"

namespace pando::serve {

// The metrics of a version are removed with the last object of the version.
class ModelMetrics {
 public:
  ModelMetrics(Metrics& metrics, const std::string& model, int64_t version);

  void answered(const Status& status, int64_t samples, const RequestTimes& times, double seconds);
  void refused(const Status& status);
  void computed(int64_t samples);  // one batch
  void waiting(int64_t samples) { queued_.set(static_cast<double>(samples)); }

 private:
  void count(const Status& status);

  Metrics& metrics_;
  std::string model_;
  std::shared_ptr<const void> owner_;  // of what is counted for this version only
  Counter& ok_;
  Counter& success_;
  Counter& failure_;
  Counter& samples_;
  Counter& batches_;
  Counter& request_us_;
  Counter& queue_us_;
  Counter& input_us_;
  Counter& compute_us_;
  Counter& output_us_;
  Histogram& read_;
  Histogram& queue_;
  Histogram& input_;
  Histogram& compute_;
  Histogram& output_;
  Histogram& latency_;
  Histogram& batch_;
  Gauge& queued_;
};

}  // namespace pando::serve
