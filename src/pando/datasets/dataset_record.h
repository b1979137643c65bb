// A data set in one record: what it is, where its files come from, how they are read for training,
// verified, measured and shown. Programs use the record and never compare names.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pando/datasets/preparation.h"
#include "pando/datasets/tools/benchmark.h"
#include "pando/datasets/tools/show.h"
#include "pando/datasets/tools/verify.h"
#include "pando/fetch/remote_dataset.h"
#include "pando/tensor/shape.h"

namespace pando {

namespace datasets {
struct Pipeline;
struct Showing;
}  // namespace datasets

struct DatasetRecord {
  std::string name;   // as users write it
  std::string title;  // for lists
  Shape shape;        // of a sample; an extent of 0: any
  int64_t train = 0;  // samples of the official data set; 0: there is none
  int64_t test = 0;
  std::optional<int64_t> classes;        // nothing: the files tell, or there are no classes
  std::vector<std::string> class_names;  // in the order of the labels; empty: only numbers

  std::string files;                           // what lies at its path, for --help; empty: no files
  std::optional<fetch::RemoteDataset> remote;  // to fetch; nothing: users bring the files
  std::string how;                             // tells users how to get files without `remote`
  std::vector<std::string> other_folders;      // usual names of its folder besides `name`
  // Whether a folder has its files; does not read them. Null: users always name the folder.
  bool (*holds)(const std::string& folder) = nullptr;
  // Whether the files of a user may be of this kind, by their names. Null: `holds` tells.
  bool (*looks_like)(const std::string& path) = nullptr;
  std::string path_help;  // tells users what to do when training lacks --dataset-path

  // For training; null: `pando train` does not offer the data set.
  TrainingData (*load)(const std::string& path, const DataLoadOptions& options) = nullptr;
  // How images of bytes are prepared, also synthetic ones; nothing: there are no images.
  std::optional<Preparation> preparation;

  // For the tools. A report of `verify` names everything that is wrong.
  VerifyReport (*verify)(const std::string& path, const VerifyOptions& options) = nullptr;
  datasets::Pipeline (*pipeline)(const std::string& path,
                                 const DataBenchmarkOptions& options) = nullptr;
  datasets::Showing (*show)(const std::string& path, const ShowOptions& options) = nullptr;

  // Whether a sample is a part of an image of any size.
  bool has_views() const { return shape.rank() > 0 && shape[0] == 0; }
  // Whether it is in lists of data sets; the others are file formats without samples of their own.
  bool is_listed() const { return remote.has_value() || !how.empty(); }
};

// "28x28x1", "any x any x3".
std::string shape_text(const DatasetRecord& record);

}  // namespace pando
