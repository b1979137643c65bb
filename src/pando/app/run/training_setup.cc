// SPDX-License-Identifier: MIT
#include "pando/app/run/training_setup.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>

#include <fmt/core.h>

#include "pando/app/job/agreement.h"
#include "pando/app/job/exit_code.h"
#include "pando/app/run/fine_tuning.h"
#include "pando/app/run/picture_values.h"
#include "pando/app/run/pipeline_text.h"
#include "pando/base/error.h"
#include "pando/base/memory_limit.h"
#include "pando/data/tfrecord/crc32c.h"
#include "pando/datasets/all_datasets.h"
#include "pando/nn/recommended_splits.h"
#include "pando/options/output_place.h"
#include "pando/runtime/machine/device_set.h"
#include "pando/zoo/head.h"

namespace pando::app {

namespace {

// Writes the graph after a pass to a separate file.
void write_ir(const std::string& where, const std::string& program, std::string_view pass,
              const std::string& text) {
  make_output_folder("--dump-ir", where);
  const std::filesystem::path path =
      std::filesystem::path(where) / fmt::format("{}.{}.ir", program, pass);
  std::ofstream file(path);
  file << text;
  if (!file.flush()) throw IoError("cannot write ", path.string());
}

// A network of a file has the shapes and the classes that it has.
void check_file(const ZooEntry& entry, const TrainOptions& options, const TrainingData& data) {
  const Shape& sample = data.sets.train.fields()[0].shape;
  const std::string& path = options.model_file->path;
  if (sample != entry.input_shape) {
    const bool resizes = dataset_record(options.data.dataset).has_views() && sample.rank() == 3 &&
                         entry.input_shape.rank() == 3 && sample[2] == entry.input_shape[2];
    throw UsageError(
        "--model ", path, ": the network takes samples of shape ", entry.input_shape,
        ", those of --dataset ", options.data.dataset, " are ", sample, "; ",
        resizes ? concat("use --image-size ", entry.input_shape[0])
                : std::string("use data of that shape: pictures in folders, for example, with "
                              "--dataset image_folder --dataset-path DIR"));
  }
  if (options.tuning.replaces_head() || entry.outputs == data.sets.classes) return;
  throw UsageError("--model ", path, ": the network has ", entry.outputs,
                   " outputs, the data have ", data.sets.classes,
                   " classes; --classes auto replaces its classifier by one for the data");
}

// The network without what prepares samples on the device.
Network build_network(const ZooEntry& entry, const TrainOptions& flags, const TrainingData& data,
                      std::string& pixel_note) {
  const Shape& sample = data.sets.train.fields()[0].shape;
  if (flags.model_file) {
    check_file(entry, flags, data);
    try {
      const DatasetRecord& dataset = dataset_record(flags.data.dataset);
      return for_values_of(dataset, *flags.model_file, entry.build(sample, data.sets.classes),
                           flags.tuning.preprocessing, pixel_note);
    } catch (const InvalidArgument& error) {
      throw UsageError("--model ", flags.model_file->path, ": ", error.what());
    }
  }
  if (sample.rank() != entry.input_shape.rank()) {
    throw InvalidArgument("--model ", entry.name, ": expected samples of shape ", entry.input_shape,
                          ", got ", sample, " of the data; use --dataset ", entry.dataset,
                          ", or another model");
  }
  return build_model(entry, flags, sample, data.sets.classes);
}

Network with_front(const Network& network, const TrainingData& data) {
  return data.front ? with_preprocessing(network, *data.front) : network;
}

// --classes may ask for more classes than the data have.
TrainingData with_classes(TrainingData data, const TrainOptions& options) {
  if (data.task == "classification" || data.task == "segmentation") {
    data.sets.classes = options.tuning.classes_for(data.sets.classes);
  }
  while (!data.class_names.empty() && std::ssize(data.class_names) < data.sets.classes) {
    data.class_names.push_back(std::to_string(data.class_names.size()));
  }
  return data;
}

TrainingData load_data(const TrainOptions& options, const ZooEntry& entry, std::ostream& out) {
  return load_training_data({.flags = options.data,
                             .seed = static_cast<uint64_t>(options.seed),
                             .model = &entry,
                             .workers = runtime::topology_of(comm::current_job()).usable_cores(),
                             .synthetic = options.micro_batch_size,
                             .out = &out,
                             .quiet = options.quiet});
}

// The labels of the data decide what a classifier is trained for; other models are for one task.
ZooEntry model_for(const ZooEntry& entry, const TrainingData& data) {
  const bool takes_samples = data.sets.train.fields()[0].shape.rank() == entry.input_shape.rank();
  if (!takes_samples) return entry;  // build_network() says why
  try {
    return zoo::for_task(entry, data.task);
  } catch (const InvalidArgument& error) {
    throw UsageError("--model ", entry.name, ": ", error.what(), "; this model needs data for ",
                     entry.task);
  }
}

std::string text_of(const std::vector<Field>& fields) {
  std::vector<std::string> texts;
  for (const Field& field : fields) {
    texts.push_back(concat(field.name, " ", to_string(field.dtype), " ", field.shape));
  }
  return join(texts, ", ");
}

std::string checksum_of(const std::string& text) {
  return fmt::format("checksum {:08x}",
                     data::crc32c({reinterpret_cast<const uint8_t*>(text.data()), text.size()}));
}

Model make_model(const TrainOptions& options, Network network) {
  const DeviceStrategy strategy(options.phases.strategy(options.devices, options.threads));
  const DeviceStrategy::Scope scope = strategy.scope();
  return Model(std::move(network),
               {.name = options.model_name(), .seed = static_cast<uint64_t>(options.seed)});
}

// A run that only validates needs no whole batch of training samples.
int64_t samples_of_epoch(const TrainingSetup& setup) {
  const int64_t samples = setup.data.sets.train.size();
  if (setup.options.phases.training) return samples;
  return std::max(samples, setup.batch.global_batch_size);
}

}  // namespace

TrainingSetup::TrainingSetup(const TrainOptions& options_in, std::ostream& out_in,
                             const TrainingParts& parts)
    : options(options_in),
      out(out_in),
      data(with_classes(parts.data ? *parts.data : load_data(options, options.entry(), out),
                        options)),
      entry(model_for(parts.model ? *parts.model : options.entry(), data)),
      batch(options.devices.batch(options.micro_batch_size)),
      updates(updates_per_epoch(samples_of_epoch(*this), batch.global_batch_size,
                                options.weight_updates_per_epoch)),
      events(plan_host_events({.updates_per_epoch = updates,
                               .epochs = options.num_epochs,
                               .logs_per_epoch = options.logs_per_epoch,
                               .checkpoint = options.checkpoints.request(options.logs_per_epoch)})),
      config_text(options.config_text),
      memory_left(left_for(tightest(memory_limits(), {}), {})),
      model(
          make_model(options, with_front(build_network(entry, options, data, pixel_note), data))) {
  prepare_tuning();
  collect_warnings();
  compile();
  spread();
  set_test_time_flip();
  set_frozen(options.phases.training);
}

// Layers that prepare samples are not frozen: some of them change samples at random.
void TrainingSetup::prepare_tuning() {
  const bool has_head = options.model_file && !options.tuning.replaces_head();
  const std::vector<std::string> none;
  const auto& labels = has_head ? options.model_file->model.facts().labels : none;
  if (data.class_names.empty() && std::ssize(labels) == data.sets.classes) {
    data.class_names = labels;
  }
  model.set_facts({.labels = data.class_names});
  take_file_weights(model, options);
  if (!options.tuning.freezes() && !options.model_file) return;
  const Network network = build_network(entry, options, data, pixel_note);
  frozen = options.tuning.freezes() ? frozen_layers(network, options.tuning)
                                    : layers_frozen_by_file(network, options);
  std::set<std::string> own;
  for (const LayerInfo& layer : network.layers()) own.insert(layer.name);
  for (const LayerInfo& layer : model.network().layers()) {
    if (!own.contains(layer.name)) preparing_layers.push_back(layer.name);
  }
}

void TrainingSetup::set_frozen(bool is_frozen) {
  for (const std::string& layer : frozen) model.set_trainable(layer, !is_frozen);
}

void TrainingSetup::set_test_time_flip() {
  try {
    model.set_test_time_flip(options.phases.test_time_flip);
  } catch (const InvalidArgument& error) {
    throw UsageError("--test-time-flip: ", error.what());
  }
}

void TrainingSetup::drop_features() {
  if (features.layer.empty()) return;
  features = {};
  model.start_from("");
}

int64_t TrainingSetup::unfreezes_at() const {
  const int64_t after = options.tuning.unfreeze_after;
  return after > 0 ? after : std::numeric_limits<int64_t>::max();
}

runtime::PipelineShape TrainingSetup::shape() const {
  return {.schedule = options.devices.pipeline_schedule,
          .stages = stages(),
          .micro_batches = accumulation(),
          .device_of_stage = options.devices.device_mapping};
}

ScheduleBase TrainingSetup::schedule_base() const {
  return {.global_batch_size = batch.global_batch_size,
          .updates_per_epoch = updates,
          .default_rate = default_rate(options.optimizer, batch.global_batch_size)};
}

FitOptions TrainingSetup::fit_options() const {
  return {.batch_size = options.micro_batch_size,
          .shuffle = options.data.shuffle && !data.in_order,
          .carry_remainder = true,
          .prefetch_depth = options.prefetch_depth,
          .data_workers = options.data.pipeline_num_parallel,
          .same_batch = options.data.synthetic_data == SyntheticData::device,
          .verbose = 0};
}

void TrainingSetup::agree() {
  const TrainTest& sets = data.sets;
  check_agreement(instances, {{"the number of training samples", std::to_string(sets.train.size())},
                              {"the number of test samples", std::to_string(sets.test.size())},
                              {"the number of classes", std::to_string(sets.classes)},
                              {"a training sample", text_of(sets.train.fields())},
                              {"a test sample", text_of(sets.test.fields())},
                              {"the checksum of the training data", data.fingerprint},
                              {"the network", checksum_of(model.summary())}});
  if (instances.count() > 1 && options.devices.splits_are_measured()) {
    splits = split(instances.from_first([&] { return join(splits, " "); }), ' ');
    model.set_pipeline_splits(splits);
  }
}

// Times differ from run to run, and results depend on the kernels to the last bit, so config.yml
// stores the choices for repeated runs. Layers that are unfrozen later have kernels of their own.
void TrainingSetup::tune_kernels() {
  std::vector<std::string> lines;
  const auto tune_program = [&] {
    const auto more = model.tune(options.micro_batch_size, data.sets.train.fields());
    lines.insert(lines.end(), more.begin(), more.end());
  };
  const std::string chosen = instances.from_first([&] {
    tune_program();
    if (options.tuning.unfreeze_after > 0) {
      set_frozen(false);
      tune_program();
      set_frozen(true);
    }
    return join(to_texts(model.kernel_choices()), " ");
  });
  model.set_kernel_choices(chosen.empty() ? KernelChoices{}
                                          : parse_kernel_choices(split(chosen, ' ')));
  for (const std::string& line : lines) tuned_kernels += line + "\n";
  const std::string origin = concat("chosen by --tune ", to_string(options.tune));
  const auto texts = to_texts(model.kernel_choices());
  config_text = with_setting(config_text, "kernel-choices",
                             OptionType<std::vector<std::string>>::show(texts), origin);
  config_text = with_setting(config_text, "tune", ConfigValue::scalar("off"), origin);
}

void TrainingSetup::collect_warnings() {
  warnings = options.warnings;
  warnings.insert(warnings.end(), data.warnings.begin(), data.warnings.end());
  if (batch.warning) warnings.push_back(*batch.warning);
  warnings.insert(warnings.end(), events.warnings.begin(), events.warnings.end());
  for (std::string& warning : warnings_of(options.loss, options.precision)) {
    warnings.push_back(std::move(warning));
  }
  std::string slow =
      slow_half(options.precision, runtime::topology_of(comm::current_job()).instruction_sets);
  if (!slow.empty()) warnings.push_back(std::move(slow));
  const CheckpointFlags& kept = options.checkpoints;
  if (kept.keep_best && kept.keep_last > 0 && !options.phases.validates_during()) {
    warnings.push_back(
        "--keep-last removes checkpoints before they are validated, so --keep-best can choose only "
        "among the remaining ones; use --validation during to validate each when it is written");
  }
  if (options.devices.pipeline_validation_model && stages() == 1) {
    warnings.push_back("--pipeline-validation-model has no effect without --pipeline-splits");
  }
  const std::vector<std::string> unused = warnings_of(options.logging);
  warnings.insert(warnings.end(), unused.begin(), unused.end());
}

int64_t TrainingSetup::next_execution(TrainingPosition position) const {
  constexpr int64_t kExecutionsPerEpoch = 20;
  const int64_t event = events.next_execution(updates_before(position));
  int64_t most = event;
  if (options.steps_per_execution > 0) {
    most = (options.steps_per_execution + accumulation() - 1) / accumulation();
  } else if (!options.logs_are_given) {
    most = std::max<int64_t>(1, updates / kExecutionsPerEpoch);
  }
  // After a resume within an execution, this ends where that execution would have ended.
  return std::min(event, most - position.update % most);
}

// The metrics of other tasks are not measured.
void TrainingSetup::check_monitor() const {
  if (!options.early_stopping.on()) return;
  std::string name = options.early_stopping.monitor;
  if (name.starts_with("val_")) name.erase(0, 4);
  if (name == "loss" || name == task().metric) return;
  throw UsageError("--early-stopping ", options.early_stopping.monitor, ": ", entry.name,
                   " is a model for ", task().name, ", which is measured by ", task().metric,
                   "; expected loss, val_loss, ", task().metric, " or val_", task().metric);
}

void TrainingSetup::compile() {
  check_monitor();
  const auto start_rate = [&] {
    ScheduleFlags schedule = options.schedule;
    resolve_rate(schedule, schedule_base());
    return schedule.learning_rate ? *schedule.learning_rate
                                  : make_schedule(schedule, schedule_base()).at(0);
  };
  const LearningRate rate = make_schedule(options.schedule, schedule_base());
  CompileOptions compiling{
      .optimizer =
          with_layer_rates(make_optimizer(options.optimizer, rate, batch.global_batch_size),
                           head_rates(model.network(), options.tuning, start_rate())),
      .loss = make_loss(options.loss, entry.loss, options.data.augmentation.choice().mix.on()),
      .metrics = {task().metric},
      .precision = options.precision,
      .half = options.half(),
      .fp_exceptions = options.fp_exceptions};
  compiling.execution.slices = options.slices;
  compiling.execution.bucket_bytes =
      static_cast<size_t>(options.counterparts.max_cross_replica_buffer_size);
  compiling.execution.scratch_limits =
      options.counterparts.scratch_limits(options.devices, options.threads);
  compiling.execution.winograd = options.winograd;
  compiling.execution.tuning = options.tune;
  compiling.execution.kernel_choices = parse_kernel_choices(options.kernel_choices);
  compiling.execution.disabled_passes = {options.disable_pass.begin(), options.disable_pass.end()};
  if (!options.dump_ir.empty()) {
    compiling.execution.dump_ir = [this](const std::string& program, std::string_view pass,
                                         const std::string& text) {
      if (options.dump_ir != "-") return write_ir(options.dump_ir, program, pass, text);
      out << "# " << program << " after " << pass << "\n" << text;
    };
  }
  compiling.loss_scaling = options.loss.scaling(batch.replicas);
  model.compile(std::move(compiling));
}

// Distributes the model over the devices.
void TrainingSetup::spread() {
  if (stages() > 1) {
    try {
      const bool measured = options.devices.splits_are_measured();
      splits = measured ? measure_splits() : options.devices.pipeline_splits;
      model.set_pipeline_splits(splits);
      if (!measured) recommend_splits();
    } catch (const InvalidArgument& error) {
      throw UsageError("--pipeline-splits: ", error.what());
    }
    model.set_pipelining_options(options.devices.pipelining(accumulation()));
  } else {
    model.set_gradient_accumulation_options(
        {.steps_per_replica = accumulation(), .reduction = options.devices.gradient_reduction});
  }
  model.set_replication_options(
      {.statistics_group = options.devices.dbn_replica_group_size,
       .wire = options.devices.exchange_format,
       .inference_replicas = options.phases.validation_num_replicas.value_or(0)});
}

// Only advice: equal numbers of weights do not mean equal times.
void TrainingSetup::recommend_splits() {
  const std::vector<std::string> advised = recommended_splits(model.network(), stages());
  if (advised.empty()) return;
  chosen_splits = fmt::format("stages with about equal numbers of weights would begin at {}\n",
                              join(advised, " "));
}

// Measured times differ from run to run, and the results depend on the splits to the last bit, so
// config.yml stores the splits by name for repeated runs. Each instance measures separately;
// agree() chooses the splits of the first.
std::vector<std::string> TrainingSetup::measure_splits() {
  MeasuredSplits measured =
      model.measure_pipeline_splits(stages(), data.sets.train, options.micro_batch_size);
  chosen_splits =
      fmt::format("--pipeline-splits auto: {}; times of one device for a micro-batch of {}:\n",
                  join(measured.splits, " "), options.micro_batch_size) +
      stage_table(measured.seconds) + expected_idle(shape(), measured.seconds);
  const std::string origin = "chosen from the measured times of the layers";
  config_text = with_setting(config_text, "pipeline-splits",
                             OptionType<std::vector<std::string>>::show(measured.splits), origin);
  config_text = with_setting(config_text, "pipeline-stages", ConfigValue::scalar("0"), origin);
  return std::move(measured.splits);
}

}  // namespace pando::app
