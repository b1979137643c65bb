// Which files belong to a data set that lies in folders. Private to the folder.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "pando/tensor/shape.h"

namespace pando::datasets {

struct PartFolder {
  std::string name;  // "train", "validation", ...; "all" for a set that is not divided
  std::string path;
};

// The folders train, validation (or val) and test in `folder` when there is train and another of
// them, or nothing else; otherwise `folder` itself. Throws IoError when it cannot be listed.
std::vector<PartFolder> part_folders(const std::string& folder);
// The part for training or, with `test`, the part for testing. Throws InvalidArgument when there is
// none for testing.
PartFolder choose_part(const std::string& folder, bool test);

// The files of a folder whose names `wanted` accepts, sorted, without hidden ones. Throws IoError
// when it cannot be listed.
std::vector<std::string> files_in(const std::string& folder,
                                  const std::function<bool(const std::string& name)>& wanted);
bool is_cosmoflow_file(const std::string& name);  // *.tfrecord

// A record file, or the files in and below a folder: those that are named like record files
// (.tfrecord, -00000-of-00004 and the like), or all files if there are none. Links to folders,
// which may form a cycle, are not followed. Throws IoError.
std::vector<std::string> record_files(const std::string& path);

// The files of NAME-00000-of-00004 and so on that are not among `paths`.
std::vector<std::string> missing_shards(const std::vector<std::string>& paths);

// [side, side, side, 4] as the first readable volume has it; 128 voxels a side when none is.
Shape cosmoflow_shape(const std::vector<std::string>& paths);

}  // namespace pando::datasets
