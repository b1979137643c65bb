// Predicts how long one weight update takes on many instances, from the times of the stages, the
// moments at which gradients are complete, and the link between the instances.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "pando/plan/link.h"
#include "pando/runtime/program/schedule.h"

namespace pando::plan {

// Gradients that one call of backward completes.
struct Gradient {
  double bytes = 0;
  double left = 0;  // remaining seconds of the stage's backward
};

struct Stage {
  runtime::StageSeconds seconds;    // for one micro-batch
  std::vector<Gradient> gradients;  // in the order in which backward completes them
};

// The work of an instance for one weight update, without communication.
struct Work {
  std::vector<Stage> stages;
  PipelineSchedule schedule = PipelineSchedule::grouped;
  int64_t micro_batches = 1;
  double before = 0;             // seconds before the first micro-batch: packing of weights
  double after = 0;              // seconds of the weight update itself
  double accumulation_rate = 0;  // bytes of gradients added per second; 0: takes no time
};

// How the instances exchange gradients: each sums its share of a bucket and sends the sums to all
// others.
struct Exchange {
  int instances = 1;
  int instances_per_host = 1;
  Link link;                      // the link of a host, shared by its instances
  int lanes = 1;                  // of an instance; their gradients are summed before sending
  double bucket_bytes = 1 << 20;  // minimum number of bytes that are sent together
  double wire_share = 1;          // factor on the bytes sent: 1/2 in half precision
  double flag_bytes = 64;         // sent by every instance to all others, once per update
  // Bytes per second that one worker copies or sums, because one worker of an instance does each
  // part of an exchange; 0: takes no time.
  double copy_rate = 0;
  double sum_rate = 0;
};

struct Bucket {
  double bytes = 0;
  double ready = 0;  // seconds after the first micro-batch began
};

struct Prediction {
  double seconds = 0;     // for one weight update
  double exposed = 0;     // part of `seconds` that is only due to communication
  double bytes_sent = 0;  // by each instance
  int buckets = 0;
  double exposed_share() const { return seconds > 0 ? exposed / seconds : 0; }
};

// Seconds from the first micro-batch to the end of the last one, and when each stage is done.
struct Timeline {
  double seconds = 0;
  std::vector<double> stage_ends;
};
Timeline timeline(const Work& work);

// Buckets in the order in which they are complete. Every stage fills its own buckets.
std::vector<Bucket> fill_buckets(const Work& work, const Timeline& times, double bucket_bytes);

// Requires: at least one stage, at least one instance. `times` is timeline(work).
Prediction predict(const Work& work, const Timeline& times, const Exchange& exchange);

}  // namespace pando::plan
