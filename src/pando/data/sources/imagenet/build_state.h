// How far a build of shards has come: a hidden file in their folder, as long as the build is not
// finished.
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
  int64_t converted = 0;  // images that were encoded anew
  std::vector<BadRecord> skipped;
};

// Owns the folder while it lives: a second build of it is refused. The file `.build-imagenet` has a
// first line with the fingerprint of the build and a line for each shard, appended when the shard
// has its name; one that a crash cut off counts as not written. Any thread may call.
class BuildState {
 public:
  // Goes on with a build of the same fingerprint. Throws IoError when the folder holds shards of an
  // unfinished build with another one, which may be hours of work, or of nobody's build, which
  // might be all that a user has.
  BuildState(std::string folder, uint64_t fingerprint);
  ~BuildState();
  BuildState(const BuildState&) = delete;
  BuildState& operator=(const BuildState&) = delete;

  // The shard as it was built before; null when it is to be built.
  const BuiltShard* find(const std::string& name) const;
  void add(const std::string& name, const BuiltShard& shard);
  // All is built: removes the file.
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
  std::mutex mutex_;                           // of what is written
  std::map<std::string, BuiltShard> earlier_;  // shards of earlier runs
};

}  // namespace pando::data
