// Pando's side of bench/peers/compare: trains or predicts the number of steps that it reads from
// standard input and prints the seconds they took. Between the lines it sleeps. With --first-answer
// it prints how long a file takes to become a model and to answer one picture, and ends.
// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "pando/base/random.h"
#include "pando/data/dataset.h"
#include "pando/train/load_model.h"
#include "pando/train/model.h"
#include "pando/train/predictor.h"
#include "pando/train/profile_report.h"
#include "pando/zoo/zoo.h"

namespace {

using namespace pando;

struct PeerOptions {
  std::string model = "mnist_cnn";
  int64_t batch = 64;
  int threads = 0;
  int64_t size = 0;  // of each axis of a picture or volume; 0: that of the zoo
  std::string file;  // a model file instead of a network of the zoo; only for inference
  int64_t height = 0;
  int64_t width = 0;
  bool inference = false;
  bool predictor = false;  // inference by Predictor, one call per batch, with all cores
  bool first_answer = false;
  bool report = false;
  std::string profile;  // a folder for the report on a traced run; empty: none
  std::set<std::string> disabled_passes;
};

PeerOptions parse(int argc, char** argv) {
  PeerOptions options;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const auto value = [&] {
      if (++i == argc) throw InvalidArgument(flag, " needs a value");
      return std::string(argv[i]);
    };
    if (flag == "--model") {
      options.model = value();
    } else if (flag == "--batch") {
      options.batch = parse_int(value()).value_or(0);
    } else if (flag == "--threads") {
      options.threads = static_cast<int>(parse_int(value()).value_or(0));
    } else if (flag == "--size") {
      options.size = parse_int(value()).value_or(0);
    } else if (flag == "--file") {
      options.file = value();
    } else if (flag == "--height") {
      options.height = parse_int(value()).value_or(0);
    } else if (flag == "--width") {
      options.width = parse_int(value()).value_or(0);
    } else if (flag == "--inference") {
      options.inference = true;
    } else if (flag == "--predictor") {
      options.predictor = true;
    } else if (flag == "--first-answer") {
      options.first_answer = true;
    } else if (flag == "--report") {
      options.report = true;
    } else if (flag == "--profile") {
      options.profile = value();
    } else if (flag == "--disable-pass") {
      options.disabled_passes.insert(value());
    } else {
      throw InvalidArgument("unknown flag ", flag);
    }
  }
  return options;
}

// The entry of the zoo, with pictures of the size that the options ask for.
ZooEntry sized_entry(const PeerOptions& options) {
  ZooEntry entry = zoo_entry(options.model);
  for (int axis = 0; options.size > 0 && axis + 1 < entry.input_shape.rank(); ++axis) {
    entry.input_shape[axis] = options.size;
  }
  return entry;
}

// A few batches of uniform numbers; classes are drawn at random, for every pixel in segmentation,
// and targets lie in [0, 1).
Dataset make_data(const ZooEntry& entry, int64_t samples) {
  RandomStream random(7);
  std::vector<int64_t> dims = {samples};
  dims.insert(dims.end(), entry.input_shape.begin(), entry.input_shape.end());
  Tensor x(DType::f32, Shape(dims));
  for (float& value : x.f32()) value = random.next_uniform();
  if (entry.loss == "mean_squared_error") {
    Tensor y(DType::f32, {samples, entry.outputs});
    for (float& value : y.f32()) value = random.next_uniform();
    return Dataset::from_tensors(std::move(x), std::move(y));
  }
  dims.pop_back();
  if (entry.task != "segmentation") dims = {samples};
  Tensor y(DType::i32, Shape(dims));
  for (int32_t& label : y.i32()) {
    label = static_cast<int32_t>(random.next_below(static_cast<uint64_t>(entry.outputs)));
  }
  return Dataset::from_tensors(std::move(x), std::move(y));
}

// What computes the steps of one side.
class Peer {
 public:
  virtual ~Peer() = default;
  virtual const Model& model() const = 0;
  virtual double run(int64_t steps) = 0;  // returns the seconds
  // Writes a report on a traced run into a folder.
  virtual void write_report(const std::string& folder) = 0;
};

class ZooPeer : public Peer {
 public:
  explicit ZooPeer(const PeerOptions& options)
      : options_(options),
        entry_(sized_entry(options)),
        data_(make_data(entry_, kBatches * options.batch)),
        model_(entry_.build(entry_.input_shape, entry_.outputs), {.name = options.model}) {
    model_.compile(
        {.optimizer = SGD({.learning_rate = 0.001, .momentum = 0.9}),
         .loss = entry_.loss,
         .steps_per_execution = 1 << 20,
         .execution = {.threads = options.threads, .disabled_passes = options.disabled_passes}});
    if (options.report) std::cerr << model_.compile_report(options.batch, data_.fields());
  }

  const Model& model() const override { return model_; }

  double run(int64_t steps) override {
    const Dataset data =
        data_.repeat((steps + kBatches - 1) / kBatches).take(steps * options_.batch);
    const auto start = std::chrono::steady_clock::now();
    compute(data);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  void write_report(const std::string& folder) override {
    constexpr int64_t kSteps = 12;
    const Dataset data = data_.repeat(kSteps / kBatches);
    profile::Trace trace(kProfileTrace);
    compute(data, &trace);
    write_profile(model_, folder, options_.model,
                  {.mode = options_.inference ? RunMode::evaluate : RunMode::train,
                   .batch_size = options_.batch,
                   .fields = data.fields(),
                   .trace = &trace});
  }

 private:
  void compute(const Dataset& data, profile::Trace* trace = nullptr) {
    if (options_.inference) {
      model_.evaluate(data, {.batch_size = options_.batch, .trace = trace});
    } else {
      model_.fit(data,
                 {.batch_size = options_.batch, .shuffle = false, .trace = trace, .verbose = 0});
    }
  }

  static constexpr int64_t kBatches = 4;
  PeerOptions options_;
  ZooEntry entry_;
  Dataset data_;
  Model model_;
};

Tensor random_samples(const Model& model, int64_t samples) {
  const NetworkInput& input = model.network().inputs().at(0);
  std::vector<int64_t> dims = {samples};
  dims.insert(dims.end(), input.shape.begin(), input.shape.end());
  Tensor x(DType::f32, Shape(dims));
  RandomStream random(7);
  for (float& value : x.f32()) value = random.next_uniform();
  return x;
}

// A network that somebody else trained: predicts random pictures.
class FilePeer : public Peer {
 public:
  explicit FilePeer(const PeerOptions& options)
      : options_(options),
        model_(load_model(options.file, {.height = options.height, .width = options.width})),
        x_(random_samples(model_, options.batch)) {
    model_.compile(
        {.loss = "mse", .steps_per_execution = 1 << 20, .execution = {.threads = options.threads}});
  }

  const Model& model() const override { return model_; }

  double run(int64_t steps) override {
    const Dataset data = Dataset::from_tensors(x_).repeat(steps);
    const auto start = std::chrono::steady_clock::now();
    model_.predict_all(data, {.batch_size = options_.batch});
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  // Predictions are not traced; an evaluation computes the same and a loss.
  void write_report(const std::string& folder) override {
    const Tensor y = model_.predict(x_, options_.batch);
    constexpr int64_t kWarm = 100;
    constexpr int64_t kTraced = 12;
    const Dataset data = Dataset::from_tensors(x_, y).repeat(kTraced);
    profile::Trace trace(kProfileTrace);
    model_.evaluate(Dataset::from_tensors(x_, y).repeat(kWarm), {.batch_size = options_.batch});
    model_.evaluate(data, {.batch_size = options_.batch, .trace = &trace});
    write_profile(model_, folder, options_.model,
                  {.mode = RunMode::evaluate,
                   .batch_size = options_.batch,
                   .fields = data.fields(),
                   .trace = &trace});
  }

 private:
  PeerOptions options_;
  Model model_;
  Tensor x_;
};

// One call of a predictor after the other, as a client that waits for each answer.
class PredictorPeer : public Peer {
 public:
  explicit PredictorPeer(const PeerOptions& options)
      : model_(model_of(options)),
        predictor_(model_, {.max_batch = options.batch, .workers = options.threads}),
        samples_(options.batch),
        x_(static_cast<size_t>(samples_) * predictor_.inputs().at(0).sample_bytes()),
        y_(static_cast<size_t>(samples_) * predictor_.outputs().at(0).sample_bytes()) {
    RandomStream random(7);
    auto* values = reinterpret_cast<float*>(x_.data());
    for (size_t i = 0; i < x_.size() / sizeof(float); ++i) values[i] = random.next_uniform();
  }

  const Model& model() const override { return model_; }

  double run(int64_t steps) override {
    const std::byte* from = x_.data();
    std::byte* to = y_.data();
    const auto start = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < steps; ++i) {
      predictor_.run({.inputs = {&from, 1}, .outputs = {&to, 1}, .samples = samples_},
                     PredictorMode::latency);
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  void write_report(const std::string&) override {
    throw InvalidArgument("--profile: calls of a predictor are not traced; remove --predictor");
  }

 private:
  static Model model_of(const PeerOptions& options) {
    if (!options.file.empty()) {
      return load_model(options.file, {.height = options.height, .width = options.width});
    }
    const ZooEntry entry = sized_entry(options);
    return Model(entry.build(entry.input_shape, entry.outputs), {.name = options.model});
  }

  Model model_;
  Predictor predictor_;
  int64_t samples_;
  std::vector<std::byte> x_;
  std::vector<std::byte> y_;
};

std::unique_ptr<Peer> make_peer(const PeerOptions& options) {
  if (options.predictor) return std::make_unique<PredictorPeer>(options);
  if (options.file.empty()) return std::make_unique<ZooPeer>(options);
  return std::make_unique<FilePeer>(options);
}

// What the other side may check, and the work of a sample.
std::string info_of(const Model& model) {
  return concat("{\"parameters\": ", model.network().trainable_parameters(),
                ", \"mflop\": ", forward_flops(model.network()) / 1e6, "}");
}

// Seconds by the clock and of all processors since it was made.
class Stopwatch {
 public:
  std::string text() const {
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start_;
    return concat("[", wall.count(), ", ", processor_seconds() - processor_start_, "]");
  }

 private:
  static double processor_seconds() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
  }
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double processor_start_ = processor_seconds();
};

// From a file to a model, and to its first answer.
void print_first_answer(const PeerOptions& options) {
  const Stopwatch watch;
  Model model = load_model(options.file, {.height = options.height, .width = options.width});
  const std::string loaded = watch.text();
  model.predict(random_samples(model, 1), 1);
  std::cout << "{\"parameters\": " << model.network().trainable_parameters()
            << ", \"loaded\": " << loaded << ", \"answered\": " << watch.text() << "}" << std::endl;
}

void serve(Peer& peer) {
  std::string word;
  while (std::cin >> word && word == "run") {
    int64_t steps = 0;
    if (!(std::cin >> steps) || steps < 1) throw InvalidArgument("run needs a number of steps");
    std::cout << "seconds " << peer.run(steps) << std::endl;
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const PeerOptions options = parse(argc, argv);
    if (options.first_answer) {
      print_first_answer(options);
      return 0;
    }
    const std::unique_ptr<Peer> peer = make_peer(options);
    peer->run(3);
    if (!options.profile.empty()) peer->write_report(options.profile);
    std::cout << "ready " << info_of(peer->model()) << std::endl;
    serve(*peer);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "pando_peer: " << error.what() << std::endl;
    return 1;
  }
}
