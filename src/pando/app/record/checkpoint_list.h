// Finds the checkpoints in a folder by their names: epoch_<number>.h5.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace pando::app {

struct CheckpointFile {
  std::filesystem::path path;
  double epoch = 0;  // completed epochs, with a fraction within an epoch
};

// The epoch in a name like "epoch_2.5.h5"; nothing for other names.
std::optional<double> epoch_of(std::string_view name);

// The checkpoints in the order of their epochs, which is not the order of their names. Other files
// are ignored, also those that are still being written under a temporary name. Throws IoError if
// the folder does not exist or cannot be read.
std::vector<CheckpointFile> checkpoints_in(const std::filesystem::path& folder);

// Files *.h5 whose names contain no epoch, in the order of their names, so that the caller can
// mention them instead of ignoring them silently. Throws like checkpoints_in.
std::vector<std::filesystem::path> unnumbered_weights_in(const std::filesystem::path& folder);

// Where the files of a run may be, seen from its directory, a folder of its checkpoints or one of
// these: the folder itself and those around it, the nearest first. <run>/checkpoints/rank0/ is as
// <run>/checkpoints/. Empty for an empty place.
std::vector<std::filesystem::path> folders_around(const std::filesystem::path& place);

}  // namespace pando::app
