// Exports for a server: numbered folders, each with one model, that appear only when they are
// complete.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "pando/train/load_model.h"
#include "pando/train/model.h"

namespace pando::app {

struct VersionExport {
  std::string base;     // the folder of all versions; made if it is missing
  int64_t version = 0;  // 0: the next free number
  SaveModelOptions save = {};
};

// Throws UsageError if `base` is a file, or a folder that has something in it but no versions.
void check_export_dir(const std::string& base);

// Writes BASE/<version>/model.onnx and returns its path. A server that looks at the folder at any
// moment sees the whole version or nothing. Throws UsageError for what check_export_dir() refuses
// and for a version that exists, IoError if it cannot be written; then nothing is left.
std::string export_version(const Model& model, const VersionExport& what);

}  // namespace pando::app
