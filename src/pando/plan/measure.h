// Measures what the search needs to know about a model, on this machine: times of calls, of the
// weight update and of copies, while as many devices work as a combination has.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include "pando/app/flags/train_options.h"
#include "pando/compiler/program.h"
#include "pando/plan/search.h"
#include "pando/train/auto_split.h"

namespace pando::plan {

// Bytes per second of each thread while all threads work at the same time.
struct MemoryRates {
  double copy = 0;
  double sum = 0;
};
MemoryRates measure_memory(int threads);

// The stages of a program. `call_seconds` holds the seconds of each call, keyed by op and node as
// in a trace. Requires: every bucket of the program holds the gradients that one call completes.
std::vector<Stage> stages_of(const compiler::Program& program,
                             const std::map<std::string, double>& call_seconds);

// One run with the cores of the machine divided evenly among devices, each a replica.
struct Measurement {
  int workers = 1;                             // per device
  double seconds = 0;                          // for a weight update with one micro-batch
  double packing = 0;                          // part of `seconds` before the calls
  double update = 0;                           // part of `seconds` after the calls
  std::map<std::string, double> call_seconds;  // by op and node; they sum to the rest of `seconds`
  std::vector<train::LayerSeconds> layers;
};

struct MeasureOptions {
  double seconds = 3;                // approximate, for each division of the cores
  std::ostream* progress = nullptr;  // receives a line for each measurement
};

// Measures on first use. The training options decide what is trained; how it is spread over devices
// is ignored. The options and the stream must outlive this object.
class MeasuredCosts : public Costs {
 public:
  explicit MeasuredCosts(const app::TrainOptions& options, MeasureOptions how = {});
  ~MeasuredCosts() override;

  int cores() const override { return cores_; }
  std::optional<ReplicaCost> replica(int devices, int stages) override;
  int64_t device_bytes(int devices, int stages, int64_t micro_batches) override;
  int64_t shared_bytes() const override;
  int64_t samples() const override { return samples_; }
  double moment_bytes() const override;
  double copy_rate() const override { return rates_.copy; }
  double sum_rate() const override { return rates_.sum; }

  const Measurement& measured(int devices);
  int64_t trainable_parameters() const;

 private:
  struct Subject;  // the model and all else that its programs depend on
  struct Spread {  // a program with the requested stages; null if the model cannot have so many
    std::unique_ptr<const compiler::Program> program;
    std::vector<std::string> splits;
  };
  const Spread& spread(int devices, int stages);
  std::unique_ptr<const compiler::Program> compile(int workers, const Network& network) const;

  const app::TrainOptions& options_;
  MeasureOptions how_;
  int cores_;
  MemoryRates rates_;
  std::unique_ptr<Subject> subject_;
  int64_t samples_ = 0;
  std::map<int, Measurement> measured_;
  std::map<std::pair<int, int>, Spread> spreads_;
  KernelChoices choices_;  // of the measured programs
};

}  // namespace pando::plan
