// SPDX-License-Identifier: MIT
#include "pando/serve/repository.h"

#include <algorithm>
#include <filesystem>
#include <span>

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include "pando/base/error.h"
#include "pando/base/memory_limit.h"
#include "pando/base/threads.h"

namespace pando::serve {

namespace {

constexpr size_t kMostEndedVersions = 16;  // whose state is still shown
constexpr auto kUnloadCheck = std::chrono::milliseconds(20);

// Loading takes what workers leave, so that requests do not wait for it.
void lower_priority() {
  give_way();
  constexpr int kNice = 10;
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice);  // a refusal costs only speed
}

Status status_of_error(const std::exception& error) {
  if (dynamic_cast<const ResourceError*>(&error) != nullptr) {
    return failure(Code::resource_exhausted, error.what());
  }
  const auto* known = dynamic_cast<const Error*>(&error);
  const bool is_internal = known == nullptr || known->kind() == ErrorKind::internal;
  return failure(is_internal ? Code::internal : Code::invalid_argument, error.what());
}

bool is_same_policy(const VersionPolicy& a, const VersionPolicy& b) {
  return a.kind == b.kind && a.num_versions == b.num_versions && a.versions == b.versions;
}

// "'x' f32 [-1, 28, 28, 1]"
std::string inputs_text(const LoadedModel& model) {
  std::string text;
  for (const TensorInfo& input : model.inputs()) {
    std::string shape;
    for (const int64_t size : input.shape) shape += concat(shape.empty() ? "" : ", ", size);
    text += concat(text.empty() ? "" : ", ", "'", input.name, "' ", to_string(input.type), " [",
                   shape, "]");
  }
  return text;
}

}  // namespace

Repository::Repository(ServerConfig config, RepositoryOptions options)
    : config_(std::move(config)), options_(std::move(options)) {
  for (const ModelConfig& model : config_.models) entries_[model.name].config = model;
  thread_ = start_thread("pando-versions", [this](const std::stop_token& stop) { work(stop); });
}

Repository::~Repository() {
  thread_.request_stop();
  wake_.notify_all();
  thread_.join();
}

void Repository::reload(ServerConfig config) {
  {
    const std::lock_guard lock(mutex_);
    for (auto& [name, entry] : entries_) entry.is_leaving = true;
    for (const ModelConfig& model : config.models) {
      Entry& entry = entries_[model.name];
      const bool is_elsewhere = entry.config.base_path != model.base_path;
      if (is_elsewhere) entry.is_known = false;
      if (is_elsewhere || !is_same_policy(entry.config.policy, model.policy)) {
        // What failed may be right now.
        for (auto& [number, version] : entry.versions) {
          version.attempts = 0;
          version.next_attempt = {};
        }
      }
      entry.config = model;
      entry.is_leaving = false;
    }
    config_.models = std::move(config.models);
    config_.batching = std::move(config.batching);
    ++asked_;
  }
  wake_.notify_all();
}

void Repository::poll() {
  std::unique_lock lock(mutex_);
  const uint64_t wanted = ++asked_;
  wake_.notify_all();
  changed_.wait(lock, [&] { return done_ >= wanted || thread_.get_stop_token().stop_requested(); });
}

void Repository::work(const std::stop_token& stop) {
  lower_priority();
  while (!stop.stop_requested()) {
    uint64_t asked = 0;
    {
      const std::lock_guard lock(mutex_);
      asked = asked_;
    }
    pass(stop);
    const bool unloads = free_unloaded();
    std::unique_lock lock(mutex_);
    done_ = asked;
    changed_.notify_all();
    const auto is_asked = [&] { return asked_ > asked; };
    if (unloads) {
      wake_.wait_for(lock, stop, kUnloadCheck, is_asked);
    } else if (config_.poll_interval_sec > 0) {
      wake_.wait_for(lock, stop, std::chrono::duration<double>(config_.poll_interval_sec),
                     is_asked);
    } else {
      wake_.wait(lock, stop, is_asked);
    }
  }
  const std::lock_guard lock(mutex_);
  done_ = asked_;
  changed_.notify_all();
}

void Repository::pass(const std::stop_token& stop) {
  std::vector<std::string> names;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, entry] : entries_) names.push_back(name);
  }
  for (const std::string& name : names) {
    while (!stop.stop_requested() && step(name, stop)) {
    }
  }
}

std::map<int64_t, VersionProgress> Repository::progress_of(const Entry& entry,
                                                           const Seen& seen) const {
  std::map<int64_t, VersionProgress> progress;
  const Clock::time_point now = Clock::now();
  for (const auto& [number, version] : entry.versions) {
    const auto print = seen.prints.find(number);
    // After a change of the base path, a number may mean another model.
    const auto place = std::ranges::find(seen.found, number, &FoundVersion::version);
    const bool is_other = place != seen.found.end() && place->path != version.path;
    const bool is_new = print == seen.prints.end() || print->second != version.fingerprint;
    const bool is_time = version.attempts <= config_.load_retries && now >= version.next_attempt;
    progress[number] = {.is_loaded = version.state == VersionState::available && !is_other,
                        .may_try = version.state != VersionState::unloading &&
                                   (version.status.ok() || is_new || is_time)};
  }
  return progress;
}

// Unloads what has to go and chooses what is loaded next.
std::optional<FoundVersion> Repository::plan(Entry& entry, const Seen& seen) {
  forget_missing(entry, seen.found);
  const VersionActions actions = next_actions(wanted_versions(entry.config.policy, seen.found),
                                              progress_of(entry, seen), config_.transition);
  for (const int64_t version : actions.unload) unload(entry, version);
  for (const int64_t version : actions.load) {
    Version& waiting = entry.versions[version];
    if (waiting.state == VersionState::end) waiting.state = VersionState::start;
  }
  if (actions.load.empty()) {
    entry.is_known = true;
    return std::nullopt;
  }
  const int64_t first = actions.load[0];
  Version& loading = entry.versions[first];
  if (loading.model == nullptr) loading.state = VersionState::loading;
  loading.fingerprint = seen.prints.at(first);
  ++loading.attempts;
  return *std::ranges::find(seen.found, first, &FoundVersion::version);
}

Repository::Seen Repository::look(const ModelConfig& config) {
  Seen seen;
  try {
    seen.found = find_versions(config.base_path);
  } catch (const IoError& error) {
    seen.problem = failure(Code::not_found, error.what());
  }
  for (const FoundVersion& one : seen.found) seen.prints[one.version] = fingerprint_of(one);
  return seen;
}

// Loads one version of a model and unloads versions that are not wanted. Returns false if nothing
// is left to load.
bool Repository::step(const std::string& name, const std::stop_token& stop) {
  ModelConfig config;
  {
    const std::lock_guard lock(mutex_);
    const auto entry = entries_.find(name);
    if (entry == entries_.end()) return false;
    if (entry->second.is_leaving) {
      for (auto& [number, version] : entry->second.versions) unload(entry->second, number);
      return false;
    }
    config = entry->second.config;
    if (!config.batching) config.batching = config_.batching;  // as the last reload says
  }
  const Seen seen = look(config);
  std::optional<FoundVersion> next;
  {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[name];
    entry.problem = seen.problem;
    next = plan(entry, seen);
    changed_.notify_all();
  }
  if (config_.transition == Transition::unload_first) free_unloaded();
  if (next && !stop.stop_requested()) load(name, *next, config);
  return next.has_value();
}

void Repository::forget_missing(Entry& entry, const std::vector<FoundVersion>& found) {
  std::erase_if(entry.versions, [&](const auto& version) {
    const bool is_there =
        std::ranges::find(found, version.first, &FoundVersion::version) != found.end();
    return !is_there && version.second.model == nullptr && !version.second.status.ok();
  });
  size_t ended = 0;
  for (auto at = entry.versions.rbegin(); at != entry.versions.rend(); ++at) {
    ended += at->second.state == VersionState::end ? 1 : 0;
  }
  for (auto at = entry.versions.begin(); ended > kMostEndedVersions;) {
    const bool is_old = at->second.state == VersionState::end && at->second.status.ok();
    at = is_old ? entry.versions.erase(at) : std::next(at);
    if (is_old) --ended;
    if (at == entry.versions.end()) break;
  }
}

void Repository::load(const std::string& name, const FoundVersion& found,
                      const ModelConfig& config) {
  std::shared_ptr<LoadedModel> model;
  Status status;
  try {
    model = options_.load(found, config);
  } catch (const std::exception& error) {
    status = status_of_error(error);
  }
  finish_load(name, found, std::move(model), std::move(status));
}

// Requests without a version go to the latest one. One that takes other inputs would make them all
// fail, so it does not replace what is served from the same folder.
Status Repository::check_inputs(const Entry& entry, const FoundVersion& found,
                                const LoadedModel& model) const {
  const LoadedModel* served = latest_of(entry);
  if (served == nullptr || entry.config.policy.kind != VersionPolicy::Kind::latest) return {};
  const std::filesystem::path path = entry.versions.at(served->version()).path;
  const bool is_neighbour = path.parent_path() == std::filesystem::path(found.path).parent_path();
  const auto is_same = [](const TensorInfo& a, const TensorInfo& b) {
    const std::span<const int64_t> one(a.shape);
    const std::span<const int64_t> other(b.shape);
    return a.name == b.name && a.type == b.type && one.size() == other.size() && !one.empty() &&
           std::ranges::equal(one.subspan(1), other.subspan(1));  // whatever the batch is
  };
  if (!is_neighbour || std::ranges::equal(served->inputs(), model.inputs(), is_same)) return {};
  return failure(Code::failed_precondition, "version ", found.version, " takes ",
                 inputs_text(model), ", but version ", served->version(),
                 ", which is served, takes ", inputs_text(*served),
                 "; serve it under another name, or name its number in the policy 'specific'");
}

void Repository::finish_load(const std::string& name, const FoundVersion& found,
                             std::shared_ptr<LoadedModel> model, Status status) {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(name);
  if (entry == entries_.end()) return;
  if (status.ok()) status = check_inputs(entry->second, found, *model);
  Version& version = entry->second.versions[found.version];
  const bool is_good = status.ok();
  version.status = std::move(status);
  if (is_good) {
    version.model = std::move(model);  // requests that hold a former one keep it
    version.path = found.path;
    version.attempts = 0;
  }
  version.state = version.model != nullptr ? VersionState::available : VersionState::end;
  version.next_attempt =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(config_.load_retry_interval_sec));
  changed_.notify_all();
}

// New requests no longer get the version. Requests that have it keep it in memory.
void Repository::unload(Entry& entry, int64_t number) {
  Version& version = entry.versions[number];
  if (version.state == VersionState::available) version.state = VersionState::unloading;
  changed_.notify_all();
}

// Frees versions that no request uses any more. True: some are still in use.
bool Repository::free_unloaded() {
  std::vector<std::shared_ptr<LoadedModel>> free;
  bool waits = false;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [name, entry] : entries_) {
      for (auto& [number, version] : entry.versions) {
        if (version.state != VersionState::unloading) continue;
        if (version.model.use_count() > 1) {
          waits = true;
          continue;
        }
        free.push_back(std::move(version.model));
        version.state = VersionState::end;
      }
    }
    std::erase_if(entries_, [](const auto& entry) {
      const auto is_free = [](const auto& version) { return version.second.model == nullptr; };
      return entry.second.is_leaving && std::ranges::all_of(entry.second.versions, is_free);
    });
    changed_.notify_all();
  }
  if (!free.empty()) {
    free.clear();
    malloc_trim(0);  // what the weights took goes back to the system
  }
  return waits;
}

}  // namespace pando::serve
