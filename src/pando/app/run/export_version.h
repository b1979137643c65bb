// Exports for a server: numbered folders, each with one model, that appear only when they are
// complete.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pando/app/run/example_files.h"
#include "pando/train/load_model.h"
#include "pando/train/model.h"

namespace pando::app {

// Reads the number in the name of a version's folder: "00000123" -> 123. Returns nothing for other
// names and for numbers beyond 2^63.
std::optional<int64_t> version_number(const std::string& name);

struct VersionExport {
  std::string base;     // the folder of all versions; made if it is missing
  int64_t version = 0;  // 0: the next free number
  SaveModelOptions save = {};
  std::vector<ExamplePicture> examples = {};  // at most kMostExamples
};

// Throws UsageError if `base` is a file, or a folder that has something in it but no versions.
void check_export_dir(const std::string& base);

// Writes BASE/<version>/model.onnx, and the pictures to BASE/<version>/examples/; returns the path
// of the model. A server that looks at the folder at any
// moment sees the whole version or nothing. Throws UsageError for what check_export_dir() refuses
// and for a version that exists, IoError if it cannot be written; then nothing is left.
std::string export_version(const Model& model, const VersionExport& what);

}  // namespace pando::app
