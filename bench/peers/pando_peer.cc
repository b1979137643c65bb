// Pando's side of bench/peers/compare: trains or predicts the number of steps that it reads from
// standard input and prints the seconds they took. Between the lines it sleeps.
// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>

#include "pando/base/random.h"
#include "pando/data/dataset.h"
#include "pando/train/model.h"
#include "pando/train/profile_report.h"
#include "pando/zoo/zoo.h"

namespace {

using namespace pando;

struct PeerOptions {
  std::string model = "mnist_cnn";
  int64_t batch = 64;
  int threads = 0;
  int64_t size = 0;  // of each axis of a picture or volume; 0: that of the zoo
  bool inference = false;
  bool report = false;
  std::string profile;  // a folder for the report on a traced run; empty: none
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
    } else if (flag == "--inference") {
      options.inference = true;
    } else if (flag == "--report") {
      options.report = true;
    } else if (flag == "--profile") {
      options.profile = value();
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

class Peer {
 public:
  explicit Peer(const PeerOptions& options)
      : options_(options),
        entry_(sized_entry(options)),
        data_(make_data(entry_, kBatches * options.batch)),
        model_(entry_.build(entry_.input_shape, entry_.outputs), {.name = options.model}) {
    model_.compile({.optimizer = SGD({.learning_rate = 0.001, .momentum = 0.9}),
                    .loss = entry_.loss,
                    .steps_per_execution = 1 << 20,
                    .execution = {.threads = options.threads}});
    if (options.report) std::cerr << model_.compile_report(options.batch, data_.fields());
  }

  int64_t parameters() const { return model_.network().trainable_parameters(); }

  double run(int64_t steps) {
    const Dataset data =
        data_.repeat((steps + kBatches - 1) / kBatches).take(steps * options_.batch);
    const auto start = std::chrono::steady_clock::now();
    compute(data);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  // Writes a report on a traced run into a folder.
  void write_report(const std::string& folder) {
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
    Peer peer(options);
    peer.run(3);
    if (!options.profile.empty()) peer.write_report(options.profile);
    std::cout << "ready {\"parameters\": " << peer.parameters() << "}" << std::endl;
    serve(peer);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "pando_peer: " << error.what() << std::endl;
    return 1;
  }
}
