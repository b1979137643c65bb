// A network with weights that can be trained, evaluated, used, saved and loaded, like Keras' Model.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <concepts>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pando/base/error.h"
#include "pando/compiler/kernel_choices.h"
#include "pando/data/dataset.h"
#include "pando/kernels/winograd_tiles.h"
#include "pando/nn/losses.h"
#include "pando/nn/network.h"
#include "pando/optim/loss_scaling.h"
#include "pando/optim/optimizer.h"
#include "pando/profile/trace.h"
#include "pando/tensor/precision.h"
#include "pando/train/callback.h"
#include "pando/train/device_strategy.h"
#include "pando/train/history.h"
#include "pando/train/model_facts.h"
#include "pando/train/non_finite_loss.h"
#include "pando/train/open_sizes.h"
#include "pando/train/parallel_options.h"
#include "pando/train/run_memory.h"
#include "pando/train/run_mode.h"
#include "pando/train/training_state.h"
#include "pando/zoo/head.h"

namespace pando {

struct ProfileReport;
struct ProfileRequest;

struct ModelOptions {
  std::string name = "model";
  uint64_t seed = 0;  // decides the initial weights and dropout
};

// How programs are compiled and where they run.
struct ExecutionOptions {
  // Workers, one per core, of a model outside any DeviceStrategy; 0: all cores this process may
  // use.
  int threads = 0;
  // The slices of a micro-batch, on which the bits of the results depend; 0: as many as threads, in
  // evaluation and prediction more if activations are large.
  int slices = 0;
  std::set<std::string> disabled_passes;
  // Called with the program's name ("train", "evaluate", "predict"), the pass and the IR text.
  std::function<void(const std::string&, std::string_view, const std::string&)> dump_ir;
  size_t bucket_bytes = 0;  // the least size of a bucket of gradients; 0: one MiB
  // Limits of the scratch memory of kernels of convolutions and dense layers, in bytes per worker:
  // one for all, or two for each stage (convolutions, dense layers). Empty: no limit.
  std::vector<size_t> scratch_limits;
  WinogradTiles winograd = WinogradTiles::up_to_4;  // decides the bits of 3x3 convolutions
  // How the kernels of training are chosen (Model::tune). Evaluation and prediction always use the
  // fixed order, so that results do not depend on where weights were trained.
  Tuning tuning = Tuning::off;
  // Folder that keeps the times for later runs; no value: a folder in the user's cache; empty:
  // none.
  std::optional<std::string> tuning_folder = {};
  KernelChoices kernel_choices = {};  // layers of training that are not timed, and their kernels
  bool reference_kernels = false;     // plain loops for everything: slow, to check fast kernels
};

struct CompileOptions {
  Optimizer optimizer = SGD();
  // One for all outputs of the network, a list in their order, or by name: {{"kind", "mse"}, ...};
  // an output that is not named has no loss. Training minimises their sum, each times its weight.
  Losses loss = "categorical_crossentropy";
  LossWeights loss_weights = {};  // 1 where none is given
  // Over samples, ignoring their weights: for each output, or by name.
  Metrics metrics = {};
  // Means with the samples' weights: sums of weighted numbers, divided by the sum of the weights. A
  // name that is among the metrics too gets "weighted_" in front.
  Metrics weighted_metrics = {};
  // The types that numbers are stored in. Trained weights are converted when compile() changes
  // their type; evaluation and prediction store activations in the same types.
  Precision precision = {};
  // For half precision only. Evaluation and prediction never round stochastically.
  HalfOptions half = {.stochastic_rounding = StochasticRounding::on};
  // Ends training at the first invalid operation, division by zero or overflow, with a
  // runtime::FloatingPointError that says where it was.
  bool fp_exceptions = false;
  LossScaling loss_scaling = {};
  // Steps of each replica in an execution, without a return to the host; 0: a twentieth of an
  // epoch. Rounded up to whole weight updates; the last execution of an epoch may be shorter.
  int64_t steps_per_execution = 0;
  ExecutionOptions execution;
};

struct FitOptions {
  int64_t epochs = 1;       // the number of the epoch to stop before, as in Keras
  int64_t batch_size = 32;  // samples per step of one replica: the micro-batch
  bool shuffle = true;
  // Makes only whole weight updates: samples that do not fill a last one start the next epoch.
  // Otherwise the last batch of an epoch is padded; padding does not count in any result.
  bool carry_remainder = false;
  // The length of an epoch, in weight updates or, as in Keras, in steps of each replica; 0: as many
  // as the data fill. Each implies carry_remainder. Steps must be whole weight updates, and both
  // must agree if both are given. Data that repeat without end require one of them and keep their
  // own order: shuffle before repeat().
  int64_t updates_per_epoch = 0;
  int64_t steps_per_epoch = 0;
  // Drops samples that do not fill a last weight update, to repeat a run of a program that does so.
  bool drop_remainder = false;
  int prefetch_depth = 3;  // micro-batches per replica that are prepared ahead
  // Threads that prepare them; 0: one per core that no device uses, at least one and no more than
  // there are batches to prepare. They avoid the cores of devices if there are others. Results do
  // not depend on their number.
  int data_workers = 0;
  // Every step trains on the first micro-batch, which is prepared once and stays on the devices, to
  // measure training without the cost of data. Requires carry_remainder or drop_remainder, because
  // there is no shorter last batch.
  bool same_batch = false;
  // Which steps' values callbacks find in FitContext::outfeed after an execution.
  OutfeedMode outfeed = OutfeedMode::last;
  // Calls on_step_end for every step while the devices run.
  bool asynchronous_callbacks = false;
  // Set by another thread or a signal handler: training ends after the weight update in progress.
  const std::atomic<bool>* stop = nullptr;
  profile::Trace* trace = nullptr;  // records what the devices do
  std::optional<Dataset> validation_data;
  double validation_split = 0;        // the last part of the samples, kept out of training
  int64_t validation_batch_size = 0;  // 0: batch_size
  // Called after every execution with the position of training: whether to validate there. Empty: a
  // fit validates at the end of every epoch.
  std::function<bool(TrainingPosition)> validate_at;
  // Batches of batch_size that will be validated after the fit, for the remaining time in the
  // progress bar.
  int64_t validation_steps_to_follow = 0;
  // The number of the first epoch, for continuing with loaded weights. Without it, a fit continues
  // the orders of samples and the dropout masks of the fits before it since compile().
  int64_t initial_epoch = 0;
  int64_t initial_update = 0;  // weight updates of that epoch that are done
  // With carry_remainder: this many consecutive epochs are one long epoch for executions, callbacks
  // and validation; `epochs` still counts single epochs.
  int64_t joined_epochs = 1;
  // Returns the weight updates of the execution that begins at a position; empty: as
  // steps_per_execution says. An execution ends with its epoch at the latest.
  std::function<int64_t(TrainingPosition)> updates_per_execution;
  std::vector<std::shared_ptr<Callback>> callbacks;  // none may be null
  // Weights of classes, which multiply those of samples for the loss of that output; 1 for classes
  // that are not there. A network with several outputs needs their names. An output of one number
  // has the classes 0 and 1.
  ClassWeights class_weight = {};
  int verbose = 1;  // 0 silent, 1 progress, 2 one line per epoch
};

struct EvaluateOptions {
  int64_t batch_size = 32;
  int64_t steps_per_execution = 0;  // 0: as compile() says, or a twentieth of the data
  bool drop_remainder = false;      // leave out samples that do not fill a batch on every replica
  int data_workers = 0;             // see FitOptions
  profile::Trace* trace = nullptr;
  int verbose = 0;
  // Called after every execution with the number of micro-batches done and the results so far. An
  // exception ends the evaluation and reaches the caller.
  std::function<void(int64_t done, const Logs& logs)> on_execution_end = {};
};

struct PredictOptions {
  int64_t batch_size = 32;
  int data_workers = 0;  // see FitOptions
  // Called with every batch on its way to the devices, in the order of the data, for example to
  // keep labels. Called by one thread of the library at a time.
  std::function<void(const Batch&)> observe;
};

struct LoadOptions {
  bool by_name = false;        // only layers with the same names, for fine-tuning
  bool skip_mismatch = false;  // with by_name: skip layers whose shapes differ
  // With by_name: layers of the model that keep their weights even if the file has them.
  std::set<std::string> except = {};
};

// What happened to weights on their way into a model.
struct LoadReport {
  std::vector<std::string> skipped;  // "layer 'x': why", for layers of the model
  std::vector<std::string> unused;   // layers of the file
  // "3 weights of 'dense/bias' are beyond the range of f16, ...", where it is stored in f16
  std::vector<std::string> out_of_range;
  // The decay of the moving average (with_average()) that the weights of the file are, as it is
  // written there; empty: they are not an average.
  std::string average_decay;
};

struct FeatureOptions {
  std::string layer;
  RunMode mode = RunMode::train;  // or evaluate
  int64_t batch_size = 32;
  int data_workers = 0;  // see FitOptions
  // The features are kept in this file, which is removed with the last user of the data. Empty: in
  // memory.
  std::string file = {};
};

// What Model::verify found.
struct Verification {
  bool ok = false;
  std::string table;
};

// Used by one thread at a time: calls that run or change it throw InvalidArgument while another
// thread is in one. Copies of a Model are the same model.
class Model {
 public:
  explicit Model(Network network, ModelOptions options = {});
  Model(const SymbolicTensor& input, const SymbolicTensor& output, ModelOptions options = {});
  Model(std::vector<SymbolicTensor> inputs, const std::vector<SymbolicTensor>& outputs,
        ModelOptions options = {});
  // With these weights, by the names of weight_names(), instead of random ones. Throws
  // InvalidArgument unless each weight is there, f32 and of the shape that get_weight() returns.
  // A template, so that Model({a, b}, {c, d}) means inputs and outputs.
  template <std::same_as<std::map<std::string, Tensor>> Weights>
  Model(Network network, Weights weights, ModelOptions options = {})
      : Model(std::move(network), std::move(options), weights) {}

  const std::string& name() const;
  const Network& network() const;
  std::string summary() const;

  // Names of classes, preparation of pictures and origin, which files keep with the model.
  const ModelFacts& facts() const;
  void set_facts(ModelFacts facts);

  // Lets predict() take samples whose extents along open axes differ from those of network();
  // models of files that leave extents open have it (load_model.h). Programs for the 4 sizes that
  // were used last are kept, and all use the same weights. Nothing is open in a model with pipeline
  // stages, or while start_from() is in effect; until() and with_head() return models of one size.
  void set_open_sizes(OpenSizes sizes);
  const OpenSizes& open_sizes() const;

  // evaluate(), predict() and predictors then answer with the mean of the outputs for a picture and
  // its mirror image; training and files do not change. No effect while start_from() is in effect.
  // Throws InvalidArgument unless the network suits (test_time_flip.h).
  void set_test_time_flip(bool flips);

  // Frozen layers keep their weights; batch normalisation then uses its moving statistics. Takes
  // effect at once. Throws for an unknown name.
  void set_trainable(const std::string& layer, bool trainable);
  bool trainable(const std::string& layer) const;

  // The pipeline stages of the network (network.h has the rules). They may change at any time
  // outside of fit, evaluate and predict; weights stay.
  std::vector<StageAssignment> get_pipeline_stage_assignment() const;
  void set_pipeline_stage_assignment(const std::vector<StageAssignment>& assignment);
  void set_pipeline_stage_assignment(const std::vector<int>& stages);
  void reset_pipeline_stage_assignment();
  void set_pipeline_splits(const std::vector<std::string>& layer_names);
  // Trains a copy of the model for a few steps, without a pipeline, on one device of the strategy,
  // and returns the splits that make the times of the stages as even as possible. Neither weights
  // nor stages of this model change. Needs compile(). Throws InvalidArgument for more stages than
  // layers that can start one.
  MeasuredSplits measure_pipeline_splits(int stages, const Dataset& data, int64_t batch_size) const;
  void print_pipeline_stage_assignment_summary(std::ostream& out, int line_length = 98) const;

  void compile(CompileOptions options);

  // How the model is spread over the devices of the strategy in whose scope it was made (outside
  // any: over all cores as one device, or one device per stage). They take effect at once and keep
  // weights and optimizer. They throw InvalidArgument for numbers out of range.
  void set_gradient_accumulation_options(const GradientAccumulationOptions& options);
  void set_pipelining_options(const PipeliningOptions& options);
  void set_replication_options(const ReplicationOptions& options);
  int replicas() const;  // all replicas of a training step, on all instances

  // The instances of a job fit and evaluate together: all must make the same calls, or the others
  // wait.
  // The fields of a data set are x, y and, if there is another, the weight of each sample, f32. For
  // a network with several inputs or outputs, they have the names of these; "sample_weight" weighs
  // all outputs, "sample_weight/NAME" one (Dataset::from_fields, train/wiring.h). Auxiliary inputs
  // are fields of their names. A sample's loss is multiplied by its weight; divisors do not change.
  // Rows whose weights are all 0 are padding, wherever they are: they enter no divisor, metric,
  // batch statistic or count of samples.
  History fit(const Dataset& train, const FitOptions& options = {});
  History fit(Tensor x, Tensor y, const FitOptions& options = {});
  History fit(Tensor x, Tensor y, Tensor sample_weight, const FitOptions& options = {});
  Logs evaluate(const Dataset& dataset, const EvaluateOptions& options = {});
  Logs evaluate(Tensor x, Tensor y, const EvaluateOptions& options = {});
  Logs evaluate(Tensor x, Tensor y, Tensor sample_weight, const EvaluateOptions& options = {});
  // predict() is for networks with one output; predict_all() returns one tensor per output.
  Tensor predict(const Tensor& x, int64_t batch_size = 32);
  // One row per sample in the order of the data, of which only x and auxiliary inputs are used.
  // Each instance of a job predicts on its own.
  Tensor predict(const Dataset& dataset, const PredictOptions& options = {});
  std::vector<Tensor> predict_all(const Dataset& dataset, const PredictOptions& options = {});

  // Weights in the order of the layers, in the types they are stored in, or their moving averages
  // in f32 if the optimizer keeps some (with_average()); names are "conv2d/kernel". set_weights
  // takes f32 or a 16-bit type, rounds to the stored one, and checks all before it changes any.
  std::vector<Tensor> get_weights() const;
  LoadReport set_weights(const std::vector<Tensor>& weights);
  std::vector<std::string> weight_names() const;
  Tensor get_weight(const std::string& name) const;

  // Writes a model file of the kind that the suffix names: save_model() of load_model.h, which has
  // options.
  void save(const std::string& path) const;
  // The network up to a layer, as a model of its own with copies of these weights.
  Model until(const std::string& layer) const;
  // The network with a new classifier (zoo/head.h), as a model of its own: all other layers have
  // copies of these weights. Throws InvalidArgument if the network does not end with a classifier.
  Model with_head(const zoo::HeadOptions& options) const;

  // For a network in which a layer and all before it are frozen: their results are computed once,
  // and fit and evaluate then start there.
  //
  //   model.start_from("pool");
  //   model.fit(model.features(train, {.layer = "pool", .batch_size = 64}), {.batch_size = 64});
  //
  // Data whose field of features holds the results of the layer; the other fields stay. With
  // RunMode::train they have the bits that training with the same batch size computes, with
  // RunMode::evaluate those of an evaluation.
  Dataset features(const Dataset& dataset, const FeatureOptions& options) const;
  // From now on fit, evaluate and predict take results of this layer instead of the inputs;
  // weights, summary and files stay those of the whole network. Empty: the inputs again. Throws
  // InvalidArgument unless all paths from the inputs to the outputs lead through the layer.
  void start_from(const std::string& layer);
  // Takes the weights of the layers that have the same names in another model, as load_weights does
  // by name from a file.
  LoadReport copy_weights(const Model& other, LoadOptions options = {.by_name = true});

  // HDF5 in the layout of Keras; safetensors files (safetensors_weights.h) and model files
  // (load_model.h) are read too. A file that does not fit changes nothing.
  void save_weights(const std::string& path) const;
  LoadReport load_weights(const std::string& path, LoadOptions options = {});

  // Everything that the rest of a run depends on, for checkpoints. A restored model that is
  // compiled in the same way and continues with a fit from initial_epoch and initial_update of its
  // position ends with the same bits as an uninterrupted run. restore() needs compile(); it changes
  // nothing when the state does not fit.
  TrainingState training_state() const;
  LoadReport restore(const TrainingState& state);
  TrainingPosition position() const;  // the end of the last fit

  // The rate of the next weight update.
  double learning_rate() const;
  // The factor on the loss in the next weight update, by which gradients are divided again.
  double loss_scaling_factor() const;
  // Sets the rate from now on, in place of any schedule.
  void set_learning_rate(double rate);
  void scale_learning_rate(double factor);  // scales this and all later weight updates

  // Compiles the program that fit, evaluate or predict would run on data with these fields, and
  // allocates its memory; runs nothing. Throws what they would throw before their first step. Needs
  // compile(), except to predict.
  void prepare(RunMode mode, int64_t batch_size, const std::vector<Field>& fields);

  // Computes the memory that such a call will need besides the memory that the process holds now;
  // allocates nothing. fit, evaluate, predict and prepare throw OverMemoryLimit before they take
  // more than the system leaves (base/memory_limit.h).
  RunMemory memory_of(const RunPart& part);

  // Times the kernels of every layer for training with this batch size, as ExecutionOptions::tuning
  // says, and chooses the fastest; fit() does so by itself before its first step, and gives all
  // instances of a job the choices of instance 0. Only this instance measures. Returns a line on
  // what was done and lines on what could not be kept; nothing if there was nothing to do.
  std::vector<std::string> tune(int64_t batch_size, const std::vector<Field>& fields);
  // The choices of training that differ from the fixed order.
  const KernelChoices& kernel_choices() const;
  // A sentence about each given choice that no program of training that was compiled so far uses:
  // there is no such layer, or the processor lacks the instructions of the kernel.
  std::vector<std::string> unused_kernel_choices() const;
  // Trains with these choices, and with the fixed order for other layers. Stops timing kernels.
  void set_kernel_choices(KernelChoices choices);

  // The decisions of the compiler for training with this batch size, and the memory of every
  // device; needs compile().
  std::string compile_report(int64_t batch_size, const std::vector<Field>& fields);

  // The same in detail, for any program, and where the time of a traced run went
  // (profile_report.h); needs compile().
  ProfileReport profile(const ProfileRequest& request);

  // Only what every device holds.
  std::string memory_report(int64_t batch_size, const std::vector<Field>& fields);

  // Runs one training step on random samples, compiled in every way (without passes and with
  // reference kernels, by default, with each pass off), and compares all outputs. Slow.
  Verification verify(int64_t batch_size, const std::vector<Field>& fields);

  struct Impl;  // private to train/

 private:
  Model(Network network, ModelOptions options, std::map<std::string, Tensor>& weights);

  friend class Predictor;
  std::shared_ptr<Impl> impl_;
};

}  // namespace pando
