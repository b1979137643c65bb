// The flags of `pando train` about checkpoints: when and where they are written, which are kept,
// and from which one a run resumes.
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

  // If not given: one per epoch, or the same as --logs-per-epoch if that is below 1.
  std::optional<Fraction> per_epoch;
  Fraction first_epoch;
  std::string output_dir;  // empty: <run-dir>/checkpoints
  // With --ckpt-all-instances: the folder of this instance inside output_dir; otherwise empty.
  std::string own_folder;
  int keep_last = 0;  // 0: all
  bool keep_best = false;
  std::string resume;          // "auto", a file or a folder; empty: a new run
  std::string weights;         // file with the initial weights; empty: random weights
  bool by_name = false;        // layers of `weights` are found by their names
  bool skip_mismatch = false;  // with by_name: layers of other shapes are left out
  OnNan on_nan = OnNan::stop;

  bool are_off() const { return per_epoch && per_epoch->numerator() == 0; }
  CheckpointRequest request(const Fraction& logs_per_epoch) const;
  // The folder where this instance writes checkpoints.
  std::filesystem::path folder(const std::filesystem::path& run_dir) const;
};

void add_checkpoint_flags(OptionTable& table, CheckpointFlags& flags);

// Checks combinations of flags; throws UsageError that names the flags.
void validate(const CheckpointFlags& flags, const std::string& run_dir);

}  // namespace pando::app
