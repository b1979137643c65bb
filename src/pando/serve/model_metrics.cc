// SPDX-License-Identifier: MIT
#include "pando/serve/model_metrics.h"

namespace pando::serve {

namespace {

MetricLabels labels_of(const std::string& model, int64_t version) {
  return {{"model", model}, {"version", std::to_string(version)}};
}

// Made before the metrics, so that they are not removed in between.
std::shared_ptr<const void> owner_of(Metrics& metrics, const std::string& model, int64_t version) {
  auto owner = std::make_shared<int>();
  metrics.own(labels_of(model, version), owner);
  return owner;
}

Counter& triton(Metrics& metrics, const char* name, const char* help, const std::string& model,
                int64_t version) {
  return metrics.counter(name, help, labels_of(model, version));
}

Counter& result_counter(Metrics& metrics, const std::string& model, const Status& status) {
  return metrics.counter(":tensorflow:serving:request_count", "Requests by model and result.",
                         {{"model_name", model}, {"status", std::string(to_string(status.code))}});
}

Histogram& phase(Metrics& metrics, const std::string& model, const char* name) {
  return metrics.histogram("pando_request_phase_us",
                           "Time of requests by phase: read, queue, input, compute, output.",
                           exponential_bounds(10, 1.8, 33), {{"model", model}, {"phase", name}});
}

}  // namespace

ModelMetrics::ModelMetrics(Metrics& metrics, const std::string& model, int64_t version)
    : metrics_(metrics),
      model_(model),
      owner_(owner_of(metrics, model, version)),
      ok_(result_counter(metrics, model, {})),
      success_(triton(metrics, "nv_inference_request_success", "Requests that were answered.",
                      model, version)),
      failure_(
          triton(metrics, "nv_inference_request_failure", "Requests that failed.", model, version)),
      samples_(
          triton(metrics, "nv_inference_count", "Samples that were computed.", model, version)),
      batches_(triton(metrics, "nv_inference_exec_count", "Batches that were computed.", model,
                      version)),
      request_us_(triton(metrics, "nv_inference_request_duration_us",
                         "Time of requests, in microseconds.", model, version)),
      queue_us_(triton(metrics, "nv_inference_queue_duration_us",
                       "Time that requests waited, in microseconds.", model, version)),
      input_us_(triton(metrics, "nv_inference_compute_input_duration_us",
                       "Time to decode and prepare inputs, in microseconds.", model, version)),
      compute_us_(triton(metrics, "nv_inference_compute_infer_duration_us",
                         "Time to compute, in microseconds.", model, version)),
      output_us_(triton(metrics, "nv_inference_compute_output_duration_us",
                        "Time to hand over results, in microseconds.", model, version)),
      read_(phase(metrics, model, "read")),
      queue_(phase(metrics, model, "queue")),
      input_(phase(metrics, model, "input")),
      compute_(phase(metrics, model, "compute")),
      output_(phase(metrics, model, "output")),
      latency_(metrics.histogram(":tensorflow:serving:runtime_latency",
                                 "Time from acceptance to answer, in microseconds.",
                                 exponential_bounds(10, 1.8, 33), {{"model_name", model}})),
      batch_(metrics.histogram("pando_batch_size", "Samples that were computed together.",
                               exponential_bounds(1, 2, 11), {{"model", model}})),
      queued_(metrics.gauge("pando_queue_samples", "Samples that wait for a worker.",
                            labels_of(model, version))) {}

void ModelMetrics::count(const Status& status) {
  (status.ok() ? ok_ : result_counter(metrics_, model_, status)).add();
}

void ModelMetrics::answered(const Status& status, int64_t samples, const RequestTimes& times,
                            double seconds) {
  constexpr double kMicros = 1e6;
  count(status);
  if (!status.ok()) {
    failure_.add();
    return;
  }
  success_.add();
  samples_.add(static_cast<double>(samples));
  request_us_.add(seconds * kMicros);
  latency_.observe(seconds * kMicros);
  const auto add = [&](Counter& total, Histogram& histogram, double value) {
    total.add(value * kMicros);
    histogram.observe(value * kMicros);
  };
  read_.observe(times.read * kMicros);
  add(queue_us_, queue_, times.queue);
  add(input_us_, input_, times.input);
  add(compute_us_, compute_, times.compute);
  add(output_us_, output_, times.output);
}

void ModelMetrics::refused(const Status& status) {
  count(status);
  failure_.add();
  metrics_
      .counter("pando_shed_total", "Requests that were refused at once.",
               {{"model", model_}, {"code", std::string(to_string(status.code))}})
      .add();
}

void ModelMetrics::computed(int64_t samples) {
  batches_.add();
  batch_.observe(static_cast<double>(samples));
}

}  // namespace pando::serve
