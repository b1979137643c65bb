// SPDX-License-Identifier: MIT
#include "pando/plan/measure.h"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstring>
#include <sstream>

#include <fmt/core.h>

#include "pando/app/run/training_setup.h"
#include "pando/base/clock.h"
#include "pando/base/error.h"
#include "pando/base/strings.h"
#include "pando/base/threads.h"
#include "pando/runtime/machine/topology.h"
#include "pando/runtime/program/accumulation.h"
#include "pando/runtime/program/device_memory.h"
#include "pando/runtime/program/variables.h"
#include "pando/train/programs.h"

namespace pando::plan {

namespace {

using Clock = std::chrono::steady_clock;

// Larger than the caches, since gradients are written long before they are sent.
constexpr size_t kCopied = size_t{16} << 20;

// Runs `round` on all threads at the same time and returns the seconds of the slowest thread, for
// the fastest of a few rounds.
template <typename Round>
double timed_together(int threads, const Round& round) {
  constexpr int kRounds = 4;
  double best = 0;
  for (int i = 0; i < kRounds; ++i) {
    std::vector<double> seconds(static_cast<size_t>(threads));
    std::barrier ready(threads);
    run_together(threads, [&](int thread) {
      ready.arrive_and_wait();
      const Clock::time_point start = Clock::now();
      round(thread);
      seconds[static_cast<size_t>(thread)] = seconds_since(start);
    });
    const double slowest = *std::max_element(seconds.begin(), seconds.end());
    best = i == 0 ? slowest : std::min(best, slowest);
  }
  return std::max(best, 1e-9);
}

// Replaces all options that spread training over devices: the plan decides them.
app::TrainOptions spread_over(const app::TrainOptions& options, int devices) {
  app::TrainOptions own = options;
  own.devices.num_replicas = devices;
  own.devices.gradient_accumulation_count.reset();
  own.devices.global_batch_size.reset();
  own.devices.memory_per_device = {};
  own.threads = 0;
  own.slices = own.devices.cores_of_a_device(0);
  return own;
}

constexpr double kWindowSeconds = 0.05;  // short, so some are undisturbed on a busy machine
constexpr int64_t kFewestTraced = 4;     // weight updates
constexpr int64_t kMostTraced = 64;
constexpr int64_t kLongExecution = int64_t{1} << 20;  // weight updates; more than there are

// Seconds of a weight update, without a tracer. Other load on the machine can only make it longer,
// so the shortest of several runs counts.
double update_seconds(app::TrainingSetup& setup, const FitOptions& fit, double all) {
  const Dataset& train = setup.data.sets.train;
  const int64_t step = setup.batch.global_batch_size;
  const auto timed = [&](int64_t updates) {
    const Clock::time_point start = Clock::now();
    setup.model.fit(train.take(updates * step), fit);
    return seconds_since(start) / static_cast<double>(updates);
  };
  timed(1);  // memory and caches are warm afterwards
  const double first = std::max(timed(2), 1e-6);
  const auto wanted = static_cast<int64_t>(kWindowSeconds / first);
  const int64_t updates = std::clamp<int64_t>(wanted, 4, std::max<int64_t>(4, setup.updates));
  double shortest = first;
  const Clock::time_point start = Clock::now();
  do {
    shortest = std::min(shortest, timed(updates));
  } while (seconds_since(start) < all);
  return shortest;
}

// The seconds of the events of a trace, by kind and name. Uses the median: now and then another
// process takes the core during an event.
class EventSeconds {
 public:
  explicit EventSeconds(const profile::Trace& trace) {
    for (const profile::TraceTrack* track : trace.tracks()) {
      for (const profile::TraceEvent& event : track->events()) {
        seconds_[{event.kind, trace.name(event.name)}].push_back(
            1e-9 * static_cast<double>(event.end - event.begin));
      }
    }
  }

  // Seconds of an event of this kind; 0 if there is none.
  double of(profile::EventKind kind) const {
    for (const auto& [key, seconds] : seconds_) {
      if (key.first == kind) return middle(seconds);
    }
    return 0;
  }
  // Seconds of the calls of a worker in an update, by op and node. A call in tiles has an event for
  // each tile.
  std::map<std::string, double> calls() const {
    const double updates = std::max(1.0, count(profile::EventKind::update));
    std::map<std::string, double> calls;
    for (const auto& [key, seconds] : seconds_) {
      if (key.first != profile::EventKind::op) continue;
      calls[key.second] = middle(seconds) * static_cast<double>(seconds.size()) / updates;
    }
    return calls;
  }

 private:
  // The events of this kind, of all workers.
  double count(profile::EventKind kind) const {
    size_t events = 0;
    for (const auto& [key, seconds] : seconds_) {
      if (key.first == kind) events += seconds.size();
    }
    return static_cast<double>(events);
  }
  static double middle(std::vector<double> seconds) {
    const auto half = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
    std::nth_element(seconds.begin(), half, seconds.end());
    return *half;
  }
  std::map<std::pair<profile::EventKind, std::string>, std::vector<double>> seconds_;
};

// Scales the traced times so that they sum to the measured time of an update. The trace only gives
// proportions, because waits and the cost of tracing belong to no call.
void share_out(Measurement& found) {
  double traced = found.packing + found.update;
  for (const auto& [name, seconds] : found.call_seconds) traced += seconds;
  const double factor = traced > 0 ? found.seconds / traced : 0;
  found.packing *= factor;
  found.update *= factor;
  for (auto& [name, seconds] : found.call_seconds) seconds *= factor;
}

Measurement measure(app::TrainingSetup& setup, int workers, double all) {
  Measurement found{.workers = workers};
  FitOptions fit = setup.fit_options();
  fit.updates_per_execution = [](TrainingPosition) { return kLongExecution; };
  setup.model.set_learning_rate(0);  // keeps the loss finite, however often the same images come
  found.seconds = update_seconds(setup, fit, all);
  profile::Trace trace;
  fit.trace = &trace;
  const auto wanted = static_cast<int64_t>(all / 4 / found.seconds);
  const int64_t updates = std::min(std::clamp(wanted, kFewestTraced, kMostTraced), setup.updates);
  setup.model.fit(setup.data.sets.train.take(updates * setup.batch.global_batch_size), fit);
  const EventSeconds events(trace);
  found.packing = events.of(profile::EventKind::prologue);
  found.update = events.of(profile::EventKind::update);
  found.layers = train::layer_seconds(setup.model.network(), trace);
  found.call_seconds = events.calls();
  share_out(found);
  return found;
}

bool is_backward(const compiler::Call& call) { return call.node->name().ends_with("/grad"); }

// A stream that discards all output.
std::ostream& nowhere() {
  static std::ostream stream(nullptr);
  return stream;
}

}  // namespace

MemoryRates measure_memory(int threads) {
  std::vector<std::vector<float>> from(static_cast<size_t>(threads));
  std::vector<std::vector<float>> to(static_cast<size_t>(threads));
  for (size_t i = 0; i < from.size(); ++i) {
    from[i].assign(kCopied / sizeof(float), 1.0F);
    to[i].assign(kCopied / sizeof(float), 0.0F);
  }
  const auto copy = [&](int thread) {
    const auto i = static_cast<size_t>(thread);
    std::memcpy(to[i].data(), from[i].data(), kCopied);
  };
  const auto sum = [&](int thread) {
    const auto i = static_cast<size_t>(thread);
    runtime::add_to(to[i].data(), from[i].data(), static_cast<int64_t>(from[i].size()));
  };
  const auto bytes = static_cast<double>(kCopied);
  return {.copy = bytes / timed_together(threads, copy),
          .sum = bytes / timed_together(threads, sum)};
}

std::vector<Stage> stages_of(const compiler::Program& program,
                             const std::map<std::string, double>& call_seconds) {
  std::vector<Stage> stages(static_cast<size_t>(program.stages()));
  // Instances exchange sums in 32 bits, whatever type the gradients are stored in.
  const size_t widening = sizeof(float) / size_of(program.options().precision.update);
  for (const compiler::Section& section : program.sections()) {
    Stage& stage = stages[static_cast<size_t>(section.stage)];
    double done = 0;
    const size_t first = stage.gradients.size();
    for (const compiler::Segment& segment : section.segments) {
      for (const int index : segment.calls) {
        const compiler::Call& call = program.calls()[static_cast<size_t>(index)];
        const auto known = call_seconds.find(call.node->op() + " " + call.node->name());
        const double seconds = known == call_seconds.end() ? 0 : known->second;
        const bool backward = section.backward || (!program.pipelined() && is_backward(call));
        (backward ? stage.seconds.backward : stage.seconds.forward) += seconds;
        done += seconds;
        if (call.bucket < 0) continue;
        const compiler::Bucket& bucket = program.memory().buckets[static_cast<size_t>(call.bucket)];
        const size_t bytes = (bucket.end - bucket.begin) * widening;
        stage.gradients.push_back({static_cast<double>(bytes), done});
      }
    }
    for (size_t i = first; i < stage.gradients.size(); ++i) {
      stage.gradients[i].left = done - stage.gradients[i].left;
    }
  }
  return stages;
}

// Taken from the first run; the model is the same in all runs.
struct MeasuredCosts::Subject {
  Network network;
  std::vector<Field> fields;
  Losses loss;
  Metrics metrics;
  std::shared_ptr<const UpdateRule> rule;
};

MeasuredCosts::MeasuredCosts(const app::TrainOptions& options, MeasureOptions how)
    : options_(options),
      how_(how),
      cores_(runtime::query_topology().usable_cores()),
      rates_(measure_memory(cores_)) {}

MeasuredCosts::~MeasuredCosts() = default;

const Measurement& MeasuredCosts::measured(int devices) {
  const auto known = measured_.find(devices);
  if (known != measured_.end()) return known->second;
  if (how_.progress != nullptr) {
    *how_.progress << "measuring " << counted(devices, "device") << " of "
                   << counted(cores_ / devices, "core") << '\n';
  }
  const app::TrainOptions own = spread_over(options_, devices);
  app::TrainingSetup setup(own, nowhere());
  if (subject_ == nullptr) {
    const Optimizer optimizer =
        app::make_optimizer(own.optimizer, LearningRate(0.0), setup.batch.global_batch_size);
    subject_ = std::make_unique<Subject>(Subject{.network = setup.model.network().without_stages(),
                                                 .fields = setup.data.sets.train.fields(),
                                                 .loss = app::make_loss(own.loss, setup.entry.loss),
                                                 .metrics = {setup.task().metric},
                                                 .rule = optimizer.rule});
    samples_ = setup.data.sets.train.size();
  }
  const Measurement& times =
      measured_.emplace(devices, measure(setup, own.slices, how_.seconds)).first->second;
  choices_.insert(setup.model.kernel_choices().begin(), setup.model.kernel_choices().end());
  return times;
}

// Compiles with one bucket for each call that completes gradients. Buckets of any size are made of
// these.
std::unique_ptr<const compiler::Program> MeasuredCosts::compile(int workers,
                                                                const Network& network) const {
  const train::SliceDivision division = train::divide(options_.micro_batch_size, workers);
  const bool pipelined = network.stages() > 1;
  compiler::ProgramOptions compiling{
      .slices = division.slices,
      .division = division.division,
      .pipelined = pipelined,
      .stages = network.stages(),
      .precision = options_.precision,
      .half = options_.half(),
      .bucket_bytes = 1,
      .winograd = options_.winograd,
      .disabled_passes = {options_.disable_pass.begin(), options_.disable_pass.end()},
      .decide = compiler::decide_by(choices_)};
  ir::Graph graph = train::build_graph(network, {.mode = RunMode::train,
                                                 .batch = division.slice_batch,
                                                 .fields = subject_->fields,
                                                 .loss = &subject_->loss,
                                                 .metrics = &subject_->metrics});
  return compiler::compile(std::move(graph), std::move(compiling));
}

const MeasuredCosts::Spread& MeasuredCosts::spread(int devices, int stages) {
  const auto key = std::make_pair(devices, stages);
  if (const auto known = spreads_.find(key); known != spreads_.end()) return known->second;
  const Measurement& times = measured(devices);
  Spread& made = spreads_[key];
  if (stages == 1) {
    made.program = compile(times.workers, subject_->network);
    return made;
  }
  try {
    made.splits = train::choose_splits(times.layers, stages).splits;
    made.program = compile(times.workers, subject_->network.with_splits(made.splits));
  } catch (const InvalidArgument&) {
    made = {};  // the model has too few places to split
  }
  return made;
}

std::optional<ReplicaCost> MeasuredCosts::replica(int devices, int stages) {
  const Spread& how = spread(devices, stages);
  if (how.program == nullptr) return std::nullopt;
  const Measurement& times = measured(devices);
  return ReplicaCost{.stages = stages_of(*how.program, times.call_seconds),
                     .splits = how.splits,
                     .workers = times.workers,
                     .packing = times.packing,
                     .update = times.update,
                     .devices = devices,
                     .lanes_of_a_replica = how.program->slices()};
}

int64_t MeasuredCosts::device_bytes(int devices, int stages, int64_t micro_batches) {
  const Spread& how = spread(devices, stages);
  PANDO_CHECK(how.program != nullptr, "no program with ", stages, " stages");
  const runtime::Placement placement{
      .schedule = options_.devices.pipeline_schedule,
      .micro_batches = static_cast<int>(std::min<int64_t>(micro_batches, 4 * stages))};
  size_t most = 0;
  for (int device = 0; device < stages; ++device) {
    const runtime::DeviceLoad load =
        runtime::device_load(*how.program, placement, device, measured(devices).workers);
    most = std::max(most, runtime::memory_use(*how.program, load).total());
  }
  return static_cast<int64_t>(most);
}

int64_t MeasuredCosts::trainable_parameters() const {
  return subject_ == nullptr ? 0 : subject_->network.trainable_parameters();
}

// Weights, slots of the optimizer, the sums of gradients, and the gradients that other instances
// send.
int64_t MeasuredCosts::shared_bytes() const {
  if (subject_ == nullptr) return 0;
  const DType weights = options_.precision.update;
  size_t kept = size_of(weights);
  for (const SlotSpec& slot : subject_->rule->slots()) {
    kept += size_of(runtime::slot_type(slot, weights));
  }
  return trainable_parameters() * static_cast<int64_t>(kept + 2 * sizeof(float));
}

double MeasuredCosts::moment_bytes() const {
  if (subject_ == nullptr) return 0;
  const Network& network = subject_->network;
  return static_cast<double>(network.parameters() - network.trainable_parameters()) *
         sizeof(double);
}

}  // namespace pando::plan
