// SPDX-License-Identifier: MIT
#include "pando/plan/predict.h"

#include <algorithm>
#include <queue>
#include <tuple>

#include "pando/base/error.h"

namespace pando::plan {

namespace {

double over(double bytes, double rate) { return rate > 0 ? bytes / rate : 0; }

// A pipeline is simulated for at most this many micro-batches; each further one is assumed to take
// as long as the last.
constexpr int64_t kMostPlayed = 64;

double gradient_bytes(const Stage& stage) {
  double bytes = 0;
  for (const Gradient& gradient : stage.gradients) bytes += gradient.bytes;
  return bytes;
}

// Seconds of the stages, including adding to the accumulator after every micro-batch.
std::vector<runtime::StageSeconds> stage_seconds(const Work& work) {
  std::vector<runtime::StageSeconds> seconds;
  for (const Stage& stage : work.stages) {
    seconds.push_back(stage.seconds);
    if (work.micro_batches > 1) {
      seconds.back().backward += over(gradient_bytes(stage), work.accumulation_rate);
    }
  }
  return seconds;
}

runtime::Playback play(const Work& work, int64_t micro_batches) {
  return runtime::play({.schedule = work.schedule,
                        .stages = static_cast<int>(work.stages.size()),
                        .micro_batches = static_cast<int>(micro_batches)},
                       stage_seconds(work));
}

// The cost for one instance and its host to exchange `bytes`.
class Traffic {
 public:
  explicit Traffic(const Exchange& exchange)
      : exchange_(exchange),
        all_(exchange.instances),
        local_(std::min(exchange.instances, exchange.instances_per_host)) {}

  double others() const { return all_ - 1; }
  // Bytes sent in each of the two phases of a sum: an instance sends a share to every other, or
  // receives one.
  double sent(double bytes) const { return exchange_.wire_share * bytes * others() / all_; }

  // Seconds that the link of a host is busy while its instances send a share of `share` bytes to
  // each instance on other hosts.
  double link_seconds(double share) const {
    const double remote = all_ - local_;
    return others() * exchange_.link.overhead +
           over(local_ * remote * share, exchange_.link.bandwidth.bytes_per_second);
  }
  // Seconds that a worker spends to send `bytes` and to receive as many.
  double copy_seconds(double bytes) const {
    return exchange_.link.copies * over(2 * bytes, exchange_.copy_rate);
  }
  double sum_seconds(double bytes) const {
    return over(bytes * others() / all_, exchange_.sum_rate);
  }
  // Seconds to sum the lanes before sending, spent by the worker that completes the bucket.
  double lane_seconds(double bytes) const {
    return over((exchange_.lanes - 1) * bytes, exchange_.sum_rate);
  }

  // Seconds of an exchange in which a worker cannot compute.
  double worker_seconds(double bytes) const {
    return 2 * (others() * exchange_.link.overhead + copy_seconds(sent(bytes))) +
           sum_seconds(bytes) + lane_seconds(bytes);
  }

 private:
  const Exchange& exchange_;
  double all_;
  double local_;
};

// One transfer over the link of a host. A bucket is scattered first and gathered later.
struct Transfer {
  double ready = 0;
  size_t bucket = 0;
  bool gathers = false;
  bool operator>(const Transfer& other) const {
    return std::tie(ready, bucket, gathers) > std::tie(other.ready, other.bucket, other.gathers);
  }
};

// The time at which the last bucket arrives, if the link handles one transfer after the other.
double last_arrival(const std::vector<Bucket>& buckets, const Exchange& exchange,
                    const Traffic& traffic) {
  std::priority_queue<Transfer, std::vector<Transfer>, std::greater<>> waiting;
  for (size_t i = 0; i < buckets.size(); ++i) {
    waiting.push({buckets[i].ready + traffic.lane_seconds(buckets[i].bytes), i, false});
  }
  double link_free = 0;
  double last = 0;
  while (!waiting.empty()) {
    const Transfer transfer = waiting.top();
    waiting.pop();
    const double bytes = buckets[transfer.bucket].bytes;
    const double begin = std::max(link_free, transfer.ready);
    link_free = begin + traffic.link_seconds(exchange.wire_share * bytes / exchange.instances);
    const double there = link_free + exchange.link.latency.seconds;
    if (transfer.gathers) {
      last = std::max(last, there);
    } else {
      waiting.push({there + traffic.sum_seconds(bytes), transfer.bucket, true});
    }
  }
  return last;
}

}  // namespace

Timeline timeline(const Work& work) {
  PANDO_CHECK(!work.stages.empty() && work.micro_batches > 0,
              "expected at least one stage and one micro-batch, got ", work.stages.size(),
              " stages and ", work.micro_batches, " micro-batches");
  if (work.stages.size() == 1) {
    const runtime::StageSeconds seconds = stage_seconds(work)[0];
    const double all =
        (seconds.forward + seconds.backward) * static_cast<double>(work.micro_batches);
    return {.seconds = all, .stage_ends = {all}};
  }
  const int64_t played = std::min(work.micro_batches, kMostPlayed);
  const runtime::Playback playback = play(work, played);
  Timeline times{.seconds = playback.seconds, .stage_ends = playback.stage_ends};
  if (played == work.micro_batches) return times;
  const double each = playback.seconds - play(work, played - 1).seconds;
  const double more = each * static_cast<double>(work.micro_batches - played);
  times.seconds += more;
  for (double& end : times.stage_ends) end += more;
  return times;
}

std::vector<Bucket> fill_buckets(const Work& work, const Timeline& times, double bucket_bytes) {
  std::vector<Bucket> buckets;
  for (size_t stage = 0; stage < work.stages.size(); ++stage) {
    const std::vector<Gradient>& gradients = work.stages[stage].gradients;
    double bytes = 0;
    for (size_t i = 0; i < gradients.size(); ++i) {
      bytes += gradients[i].bytes;
      if (bytes < bucket_bytes && i + 1 < gradients.size()) continue;
      buckets.push_back({bytes, times.stage_ends[stage] - gradients[i].left});
      bytes = 0;
    }
  }
  std::stable_sort(buckets.begin(), buckets.end(),
                   [](const Bucket& a, const Bucket& b) { return a.ready < b.ready; });
  return buckets;
}

// Workers send, receive and sum between the calls of kernels. So an update takes at least the time
// of computing plus communicating, and at least until the last sums have arrived.
Prediction predict(const Work& work, const Timeline& times, const Exchange& exchange) {
  const double alone = work.before + times.seconds + work.after;
  if (exchange.instances == 1) return {.seconds = alone};
  const Traffic traffic(exchange);
  const std::vector<Bucket> buckets = fill_buckets(work, times, exchange.bucket_bytes);
  Prediction result{.buckets = static_cast<int>(buckets.size())};
  double working = times.seconds;
  for (const Bucket& bucket : buckets) {
    working += traffic.worker_seconds(bucket.bytes);
    result.bytes_sent += 2 * traffic.sent(bucket.bytes);
  }
  // Known only at the end of backward: whether all losses are finite, and moments.
  const double flags = traffic.others() * exchange.flag_bytes;
  result.bytes_sent += flags;
  const double last = std::max(working, last_arrival(buckets, exchange, traffic));
  const double agreed = last + traffic.link_seconds(exchange.flag_bytes) +
                        exchange.link.latency.seconds + traffic.copy_seconds(flags);
  result.seconds = work.before + agreed + work.after;
  result.exposed = result.seconds - alone;
  return result;
}

}  // namespace pando::plan
