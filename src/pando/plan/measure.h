// Measures on this machine what the search wants to know of a model: times of calls, weight update
// and copies, with as many devices at work as a combination has.
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

// Bytes per second that each of so many threads moves while all do.
struct MemoryRates {
  double copy = 0;
  double sum = 0;
};
MemoryRates measure_memory(int threads);

// The stages of a program whose calls take these seconds, by op and node as a trace names them.
// Requires: every bucket of the program holds what one call completes.
std::vector<Stage> stages_of(const compiler::Program& program,
                             const std::map<std::string, double>& call_seconds);

// One run with the machine divided among so many devices, each a replica.
struct Measurement {
  int workers = 1;                             // of a device
  double seconds = 0;                          // of a weight update with one micro-batch
  double packing = 0;                          // of it, before
  double update = 0;                           // of it, after
  std::map<std::string, double> call_seconds;  // by op and node; together the rest
  std::vector<train::LayerSeconds> layers;
};

struct MeasureOptions {
  double seconds = 3;                // for each division of the cores, about
  std::ostream* progress = nullptr;  // is told what is measured
};

// Measures when first asked. The options of training say what is trained, not how it is spread.
// They and the stream must outlive it.
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
  struct Subject;  // the model and what else its programs depend on
  struct Spread {  // a program with as many stages as asked for; null when there are not so many
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
};

}  // namespace pando::plan
