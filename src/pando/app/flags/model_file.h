// A network from a file: --model net.onnx. It replaces an entry of the model zoo and includes its
// weights.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "pando/train/load_model.h"
#include "pando/zoo/zoo.h"

namespace pando::app {

struct ModelFile {
  std::string path;
  std::string fingerprint;  // of its content and weights: "checksum 1a2b3c4d"
  int64_t image_size = 0;   // that it was read with
  Model model;              // with the weights of the file
  ZooEntry entry;
};

// Whether --model names a file by its ending.
bool names_model_file(const std::string& model);
// Reads the file. Pictures of a network that leaves their height and width open have `image_size`
// pixels on each side, or if that is 0 what the file recommends, else 224. Throws UsageError, which
// begins with --model, IoError for a damaged file and Unsupported for layers that are not known.
std::shared_ptr<const ModelFile> read_model_file(const std::string& path, int64_t image_size);

// The entry for a network with one output: adds softmax at its end, or a new classifier if the
// number of classes differs.
ZooEntry entry_of_network(const Network& network, const std::string& name);

// The copy of the model file in a run directory; empty: there is none.
std::filesystem::path kept_model_file(const std::filesystem::path& run_dir);
// The same for a run directory, a folder of checkpoints or a checkpoint.
std::filesystem::path kept_model_file_around(const std::filesystem::path& place);
// Copies the file into a run directory, so that the run can be resumed without it. Returns why
// there is no copy: it cannot be read alone, for example because the weights are in other files.
// Empty: there is one. Throws IoError if the file cannot be copied.
std::string keep_model_file(const ModelFile& file, const std::filesystem::path& run_dir);

}  // namespace pando::app
