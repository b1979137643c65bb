// What decides the bits of a run, as its checkpoints record it, and the comparison when a run is
// resumed.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pando/app/record/run_facts.h"
#include "pando/app/run/training_setup.h"

namespace pando::app {

// A property of a run that no single option gives.
struct RunProperty {
  std::string name;
  std::string value;
  std::string remedy;  // what sets it: flags, the launcher or the processor
  Effect effect = Effect::changes_results;
  // What checkpoints of versions without this property count as; nothing: they do not say.
  std::optional<std::string> earlier = {};
};
std::vector<RunProperty> run_properties(const TrainingSetup& setup);

// What run.json says about the run at its beginning.
RunFacts run_facts_of(const TrainingSetup& setup);

// The properties and the deciding options (deciding_options.h), for checkpoints.
std::map<std::string, std::string> run_notes(const TrainingSetup& setup);

// Calls `tell` with a line for each difference after which the results may differ, and for a
// checkpoint of an earlier version, which does not record everything. Throws UsageError if the
// checkpoint belongs to another run.
void check_same_run(const TrainingSetup& setup, const TrainingState& state,
                    const std::function<void(const std::string&)>& tell);

}  // namespace pando::app
