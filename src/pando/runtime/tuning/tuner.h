// Chooses the kernels of layers by measurement. A choice replaces that of the fixed order of the
// candidates only if it is clearly faster, because times are noisy and choices decide bits.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "pando/compiler/kernel_choices.h"
#include "pando/runtime/machine/worker_team.h"
#include "pando/runtime/tuning/tuning_file.h"

namespace pando::runtime {

struct TuningSummary {
  int layers = 0;   // different ones for which there was a choice
  int timed = 0;    // now; the times of the others come from an earlier run
  int changed = 0;  // of them; the others keep the kernel of the fixed order
  double seconds = 0;
  // Seconds of one call of every layer of the network, with the kernels of the fixed order and with
  // the chosen ones.
  double table_seconds = 0;
  double chosen_seconds = 0;
};
std::string to_text(Tuning tuning, const TuningSummary& summary);

struct TunerOptions {
  Tuning tuning = Tuning::quick;
  std::string folder;     // that keeps the choices; empty: none
  TuningMachine machine;  // for which they hold
  // Times the candidates of a layer, in their order.
  std::function<std::vector<compiler::KernelTime>(const compiler::TunableLayer&,
                                                  const std::vector<compiler::KernelOption>&)>
      measure;
  std::function<double()> seconds;                    // a clock
  TuningFile::Tell tell = [](const std::string&) {};  // about choices that cannot be kept
};

// One program is tuned by one object: it reads the choices of earlier runs at the beginning and
// keeps all at the end.
class Tuner {
 public:
  explicit Tuner(TunerOptions options);

  // Null if there is nothing to choose. Valid until the next call.
  const compiler::KernelDecision* decide(const compiler::TunableLayer& layer);
  // Writes new choices to the disk.
  TuningSummary finish();
  const KeptDecisions& decisions() const { return used_; }

 private:
  const KeptDecision* known(const compiler::TunableLayer& layer) const;
  const KeptDecision* measured(const compiler::TunableLayer& layer);
  void count(const compiler::KernelDecision& decision, bool is_new);

  TunerOptions options_;
  TuningFile file_;
  double begin_;
  KeptDecisions kept_;                    // of earlier runs and of this one
  KeptDecisions used_;                    // of this program
  std::set<std::string> without_choice_;  // layers with less than two candidates
  TuningSummary summary_;
};

// Times kernels on these workers.
struct MeterOptions {
  Tuning tuning = Tuning::quick;
  int parts = 0;  // as TimerOptions has them
  double calls_per_update = 1;
};
std::vector<compiler::KernelTime> measure_kernels(
    const compiler::TunableLayer& layer, const std::vector<compiler::KernelOption>& options,
    WorkerTeam& team, const MeterOptions& how);

}  // namespace pando::runtime
