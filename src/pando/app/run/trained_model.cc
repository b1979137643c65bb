// SPDX-License-Identifier: MIT
#include "pando/app/run/trained_model.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "pando/app/flags/deciding_options.h"
#include "pando/app/job/exit_code.h"
#include "pando/app/record/checkpoint_list.h"
#include "pando/app/record/checkpoint_store.h"
#include "pando/app/run/picture_values.h"
#include "pando/base/error.h"
#include "pando/base/json.h"
#include "pando/base/paths.h"
#include "pando/data/image/augment.h"
#include "pando/datasets/all_datasets.h"
#include "pando/store/safetensors.h"
#include "pando/zoo/head.h"

namespace pando::app {

namespace {

namespace fs = std::filesystem;

constexpr const char* kNetworkNote = "network";
constexpr int64_t kLargestRecorded = 1 << 24;  // of an extent or a number of outputs

// What the values 0 to 255 of a picture become before the network.
void set_values(PicturePreparation& pictures, const Preparation& preparation, bool on_device) {
  const auto scaled = [&] { pictures.scale = 1.0 / 255; };
  const auto normalised = [&] {
    scaled();
    pictures.mean.assign(kImagenetMean.begin(), kImagenetMean.end());
    pictures.std.assign(kImagenetDeviation.begin(), kImagenetDeviation.end());
  };
  if (on_device) {
    switch (preparation.on_device) {
      case PreprocessValues::none: return;
      case PreprocessValues::standardise: pictures.standardise = true; return;
      case PreprocessValues::normalise_imagenet: return normalised();
      case PreprocessValues::scale_255: return scaled();
    }
  }
  switch (preparation.on_host) {
    case PixelValues::bytes:
    case PixelValues::plain: return;
    case PixelValues::scaled: return scaled();
    case PixelValues::standardised: pictures.standardise = true; return;
    case PixelValues::normalised: return normalised();
  }
}

std::optional<PicturePreparation> pictures_of(const DatasetRecord& record, const DataFlags& flags,
                                              const Shape& sample) {
  const bool is_picture = sample.rank() == 3 && (sample[2] == 1 || sample[2] == 3);
  if (!is_picture || !record.preparation) return std::nullopt;
  PicturePreparation pictures{.height = sample[0], .width = sample[1]};
  pictures.short_side = std::max(sample[0], sample[1]);
  if (record.has_views()) {
    pictures.short_side = datasets::view_short_side({.view_side = sample[0]});
  }
  if (sample[2] == 1) pictures.colours = PicturePreparation::Colours::grey;
  set_values(pictures, *record.preparation, flags.accelerator_side_preprocess);
  return pictures;
}

// The shapes that a network of the zoo is built for.
struct NetworkShape {
  Shape sample;
  int64_t outputs = 0;
  std::string task = "classification";
};

Json json_of(const NetworkShape& shape) {
  return {{"input", shape.sample.dims()}, {"outputs", shape.outputs}, {"task", shape.task}};
}

NetworkShape shape_in(const std::string& text, const std::string& place) {
  try {
    const Json json = Json::parse(text);
    const auto input = json.get<std::vector<int64_t>>("input");
    NetworkShape shape{.sample = {},
                       .outputs = json.get<int64_t>("outputs"),
                       .task = json.get<std::string>("task")};
    const auto check = [](const char* what, int64_t number) {
      if (number >= 1 && number <= kLargestRecorded) return;
      throw IoError(what, ": expected 1 to ", kLargestRecorded, ", got ", number);
    };
    for (const int64_t extent : input) check("input", extent);
    check("outputs", shape.outputs);
    shape.sample = Shape(input);
    return shape;
  } catch (const IoError& error) {
    throw IoError(place, ": note '", kNetworkNote, "': ", error.what());
  }
}

// The shapes that the flags name, as far as the data are not needed to know them.
NetworkShape shape_of_flags(const TrainOptions& flags, const ZooEntry& entry) {
  const DatasetRecord& record = dataset_record(flags.data.dataset);
  NetworkShape shape{.sample = entry.input_shape, .outputs = entry.outputs, .task = entry.task};
  if (record.has_views() && entry.input_shape.rank() == 3) {
    const int64_t side = view_side(flags.data, entry.input_shape);
    shape.sample = {side, side, entry.input_shape[2]};
  } else if (record.shape.rank() == entry.input_shape.rank() && !record.has_views()) {
    shape.sample = record.shape;
  }
  if (record.classes) shape.outputs = *record.classes;
  return shape;
}

ModelFacts facts_of_flags(const TrainOptions& options, const NetworkShape& shape,
                          std::vector<std::string> labels) {
  const bool is_made_up = options.data.synthetic_data != SyntheticData::none;
  return {.labels = std::move(labels),
          .pictures = pictures_of(dataset_record(options.data.dataset), options.data, shape.sample),
          .origin = {
              .producer = "pando " PANDO_VERSION,
              .model = names_model_file(options.model) ? fs::path(options.model).filename().string()
                                                       : options.model,
              .dataset = concat(is_made_up ? "synthetic data for " : "", options.data.dataset),
              .task = shape.task,
              .date = {}}};
}

// One file of weights with what it records.
class WeightsSource {
 public:
  WeightsSource(std::string path, const TrainedModelOptions& options)
      : path_(std::move(path)), options_(options) {
    if (!path_.empty()) read_state();
  }

  TrainedModel trained() {
    Model built = model();
    take_dataset_path();
    return {std::move(built), path_, std::move(state_), flags_.data};
  }

 private:
  Model model() {
    take_flags();
    const ZooEntry& named = flags_.entry();
    const NetworkShape shape = network_shape(named);
    const ZooEntry entry = zoo::for_task(named, shape.task);
    const Network network = flags_.model_file
                                ? entry.build(shape.sample, shape.outputs)
                                : build_model(entry, flags_, shape.sample, shape.outputs);
    Model model(network, {.name = flags_.model_name(), .seed = static_cast<uint64_t>(flags_.seed)});
    if (!path_.empty()) model.load_weights(path_);
    ModelFacts known = facts(shape);
    if (!is_only_of_file()) take_values_of_file(network, known);
    model.set_facts(std::move(known));
    return model;
  }

  void read_state() {
    try {
      state_ = load_training_state(path_);
    } catch (const IoError&) {
      if (store::looks_like_safetensors(path_)) return;
      store::read_weights_file(path_);  // throws if the file is damaged
    }
  }

  bool has_network() const { return state_ && state_->notes.contains(kNetworkNote); }

  // The flags of the user, else what the checkpoint records.
  void take_flags() {
    if (options_.flags != nullptr) flags_ = *options_.flags;
    if (!state_ && options_.flags == nullptr) refuse_unrecorded();
    if (state_) take_recorded_flags();
    if (names_model_file(flags_.model)) {
      flags_.model_file = read_model_file(flags_.model, flags_.data.image_size);
    }
  }

  void take_recorded_flags() {
    OptionTable table;
    add_train_options(table, flags_);
    const ConfigValue recorded = recorded_options(*state_);
    for (size_t i = 0; i < recorded.keys.size(); ++i) {
      const Option* known = table.find_exact(recorded.keys[i]);
      if (known == nullptr || (known->group != "Model" && known->group != "Data")) continue;
      if (is_given(recorded.keys[i])) continue;
      table.assign(table.find(recorded.keys[i], ""), findable(recorded.keys[i], recorded.items[i]),
                   {.kind = Origin::Kind::file, .place = "recorded in " + path_});
    }
  }

  // Where the data were, in case they still are there.
  void take_dataset_path() {
    if (!state_ || is_given("dataset-path")) return;
    const auto note = state_->notes.find(kDatasetPathNote);
    if (note == state_->notes.end() || !path_exists(note->second)) return;
    flags_.data.dataset_path = note->second;
  }

  // Weights without a record, for a network in a file.
  bool is_only_of_file() const { return flags_.model_file && !state_ && !is_given("dataset"); }

  // A file of --model is recorded by its content; the run directory has a copy.
  ConfigValue findable(const std::string& name, const ConfigValue& value) const {
    const auto note = state_->notes.find(kModelFileNote);
    if (name != "model" || note == state_->notes.end()) return value;
    const fs::path kept = kept_model_file_around(path_);
    return ConfigValue::scalar(kept.empty() ? note->second : kept.string());
  }

  // In training a layer in front of the network turned the values of the data into those that the
  // file asks for. Without it, the values are those of the file.
  void take_values_of_file(const Network& network, ModelFacts& known) const {
    if (!flags_.model_file || !known.pictures) return;
    std::string note;
    const DatasetRecord& record = dataset_record(flags_.data.dataset);
    const Network fitted =
        for_values_of(record, *flags_.model_file, network, flags_.tuning.preprocessing, note);
    if (fitted.layers().size() == network.layers().size()) return;
    const PicturePreparation wanted =
        wanted_preparation(*flags_.model_file, network, flags_.tuning.preprocessing).value();
    known.pictures->scale = wanted.scale;
    known.pictures->mean = wanted.mean;
    known.pictures->std = wanted.std;
  }

  bool is_given(const std::string& name) const {
    const Option* given = options_.table == nullptr ? nullptr : options_.table->find_exact(name);
    return given != nullptr && given->origin.kind != Origin::Kind::built_in;
  }

  [[noreturn]] void refuse_unrecorded() const {
    throw UsageError("'", path_,
                     "' has weights but does not record the network they belong to; name it: "
                     "`pando export ",
                     path_, " --model NAME -o model.onnx`");
  }

  NetworkShape network_shape(const ZooEntry& entry) const {
    const bool keeps = !is_given("model") && !is_given("dataset") && !is_given("image-size");
    if (has_network() && keeps) return shape_in(state_->notes.at(kNetworkNote), path_);
    if (is_only_of_file()) {
      return {.sample = entry.input_shape, .outputs = entry.outputs, .task = entry.task};
    }
    return shape_of_flags(flags_, entry);
  }

  ModelFacts facts(const NetworkShape& shape) const {
    if (has_network()) return facts_in(state_->notes, path_);
    if (is_only_of_file()) return flags_.model_file->model.facts();
    const DatasetRecord& record = dataset_record(flags_.data.dataset);
    const bool has_names = std::ssize(record.class_names) == shape.outputs;
    return facts_of_flags(flags_, shape,
                          has_names ? record.class_names : std::vector<std::string>());
  }

  std::string path_;
  const TrainedModelOptions& options_;
  std::optional<TrainingState> state_;
  TrainOptions flags_;
};

// The folder with the checkpoints of a run directory, or the folder itself.
fs::path checkpoint_folder(const fs::path& what) {
  for (const char* name : {"checkpoints/rank0", "checkpoints", "rank0"}) {
    if (is_folder(what / name)) return what / name;
  }
  return what;
}

std::string checkpoint_of(const fs::path& what, WhichCheckpoint which) {
  const fs::path folder = checkpoint_folder(what);
  const fs::path best = folder / kBestCheckpoint;
  const bool has_best = is_plain_file(best);
  if (has_best && which != WhichCheckpoint::newest) return best.string();
  if (which == WhichCheckpoint::best) {
    throw UsageError("--checkpoint best: there is no ", best.string(),
                     "; `pando train --keep-best` keeps it, or use --checkpoint newest");
  }
  const std::vector<CheckpointFile> files = checkpoints_in(folder);
  if (files.empty()) {
    throw UsageError("'", what.string(), "' has no checkpoint epoch_<number>.h5, neither in ",
                     folder.string(),
                     "; expected the directory of a run, a folder of checkpoints, a file of "
                     "weights or a model file: ",
                     kinds_text(false));
  }
  return files.back().path.string();
}

bool is_written(const TrainedModelOptions& options, const char* name) {
  const Option* option = options.table == nullptr ? nullptr : options.table->find_exact(name);
  return option != nullptr && option->origin.kind == Origin::Kind::command_line;
}

// What a model file says already, and what it does not have.
void refuse_flags_of_networks(const std::string& what, const TrainedModelOptions& options) {
  if (is_written(options, "model")) {
    throw UsageError("--model: '", what, "' describes its network already; remove one of them");
  }
  for (const char* name : {"norm-layer", "dataset", "checkpoint"}) {
    if (!is_written(options, name)) continue;
    throw UsageError("--", name, ": no effect on '", what,
                     "', a model file with its own layers and weights; remove the flag");
  }
}

void check_image_size(const Model& model, const LoadModelOptions& wanted) {
  const Shape& input = model.network().inputs()[0].shape;
  if (input.rank() == 3 && input[0] == wanted.height && input[1] == wanted.width) return;
  throw UsageError("--image-size: expected samples of ", wanted.height, "x", wanted.width,
                   " pixels, but the network takes ", input,
                   "; only where a network leaves height and width open the flag chooses them; "
                   "remove it");
}

// A run may have written its checkpoints elsewhere; its configuration knows.
fs::path folder_of_run(const fs::path& run) {
  const fs::path config = run / "config.yml";
  if (!path_exists(config) || is_folder(run / "checkpoints")) return run;
  const ConfigValue values = load_yaml(config.string());
  const ConfigValue* folder = values.find("checkpoint-output-dir");
  const bool is_named = folder != nullptr && !folder->text.empty();
  return is_named && is_folder(folder->text) ? fs::path(folder->text) : run;
}

}  // namespace

std::map<std::string, std::string> network_notes(const TrainOptions& options,
                                                 const TrainingData& data, const ZooEntry& entry) {
  const NetworkShape shape{.sample = data.sets.train.fields()[0].shape,
                           .outputs = data.sets.classes,
                           .task = entry.task};
  auto notes = to_metadata(facts_of_flags(options, shape, data.class_names));
  notes[kNetworkNote] = json_of(shape).dump();
  return notes;
}

TrainedModel open_trained_model(const std::string& what, const TrainedModelOptions& options) {
  if (!what.empty() && is_written(options, "weights")) {
    throw UsageError("--weights: '", what, "' has weights already; remove one of them");
  }
  if (is_model_file(what)) refuse_flags_of_networks(what, options);
  std::string path = what;
  LoadModelOptions file = options.file;
  if (options.flags != nullptr) {
    if (path.empty()) path = options.flags->checkpoints.weights;
    if (path.empty() && names_model_file(options.flags->model)) path = options.flags->model;
    if (file.height == 0) file.height = options.flags->data.image_size;
    if (file.width == 0) file.width = options.flags->data.image_size;
  }
  if (!path.empty() && !path_exists(path)) {
    throw UsageError("'", path,
                     "' does not exist; expected the directory of a run, a checkpoint, a file of "
                     "weights or a model file");
  }
  if (is_folder(path)) path = checkpoint_of(folder_of_run(path), options.which);
  if (!path.empty() && !is_plain_file(path)) throw IoError("'", path, "' is not a regular file");
  const bool has_weights = path.empty() || path.ends_with(".h5") || path.ends_with(".hdf5") ||
                           store::looks_like_safetensors(path);
  TrainedModel trained = is_model_file(path) || !has_weights
                             ? TrainedModel{load_model(path, file), path, {}, {}}
                             : WeightsSource(path, options).trained();
  if (is_written(options, "image-size")) check_image_size(trained.model, file);
  return trained;
}

}  // namespace pando::app
