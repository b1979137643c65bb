// SPDX-License-Identifier: MIT
#include "pando/plan/search.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/core.h>

#include "pando/base/error.h"
#include "pando/base/strings.h"

namespace pando::plan {

namespace {

constexpr int64_t kSmallestBucket = int64_t{1} << 18;
constexpr int64_t kUsualBucket = int64_t{1} << 20;

double gradient_bytes(const ReplicaCost& cost) {
  double bytes = 0;
  for (const Stage& stage : cost.stages) {
    for (const Gradient& gradient : stage.gradients) bytes += gradient.bytes;
  }
  return bytes;
}

// Sizes that grow by a factor of four, up to one that holds all gradients.
std::vector<int64_t> bucket_sizes(const PlanRequest& request, double all, int instances) {
  if (instances == 1) return {kUsualBucket};  // nothing is sent
  if (!request.bucket_bytes.empty()) return request.bucket_bytes;
  std::vector<int64_t> sizes = {kSmallestBucket};
  while (static_cast<double>(sizes.back()) < all) sizes.push_back(sizes.back() * 4);
  return sizes;
}

// How a combination is spread over hosts and devices.
struct Place {
  int instances = 1;
  int replicas = 1;
  int stages = 1;
  int local = 1;  // instances per host
  int devices() const { return local * replicas * stages; }
};

class Search {
 public:
  Search(Costs& costs, const PlanRequest& request) : costs_(costs), request_(request) {}

  Plan run() {
    for (const int instances : counts_up_to(request_.instances)) {
      const int local = std::min(instances, request_.instances_per_host);
      if (instances % local != 0) continue;  // all hosts have the same number of instances
      for (const int stages : counts_up_to(costs_.cores())) {
        for (const int replicas : counts_up_to(costs_.cores())) {
          const Place place{instances, replicas, stages, local};
          // Sharing cores is never faster, but many instances may have to share them.
          if (place.devices() > costs_.cores() && replicas * stages > 1) continue;
          try_place(place);
        }
      }
    }
    return std::move(plan_);
  }

 private:
  std::optional<int64_t> accumulation(const Place& place) const {
    if (!request_.global_batch_size) return request_.accumulation;
    const int64_t step = request_.micro_batch_size * place.instances * place.replicas;
    if (*request_.global_batch_size % step != 0) return std::nullopt;
    return *request_.global_batch_size / step;
  }

  void try_place(const Place& place) {
    const auto micro_batches = accumulation(place);
    if (!micro_batches) {
      ++plan_.indivisible;
      return;
    }
    const int devices = std::min(place.devices(), costs_.cores());
    const std::optional<ReplicaCost> cost = costs_.replica(devices, place.stages);
    if (!cost) return;
    Combination found{.instances = place.instances,
                      .replicas = place.replicas,
                      .stages = place.stages,
                      .splits = cost->splits,
                      .workers = cost->workers,
                      .cores_share = static_cast<double>(devices) / place.devices(),
                      .accumulation = *micro_batches};
    found.device_bytes = costs_.device_bytes(devices, place.stages, *micro_batches) +
                         costs_.shared_bytes() / (int64_t{place.replicas} * place.stages);
    if (request_.memory_per_device > 0 && found.device_bytes > request_.memory_per_device) {
      ++plan_.too_large;
      return;
    }
    found.global_batch_size =
        request_.micro_batch_size * place.instances * place.replicas * *micro_batches;
    if (found.global_batch_size > costs_.samples()) {
      ++plan_.too_few;
      return;
    }
    try_buckets(place, *cost, found);
  }

  // Numbers that an update reads or writes for every weight, besides the gradients: the weight and
  // one slot, each read and written.
  static constexpr double kUpdateNumbers = 4;

  // Every instance of a host updates all weights with its share of the cores. It sums only the
  // gradients of its own lanes; with several instances, the exchange has already summed them.
  static double update_seconds(const Place& place, const ReplicaCost& cost) {
    const int own = place.instances > 1 ? 1 : place.replicas * cost.lanes_of_a_replica;
    return cost.update * place.local * (own + kUpdateNumbers) / (cost.lanes() + kUpdateNumbers);
  }

  Work work_of(const Place& place, const ReplicaCost& cost, const Combination& found) const {
    const double slower = 1 / found.cores_share;
    Work work{.stages = cost.stages,
              .schedule = request_.schedule,
              .micro_batches = found.accumulation,
              .before = cost.packing * place.local,
              .after = update_seconds(place, cost),
              .accumulation_rate = costs_.sum_rate() * found.cores_share};
    for (Stage& stage : work.stages) {
      stage.seconds.forward *= slower;
      stage.seconds.backward *= slower;
      for (Gradient& gradient : stage.gradients) gradient.left *= slower;
    }
    return work;
  }

  void try_buckets(const Place& place, const ReplicaCost& cost, Combination found) {
    const Work work = work_of(place, cost, found);
    const Timeline times = timeline(work);
    Exchange exchange{.instances = place.instances,
                      .instances_per_host = place.local,
                      .link = request_.link,
                      .lanes = place.replicas * cost.lanes_of_a_replica,
                      .wire_share = request_.wire_share,
                      .flag_bytes = 64 + costs_.moment_bytes(),
                      .copy_rate = costs_.copy_rate() * found.cores_share,
                      .sum_rate = costs_.sum_rate() * found.cores_share};
    for (const int64_t bytes : bucket_sizes(request_, gradient_bytes(cost), place.instances)) {
      found.bucket_bytes = bytes;
      exchange.bucket_bytes = static_cast<double>(bytes);
      found.prediction = predict(work, times, exchange);
      found.samples_per_second =
          static_cast<double>(found.global_batch_size) / found.prediction.seconds;
      plan_.combinations.push_back(found);
    }
  }

  Costs& costs_;
  const PlanRequest& request_;
  Plan plan_;
};

void set_efficiencies(Plan& plan) {
  double alone = 0;
  for (const Combination& found : plan.combinations) {
    if (found.instances == 1) alone = std::max(alone, found.samples_per_second);
  }
  for (Combination& found : plan.combinations) {
    found.efficiency = alone > 0 ? found.samples_per_second / (alone * found.instances) : 0;
  }
}

// Order among combinations of about the same speed: cheaper and simpler ones first.
auto cost_order(const Combination& found) {
  return std::make_tuple(found.instances, found.stages, found.replicas,
                         std::abs(found.bucket_bytes - kUsualBucket));
}

constexpr double kAboutAsFast = 0.98;

size_t choose(const std::vector<Combination>& combinations) {
  size_t chosen = 0;
  const double enough = kAboutAsFast * combinations[0].samples_per_second;
  for (size_t i = 0; i < combinations.size() && combinations[i].samples_per_second >= enough; ++i) {
    if (cost_order(combinations[i]) < cost_order(combinations[chosen])) chosen = i;
  }
  return chosen;
}

// A clause about the fastest combination that differs in one respect.
template <typename Differs>
std::string against(const Plan& plan, const char* what, Differs differs) {
  const Combination& chosen = plan.combinations[plan.recommended];
  for (const Combination& other : plan.combinations) {
    if (other.instances != chosen.instances || !differs(other)) continue;
    return fmt::format("; the best with {} reaches {:.1f} % of it", what,
                       100 * other.samples_per_second / chosen.samples_per_second);
  }
  return "";
}

std::string reason_of(const Plan& plan) {
  const Combination& chosen = plan.combinations[plan.recommended];
  std::string reason =
      plan.recommended == 0
          ? std::string("it trains the most samples per second")
          : fmt::format(
                "within {:.1f} % of the fastest combination, and simpler or smaller",
                100 * (1 - chosen.samples_per_second / plan.combinations[0].samples_per_second));
  reason += against(plan, "another number of replicas",
                    [&](const Combination& other) { return other.replicas != chosen.replicas; });
  reason += against(plan, "another number of stages",
                    [&](const Combination& other) { return other.stages != chosen.stages; });
  if (chosen.instances > 1) {
    reason += fmt::format("; {:.1f} % of an update is exposed communication",
                          100 * chosen.prediction.exposed_share());
  }
  return reason;
}

[[noreturn]] void refuse(const Plan& plan, const PlanRequest& request) {
  if (plan.too_large > 0) {
    throw InvalidArgument("--memory-per-device: all ", counted(plan.too_large, "combination"),
                          " need more than ",
                          human_bytes(static_cast<double>(request.memory_per_device)),
                          " on a device; use a larger value or a smaller --micro-batch-size");
  }
  if (plan.too_few > 0) {
    throw InvalidArgument("--micro-batch-size: the global batches of all ",
                          counted(plan.too_few, "combination"),
                          " are larger than the data set; use a smaller value");
  }
  throw InvalidArgument("--global-batch-size: expected a multiple of --micro-batch-size ",
                        request.micro_batch_size, " x the replicas of all instances, got ",
                        request.global_batch_size.value_or(0),
                        "; use a smaller --micro-batch-size");
}

}  // namespace

std::vector<int> counts_up_to(int most) {
  std::vector<int> counts;
  for (int count = 1; count < most; count *= 2) counts.push_back(count);
  counts.push_back(most);
  return counts;
}

Plan make_plan(Costs& costs, const PlanRequest& request) {
  Plan plan = Search(costs, request).run();
  if (plan.combinations.empty()) refuse(plan, request);
  set_efficiencies(plan);
  std::stable_sort(plan.combinations.begin(), plan.combinations.end(),
                   [](const Combination& a, const Combination& b) {
                     return a.samples_per_second > b.samples_per_second;
                   });
  plan.recommended = choose(plan.combinations);
  plan.reason = reason_of(plan);
  return plan;
}

std::vector<Combination> best_of_each(const Plan& plan) {
  std::map<int, Combination> best;
  for (const Combination& found : plan.combinations) best.emplace(found.instances, found);
  std::vector<Combination> list;
  for (const auto& [instances, found] : best) list.push_back(found);
  return list;
}

}  // namespace pando::plan
