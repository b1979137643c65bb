// SPDX-License-Identifier: MIT
#include "pando/plan/report.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "pando/app/report/svg_plot.h"
#include "pando/base/json.h"
#include "pando/base/strings.h"

namespace pando::plan {

namespace {

std::string bucket_text(const Combination& found) {
  return found.instances == 1 ? "-" : to_string(ByteSize{found.bucket_bytes});
}

std::string table_of(const std::vector<Combination>& list) {
  std::string text = fmt::format(
      "{:>9} {:>8} {:>6} {:>5} {:>6} {:>12} {:>12} {:>10} {:>9} {:>10} {:>10} {:>13}\n",
      "instances", "replicas", "stages", "cores", "bucket", "accumulation", "global batch",
      "update ms", "exposed %", "samples/s", "efficiency", "memory/device");
  for (const Combination& found : list) {
    text += fmt::format(
        "{:>9} {:>8} {:>6} {:>5} {:>6} {:>12} {:>12} {:>10.2f} {:>9.1f} {:>10.0f} {:>8.1f} % "
        "{:>13}\n",
        found.instances, found.replicas, found.stages,
        fmt::format("{:.3g}", found.workers * found.cores_share), bucket_text(found),
        found.accumulation, found.global_batch_size, 1e3 * found.prediction.seconds,
        100 * found.prediction.exposed_share(), found.samples_per_second, 100 * found.efficiency,
        human_bytes(static_cast<double>(found.device_bytes)));
  }
  return text;
}

std::string network_text(const PlanOptions& options, const Costs& costs) {
  const PlanRequest request = options.request();
  if (options.network == kLocal) {
    return fmt::format("all instances on one machine, each worker copies {}",
                       to_string(Bandwidth{costs.copy_rate()}));
  }
  return fmt::format("{} per machine, latency {}", to_string(request.link.bandwidth),
                     to_string(request.link.latency));
}

Json to_json(const Combination& found, const PlanOptions& options) {
  return {{"instances", found.instances},
          {"replicas_per_instance", found.replicas},
          {"stages", found.stages},
          {"pipeline_splits", found.splits},
          {"bucket_bytes", found.bucket_bytes},
          {"workers_per_device", found.workers},
          {"cores_per_device", found.workers * found.cores_share},
          {"gradient_accumulation_count", found.accumulation},
          {"global_batch_size", found.global_batch_size},
          {"update_seconds", found.prediction.seconds},
          {"exposed_seconds", found.prediction.exposed},
          {"exposed_share", found.prediction.exposed_share()},
          {"bytes_sent_per_update", found.prediction.bytes_sent},
          {"buckets", found.prediction.buckets},
          {"samples_per_second", found.samples_per_second},
          {"efficiency", found.efficiency},
          {"device_memory_bytes", found.device_bytes},
          {"command", command_of(found, options)}};
}

std::vector<Combination> top_of(const Plan& plan, const PlanOptions& options) {
  const auto count = std::min(plan.combinations.size(), static_cast<size_t>(options.top));
  return {plan.combinations.begin(),
          plan.combinations.begin() + static_cast<std::ptrdiff_t>(count)};
}

int hosts_of(const Combination& found, const PlanOptions& options) {
  return found.instances / std::min(found.instances, options.request().instances_per_host);
}

std::string caution_of(const Combination& found) {
  constexpr double kHalf = 0.5;
  if (found.prediction.exposed_share() > kHalf) {
    return "more than half of the time is exposed communication; a faster network, larger "
           "micro-batches or more accumulation help more than more instances";
  }
  if (found.efficiency < kHalf) {
    return "efficiency is below 50 %; fewer instances are nearly as fast";
  }
  return "";
}

// Labels each number of instances on a logarithmic axis. Drops a label that is too close to the
// last one.
std::vector<app::Tick> ticks_of(const std::vector<Combination>& best) {
  constexpr double kApart = 0.6;
  std::vector<app::Tick> ticks;
  for (const Combination& found : best) {
    const double place = std::log2(found.instances);
    if (!ticks.empty() && place - ticks.back().place < kApart) ticks.pop_back();
    ticks.push_back({place, std::to_string(found.instances)});
  }
  return ticks;
}

}  // namespace

std::string command_of(const Combination& found, const PlanOptions& options) {
  const int replicas = found.instances * found.replicas;
  std::string text;
  if (found.instances > 1) {
    text = fmt::format("pando run {}--num-instances {} --num-replicas {} ",
                       hosts_of(found, options) > 1 ? "-H HOSTS " : "", found.instances, replicas);
    if (found.stages > 1) text += fmt::format("--devices-per-replica {} ", found.stages);
  }
  text += fmt::format("pando train --model {} --micro-batch-size {}", options.train.model,
                      options.train.micro_batch_size);
  if (found.instances == 1 && replicas > 1) text += fmt::format(" --num-replicas {}", replicas);
  if (found.accumulation > 1) {
    text += fmt::format(" --gradient-accumulation-count {}", found.accumulation);
  }
  if (!found.splits.empty()) {
    text += fmt::format(" --pipeline-splits {}", join(found.splits, ","));
  }
  if (found.instances > 1) {
    text += fmt::format(" --max-cross-replica-buffer-size {}", found.bucket_bytes);
  }
  if (!options.train_flags.empty()) text += " " + join(options.train_flags, " ");
  return text;
}

std::string to_text(const Plan& plan, const PlanOptions& options, const Costs& costs) {
  const Combination& chosen = plan.combinations[plan.recommended];
  std::string text =
      fmt::format("{}, micro-batch {}, precision {}, machines of {}; {}\n\n", options.train.model,
                  options.train.micro_batch_size, to_string(options.train.precision),
                  counted(costs.cores(), "core"), network_text(options, costs));
  text +=
      "best combination for each number of instances (replicas per instance, cores per device)\n" +
      table_of(best_of_each(plan)) + "\nfastest of " +
      counted(static_cast<int64_t>(plan.combinations.size()), "combination") + "\n" +
      table_of(top_of(plan, options));
  if (plan.too_large > 0) {
    text += counted(plan.too_large, "combination") +
            " left out: more memory than --memory-per-device\n";
  }
  if (plan.indivisible > 0) {
    text += counted(plan.indivisible, "combination") +
            " left out: --global-batch-size does not divide evenly\n";
  }
  if (plan.too_few > 0) {
    text += counted(plan.too_few, "combination") +
            " left out: more samples per weight update than the " +
            std::to_string(costs.samples()) + " samples of the data set\n";
  }
  text += "\nrecommended\n" + table_of({chosen}) + "why: " + plan.reason + "\n";
  if (chosen.cores_share < 1) {
    text += "note: a machine has more instances than cores, so instances share cores\n";
  }
  const std::string caution = caution_of(chosen);
  if (!caution.empty()) text += "caution: " + caution + "\n";
  const int hosts = hosts_of(chosen, options);
  if (hosts > 1)
    text += fmt::format("note: replace HOSTS by {} machines, such as a,b or node[0-9]\n", hosts);
  return text + "run:  " + command_of(chosen, options) + "\n";
}

std::string to_json(const Plan& plan, const PlanOptions& options, const Costs& costs) {
  const PlanRequest request = options.request();
  Json json = {{"model", options.train.model},
               {"micro_batch_size", options.train.micro_batch_size},
               {"precision", to_string(options.train.precision)},
               {"cores_per_host", costs.cores()},
               {"instances_per_host", request.instances_per_host},
               {"network",
                {{"name", options.network_name()},
                 {"bandwidth_bytes_per_second", request.link.bandwidth.bytes_per_second},
                 {"latency_seconds", request.link.latency.seconds},
                 {"message_seconds", request.link.overhead}}},
               {"copy_bytes_per_second", costs.copy_rate()},
               {"sum_bytes_per_second", costs.sum_rate()},
               {"combinations_tried", plan.combinations.size()},
               {"left_out",
                {{"too_large", plan.too_large},
                 {"indivisible", plan.indivisible},
                 {"too_few_samples", plan.too_few}}}};
  json["best_of_each"] = Json::array();
  for (const Combination& found : best_of_each(plan)) {
    json["best_of_each"].push_back(to_json(found, options));
  }
  json["fastest"] = Json::array();
  for (const Combination& found : top_of(plan, options)) {
    json["fastest"].push_back(to_json(found, options));
  }
  json["recommended"] = to_json(plan.combinations[plan.recommended], options);
  json["recommended"]["reason"] = plan.reason;
  json["recommended"]["hosts"] = hosts_of(plan.combinations[plan.recommended], options);
  json["recommended"]["caution"] = caution_of(plan.combinations[plan.recommended]);
  return json.dump(2) + "\n";
}

std::string to_picture(const Plan& plan) {
  const std::vector<Combination> best = best_of_each(plan);
  app::Curve speed{"predicted", {}};
  app::Curve linear{"perfect scaling", {}};
  app::Curve efficiency{"efficiency", {}};
  app::Curve exposed{"exposed communication", {}};
  for (const Combination& found : best) {
    const double doublings = std::log2(found.instances);
    speed.points.emplace_back(found.instances, found.samples_per_second);
    linear.points.emplace_back(found.instances, best[0].samples_per_second * found.instances);
    efficiency.points.emplace_back(doublings, 100 * found.efficiency);
    exposed.points.emplace_back(doublings, 100 * found.prediction.exposed_share());
  }
  return app::curves_svg({{"speed", "instances", "samples per second", {speed, linear}, {}},
                          {"scaling", "instances", "%", {efficiency, exposed}, ticks_of(best)}});
}

}  // namespace pando::plan
