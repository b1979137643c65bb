// The flags of `pando train` for networks that are trained already: a new classifier, frozen
// layers, rates of the classifier, features that are computed once.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pando/options/options.h"

namespace pando::app {

struct TuningFlags {
  static constexpr const char* kAuto = "auto";
  static constexpr const char* kUntil = "until:";

  std::string classes;  // "auto" or a number; empty: the classifier stays
  // The values of pixels for a model file that does not record them; no value: as usual for the
  // data set.
  std::optional<std::string> preprocessing;
  std::string freeze;          // "none", "all", "until:NAME"; empty: what a model file freezes
  int64_t unfreeze_after = 0;  // epochs; 0: never
  std::optional<double> head_learning_rate;
  std::string feature_cache = kAuto;  // "off", or bytes of memory

  bool replaces_head() const { return !classes.empty(); }
  bool freezes() const { return !freeze.empty() && freeze != "none"; }
  // The layer of until:NAME; empty: another value.
  std::string last_frozen() const;
  // The classes of the network for data with so many. Throws UsageError for fewer.
  int64_t classes_for(int64_t of_data) const;
};

void add_tuning_flags(OptionTable& table, TuningFlags& flags);

// Throws UsageError that names the flags. `has_weights`: the run starts with trained weights.
void validate(const TuningFlags& flags, bool has_weights);

}  // namespace pando::app
