// SPDX-License-Identifier: MIT
#include "pando/app/html/profile_data.h"

#include <algorithm>
#include <functional>
#include <initializer_list>

#include "pando/app/html/trace_data.h"
#include "pando/app/record/run_mark.h"
#include "pando/app/report/schedule_record.h"
#include "pando/base/control_group.h"
#include "pando/base/error.h"
#include "pando/base/paths.h"
#include "pando/base/strings.h"

namespace pando::app {
namespace {

namespace fs = std::filesystem;

// Where a run wrote to: there, or, after its directory has moved, in it.
fs::path place_of(const RunRecord& run, const std::string& recorded) {
  if (recorded.empty()) return {};
  fs::path path = recorded;
  if (path_exists(path)) return path;
  const fs::path moved = run.folder / path.filename();
  return path_exists(moved) ? moved : fs::path();
}

// The reason if the files of --profile or --trace belong to another run; empty if they belong to
// this run, or if the files do not say.
std::string other_owner(const RunRecord& run, const fs::path& place, const RunMark& wrote) {
  const std::string own = mark_in(run.folder).id;
  if (own.empty() || wrote.id.empty() || own == wrote.id) return "";
  const std::string whose = wrote.directory.empty() ? "another run" : "the run " + wrote.directory;
  return concat(place.string(), " has the profile of ", whose,
                "; name a place of its own for each run, by --profile or --trace");
}

// Null, and a problem, if a part cannot be made.
Json attempt_part(RunRecord& run, const fs::path& path, const std::function<Json()>& part) {
  if (!path_exists(path)) return nullptr;
  try {
    return part();
  } catch (const IoError& error) {
    run.problems.push_back(concat(path.string(), ": left out: ", error.what()));
    return nullptr;
  }
}

Json chosen_keys(const Json& object, std::initializer_list<const char*> keys) {
  Json chosen = Json::object();
  for (const char* key : keys) {
    if (const Json* value = object.find(key)) chosen[key] = *value;
  }
  return chosen;
}

Json chosen_rows(const Json& rows, std::initializer_list<const char*> keys) {
  Json chosen = Json::array();
  for (const Json& row : rows.items()) chosen.push_back(chosen_keys(row, keys));
  return chosen;
}

Json time_of_report(const Json& report) {
  const Json* found = report.find("execution");
  if (found == nullptr) return nullptr;
  Json time = chosen_keys(*found, {"span_seconds",  "workers",        "replicas",
                                   "events",        "dropped_events", "steps",
                                   "samples",       "updates",        "samples_per_second",
                                   "gflops",        "busy_share",     "feed_wait_share",
                                   "phase_seconds", "forward",        "backward",
                                   "update",        "peak",           "layers",
                                   "devices",       "stages"});
  time["ops"] = chosen_rows(found->at("ops"),
                            {"op", "name", "layer", "stage", "part", "kernel", "times", "seconds",
                             "flops", "bytes", "share", "gflops_per_worker", "peak_fraction"});
  return time;
}

Json memory_of_report(const Json& report) {
  Json memory = report.at("memory");
  const Json& plan = report.at("compilation").at("memory");
  memory["plan"] = chosen_keys(
      plan, {"slice_bytes", "unshared_bytes", "scratch_bytes", "always_live", "stages"});
  Json::Items blocks = plan.at("blocks").items();
  std::ranges::stable_sort(blocks, [](const Json& a, const Json& b) {
    return a.get<double>("bytes") > b.get<double>("bytes");
  });
  memory["all_blocks"] = blocks.size();
  blocks.resize(std::min(blocks.size(), kMostDrawnBlocks));
  memory["blocks"] = chosen_rows(
      blocks, {"region", "stage", "offset", "bytes", "first_call", "last_call", "holds"});
  Json calls = Json::array();
  for (const Json& op : report.at("compilation").at("ops").items()) {
    calls.push_back(op.get<std::string>("op") + " " + op.get<std::string>("name"));
  }
  memory["calls"] = std::move(calls);
  return memory;
}

Json graph_of_report(const Json& report) {
  const Json& compilation = report.at("compilation");
  Json graph = chosen_keys(compilation, {"precision", "division", "flops_per_sample", "layers"});
  graph["ops"] = chosen_rows(compilation.at("ops"),
                             {"call", "op", "name", "layer", "part", "stage", "kernel", "result",
                              "slow", "flops", "bytes_read", "bytes_written"});
  graph["passes"] =
      chosen_rows(compilation.at("passes"), {"name", "changed", "disabled", "seconds"});
  return graph;
}

}  // namespace

Json profile_data(RunRecord& run) {
  Json data = {{"time", nullptr},  {"memory", nullptr},   {"graph", nullptr},
               {"trace", nullptr}, {"schedule", nullptr}, {"missing", nullptr}};
  fs::path folder = place_of(run, run.facts.profile);
  std::string missing =
      folder.empty() ? "" : other_owner(run, folder, mark_in(folder, kProfileMark));
  if (!missing.empty()) folder.clear();
  if (!folder.empty()) {
    const fs::path path = folder / "train_report.json";
    Json report = attempt_part(run, path, [&] { return Json::parse(read_system_file(path)); });
    if (!report.is_null()) {
      data["time"] = attempt_part(run, path, [&] { return time_of_report(report); });
      data["memory"] = attempt_part(run, path, [&] { return memory_of_report(report); });
      data["graph"] = attempt_part(run, path, [&] { return graph_of_report(report); });
    }
    const fs::path schedule = folder / kScheduleFile;
    data["schedule"] =
        attempt_part(run, schedule, [&] { return Json::parse(read_system_file(schedule)); });
  }
  const fs::path own = folder.empty() ? fs::path() : folder / "train_trace.json";
  fs::path trace = path_exists(own) ? own : place_of(run, run.facts.trace);
  const RunMark traced{.id = trace.empty() ? "" : run_of_trace(trace), .directory = ""};
  const std::string untraced = other_owner(run, trace, traced);
  if (untraced.empty()) {
    data["trace"] = attempt_part(run, trace, [&] { return trace_data(trace); });
  } else if (missing.empty()) {
    missing = untraced;
  }
  if (!missing.empty()) {
    run.problems.push_back(missing);
    data["missing"] = missing;
  }
  return data;
}

}  // namespace pando::app
