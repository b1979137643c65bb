// The flags of `pando train` about checkpoints: when they are written, where, which are kept, and
// from which one a run goes on.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "pando/app/record/host_events.h"
#include "pando/options/fraction.h"
#include "pando/options/options.h"

namespace pando::app {

enum class OnNan { stop, rollback };

struct CheckpointFlags {
  static constexpr const char* kAuto = "auto";

  // Not given: one per epoch, or as rarely as --logs-per-epoch wants the host.
  std::optional<Fraction> per_epoch;
  Fraction first_epoch;
  std::string output_dir;  // empty: <run-dir>/checkpoints
  // Of this instance in that folder; empty: none. With --ckpt-all-instances.
  std::string own_folder;
  int keep_last = 0;  // 0: all
  bool keep_best = false;
  std::string resume;   // "auto", a file or a folder; empty: a new run
  std::string weights;  // to begin with; empty: random ones
  OnNan on_nan = OnNan::stop;

  bool are_off() const { return per_epoch && per_epoch->numerator() == 0; }
  CheckpointRequest request(const Fraction& logs_per_epoch) const;
  // Where this instance writes them.
  std::filesystem::path folder(const std::filesystem::path& run_dir) const;
};

void add_checkpoint_flags(OptionTable& table, CheckpointFlags& flags);

// What no single flag can check: throws UsageError that names the flags.
void validate(const CheckpointFlags& flags, const std::string& run_dir);

}  // namespace pando::app
