// The checkpoints in a folder, told by their names: epoch_<number>.h5.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace pando::app {

struct CheckpointFile {
  std::filesystem::path path;
  double epoch = 0;  // whole epochs done, with a fraction within one
};

// The epoch in a name like "epoch_2.5.h5"; nothing for other names.
std::optional<double> epoch_of(std::string_view name);

// In the order of their epochs, which is not that of their names. Other files, also those that are
// still being written under a temporary name, do not count. Throws IoError for a folder that is
// not there or cannot be read.
std::vector<CheckpointFile> checkpoints_in(const std::filesystem::path& folder);

// Those of one run: written since it began. The others of the folder are of earlier runs.
struct RunCheckpoints {
  std::vector<CheckpointFile> own;
  std::vector<CheckpointFile> earlier;
};
RunCheckpoints checkpoints_since(const std::filesystem::path& folder,
                                 std::filesystem::file_time_type begin);

// Files *.h5 whose names tell no epoch, in the order of their names: weights that nobody would
// otherwise be told about. Throws as checkpoints_in.
std::vector<std::filesystem::path> unnumbered_weights_in(const std::filesystem::path& folder);

// --clean-dir: removes these checkpoints and then their folder, if nothing else is in it. Throws
// IoError.
void remove_checkpoints(const std::vector<CheckpointFile>& files,
                        const std::filesystem::path& folder);

}  // namespace pando::app
