// The state of a build of shards: a hidden file in their folder until the build is finished.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "pando/data/bad_records.h"

namespace pando::data {

// A shard that is whole.
struct BuiltShard {
  int64_t records = 0;
  uint64_t bytes = 0;
  int64_t converted = 0;  // images that were encoded again
  std::vector<BadRecord> skipped;
};

// Owns the folder while it exists: a second build in it is refused. The file `.build-imagenet` has
// a first line with the fingerprint of the build and a line for each shard, appended when the shard
// has its name; a line that a crash cut off is ignored. Safe to call from any thread.
class BuildState {
 public:
  // Continues a build of the same fingerprint. Throws IoError when the folder holds shards of an
  // unfinished build with another fingerprint, which may be hours of work, or of no known build,
  // which may be the only copy that a user has.
  BuildState(std::string folder, uint64_t fingerprint);
  ~BuildState();
  BuildState(const BuildState&) = delete;
  BuildState& operator=(const BuildState&) = delete;

  // The shard as it was built before; null when it is to be built.
  const BuiltShard* find(const std::string& name) const;
  void add(const std::string& name, const BuiltShard& shard);
  // Removes the file after the last shard is built.
  void finish();

 private:
  void open();
  void refuse_shards_of_nobody() const;
  void refuse_other_build() const;
  void read(const std::string& first_line);
  void begin(const std::string& first_line);
  void write(const std::string& text);

  std::string folder_;
  std::string path_;
  int descriptor_ = -1;
  std::mutex mutex_;                           // for writing to the file
  std::map<std::string, BuiltShard> earlier_;  // shards of earlier runs
};

}  // namespace pando::data
