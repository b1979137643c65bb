// SPDX-License-Identifier: MIT
#include "pando/runtime/tuning/tuning_file.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include <fmt/core.h>

#include "pando/base/clock.h"
#include "pando/base/environment.h"
#include "pando/base/error.h"
#include "pando/base/json.h"
#include "pando/base/new_file.h"
#include "pando/base/paths.h"
#include "pando/base/random.h"
#include "pando/base/strings.h"

namespace pando::runtime {
namespace {

constexpr const char* kFormat = "pando kernel choices 1";
constexpr std::uintmax_t kMostBytes = std::uintmax_t{64} << 20;

using compiler::KernelDecision;
using compiler::KernelTime;

Json machine_json(const TuningMachine& machine) {
  return {{"processor", machine.processor},
          {"instruction_set", machine.isa},
          {"version", machine.version},
          {"threads", machine.threads}};
}

TuningMachine machine_of(const Json& json) {
  return {.processor = json.get<std::string>("processor"),
          .isa = json.get<std::string>("instruction_set"),
          .version = json.get<std::string>("version"),
          .threads = json.get<int>("threads")};
}

Json decision_json(const std::string& key, const KeptDecision& kept) {
  Json times = Json::array();
  for (const KernelTime& time : kept.decision.times) {
    times.push_back({{"kernel", time.candidate}, {"seconds", time.seconds}, {"error", time.error}});
  }
  return {{"layer", key},
          {"kernel", kept.decision.candidate},
          {"table", kept.decision.table},
          {"full", kept.full},
          {"times", std::move(times)}};
}

KeptDecision decision_of(const Json& json) {
  KeptDecision kept{.decision = {.candidate = json.get<std::string>("kernel"),
                                 .table = json.get<std::string>("table")},
                    .full = json.get<bool>("full")};
  for (const Json& time : json.at("times").items()) {
    kept.decision.times.push_back({.candidate = time.get<std::string>("kernel"),
                                   .seconds = time.get<double>("seconds"),
                                   .error = time.get<double>("error")});
  }
  return kept;
}

std::string file_name(const TuningMachine& machine) {
  return fmt::format("{:016x}.json", hash_name(machine_json(machine).dump()));
}

// Throws IoError.
std::string text_of_file(const std::string& path) {
  std::error_code unknown;
  if (std::filesystem::file_size(path, unknown) > kMostBytes || unknown) {
    throw IoError("it cannot be read, or is larger than ", kMostBytes, " bytes");
  }
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) throw IoError("it cannot be read");
  return text.str();
}

}  // namespace

std::string default_tuning_folder() { return cache_folder("kernels"); }

TuningFile::TuningFile(std::string folder, TuningMachine machine, Tell tell, double patience)
    : machine_(std::move(machine)), tell_(std::move(tell)) {
  if (folder.empty()) return;
  path_ = concat(folder, "/", file_name(machine_));
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  const auto start = std::chrono::steady_clock::now();
  bool has_told = false;
  const auto wait = [&] {
    if (!std::exchange(has_told, true)) tell_("waiting for another process that times kernels");
    if (seconds_since(start) < patience) return;
    throw IoError("another process has been timing kernels for ", patience,
                  " s; start this run when it is done");
  };
  try {
    lock_ = std::make_unique<FolderLock>(
        FolderLockOptions{.folder = folder,
                          .name = "." + file_name(machine_) + ".lock",
                          .remedy = "set XDG_CACHE_HOME to a folder that can be written",
                          .when_busy = wait});
  } catch (const IoError& error) {
    tell_(concat("choices of kernels are not kept: ", error.what()));
  }
}

KeptDecisions parse_decisions(std::string_view text, const TuningMachine& machine) {
  const Json json = Json::parse_strictly(text);
  if (json.get<std::string>("format") != kFormat) throw IoError("it has another format");
  if (machine_of(json.at("machine")) != machine) {
    throw IoError("it was written for another processor, version or number of threads");
  }
  KeptDecisions decisions;
  for (const Json& layer : json.at("layers").items()) {
    decisions[layer.get<std::string>("layer")] = decision_of(layer);
  }
  return decisions;
}

KeptDecisions TuningFile::read() const {
  if (path_.empty() || !path_exists(path_)) return {};
  try {
    return parse_decisions(text_of_file(path_), machine_);
  } catch (const Error& error) {
    tell_(concat("the choices of kernels in ", path_,
                 " are ignored, so the kernels are timed again: ", error.what()));
    return {};
  }
}

void TuningFile::write(const KeptDecisions& decisions) const {
  if (lock_ == nullptr) return;
  Json json = {{"format", kFormat}, {"machine", machine_json(machine_)}, {"layers", Json::array()}};
  for (const auto& [key, kept] : decisions) json["layers"].push_back(decision_json(key, kept));
  try {
    const std::string text = json.dump(1) + "\n";
    write_new_file(path_, std::as_bytes(std::span(text)));
  } catch (const Error& error) {
    tell_(concat("choices of kernels are not kept: ", error.what()));
  }
}

}  // namespace pando::runtime
