// The list of all fuzz targets, and the files of their corpora.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pando/data/sources/gzip.h"
#include "tests/fuzz/targets.h"

namespace pando::fuzz {

struct Target {
  std::string name;  // its folder in the corpus
  void (*run)(Input input);
};

inline const Target kTargets[] = {
    {"archive", archive},
    {"boxes", boxes},
    {"cifar_binary", cifar_binary},
    {"command_line", command_line},
    {"compression", compression},
    {"cosmoflow", cosmoflow},
    {"csv", csv},
    {"example", example},
    {"exif", exif},
    {"graph_text", graph_text},
    {"hdf5", hdf5},
    {"hosts", hosts},
    {"idx", idx},
    {"imagenet", imagenet},
    {"jpeg", jpeg},
    {"json", json},
    {"json_tensor", json_tensor},
    {"keras_config", keras_config},
    {"keras_zip", keras_zip},
    {"npy", npy},
    {"npz", npz},
    {"onnx", onnx},
    {"pickle", pickle},
    {"png", png},
    {"record_index", record_index},
    {"safetensors", safetensors},
    {"text_format", text_format},
    {"tfrecord", tfrecord},
    {"tfjs", tfjs},
    {"tuning_file", tuning_file},
    {"views", views},
    {"yaml", yaml},
};

inline const std::filesystem::path kCorpus = PANDO_SOURCE_DIR "/tests/fuzz/corpus";

struct CorpusFile {
  std::string path;
  std::vector<uint8_t> bytes;
};

// In the order of their names.
inline std::vector<CorpusFile> corpus_of(const Target& target) {
  std::vector<CorpusFile> files;
  for (const auto& entry : std::filesystem::directory_iterator(kCorpus / target.name)) {
    files.push_back({entry.path().string(), data::read_file(entry.path().string())});
  }
  std::ranges::sort(files, {}, &CorpusFile::path);
  return files;
}

}  // namespace pando::fuzz
