// The versions of all models: found in folders, loaded and unloaded by a thread of low priority.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "pando/serve/loaded_model.h"
#include "pando/serve/model_status.h"
#include "pando/serve/versions.h"

namespace pando::serve {

// Settings of the repository besides its configuration. Tests replace the loader.
struct RepositoryOptions {
  int workers = 1;
  // Makes a version ready to answer; may throw.
  std::function<std::shared_ptr<LoadedModel>(const FoundVersion&, const ModelConfig&)> load;
};

// Every method may be called by any thread.
class Repository {
 public:
  Repository(ServerConfig config, RepositoryOptions options);
  ~Repository();  // does not wait for a version that is being loaded longer than its load takes
  Repository(const Repository&) = delete;
  Repository& operator=(const Repository&) = delete;

  Result<std::shared_ptr<const LoadedModel>> find(const ModelSpec& spec) const;
  Result<ModelStatus> status(const ModelSpec& spec) const;
  std::vector<ModelStatus> models() const;
  bool all_available() const;
  // Waits until no version is about to be loaded. Returns false if the time was too short.
  bool await_settled(std::chrono::duration<double> at_most) const;
  // Requires: the configuration is valid.
  void reload(ServerConfig config);
  // Looks for versions and waits until what it found is loaded or has failed.
  void poll();
  // The versions that answer requests.
  std::vector<std::shared_ptr<const LoadedModel>> loaded() const;

 private:
  struct Version {
    VersionState state = VersionState::start;
    Status status;
    std::shared_ptr<LoadedModel> model;  // while available or unloading
    int attempts = 0;
    Clock::time_point next_attempt;
    std::string fingerprint;  // of the files at the last attempt
    std::string path;         // that the model is from
  };
  struct Entry {
    ModelConfig config;
    std::map<int64_t, Version> versions;
    Status problem;         // of the base path
    bool is_known = false;  // the base path was looked at
    bool is_leaving = false;
  };

  // What is in the base path of a model.
  struct Seen {
    std::vector<FoundVersion> found;
    std::map<int64_t, std::string> prints;  // fingerprints
    Status problem;
  };

  void work(const std::stop_token& stop);
  void pass(const std::stop_token& stop);
  bool step(const std::string& name, const std::stop_token& stop);
  static Seen look(const ModelConfig& config);
  std::map<int64_t, VersionProgress> progress_of(const Entry& entry, const Seen& seen) const;
  std::optional<FoundVersion> plan(Entry& entry, const Seen& seen);
  void load(const std::string& name, const FoundVersion& found, const ModelConfig& config);
  void finish_load(const std::string& name, const FoundVersion& found,
                   std::shared_ptr<LoadedModel> model, Status status);
  Status check_inputs(const Entry& entry, const FoundVersion& found,
                      const LoadedModel& model) const;
  void forget_missing(Entry& entry, const std::vector<FoundVersion>& found);
  bool free_unloaded();
  void unload(Entry& entry, int64_t version);
  static bool is_settled(const Entry& entry);
  static VersionStatus status_of(int64_t number, const Version& version);
  ModelStatus status_of(const Entry& entry) const;
  const LoadedModel* latest_of(const Entry& entry) const;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;  // a state, or the end of a pass
  std::condition_variable_any wake_;
  ServerConfig config_;
  const RepositoryOptions options_;
  std::map<std::string, Entry> entries_;
  uint64_t asked_ = 1;  // passes that somebody asked for
  uint64_t done_ = 0;   // passes that are done
  std::jthread thread_;
};

}  // namespace pando::serve
