// The hidden file `.run` in a run directory and in the folder of its checkpoints, and `.profile` in
// the folder of --profile: which run wrote what is there.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>

namespace pando::app {

struct RunMark {
  std::string id;         // the same while a run is resumed; empty: unknown
  std::string directory;  // the run directory, for messages
};

constexpr const char* kRunMark = ".run";  // the name of the file
// A name of its own, because the folder may also be the run directory of another run.
constexpr const char* kProfileMark = ".profile";
// The file that is locked while a run writes checkpoints into its folder. The run directory, which
// has another lock, may be the same folder.
constexpr const char* kCheckpointLock = ".checkpoints.lock";

std::string new_run_id();

// Empty fields if the folder has no mark.
RunMark mark_in(const std::filesystem::path& folder, const char* name = kRunMark);

// Throws IoError.
void write_mark(const std::filesystem::path& folder, const RunMark& mark,
                const char* name = kRunMark);

// Whether the marks of both folders are known and name different runs.
bool are_of_different_runs(const std::filesystem::path& one, const std::filesystem::path& other);

}  // namespace pando::app
