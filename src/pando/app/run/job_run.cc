// SPDX-License-Identifier: MIT
#include "pando/app/run/job_run.h"

#include "pando/app/flags/job_settings.h"
#include "pando/app/job/agreement.h"
#include "pando/app/job/exit_code.h"
#include "pando/app/job/instances.h"
#include "pando/app/job/stop_signal.h"
#include "pando/app/run/training_run.h"
#include "pando/comm/session.h"

namespace pando::app {

namespace {

Facts facts_of(const std::optional<TrainOptions>& options) {
  Facts facts = {{"the program file", program_fact()},
                 {"the command", options ? "a run" : "a request such as --help"}};
  if (!options) return facts;
  const Facts flags = option_facts(options->config_text);
  facts.insert(facts.end(), flags.begin(), flags.end());
  facts.emplace_back("--slices", options->slices_are_chosen ? "" : std::to_string(options->slices));
  facts.emplace_back("--dry-run", options->dry_run ? "true" : "false");
  return facts;
}

}  // namespace

int run_in_job(const ParseOptions& parse, std::ostream& out, const TrainingParts& parts) {
  if (comm::find_launch(comm::process_variable)) hold_stop_signals();
  comm::process_session().join();  // the options depend on the job
  const Instances instances;
  std::ostream nowhere(nullptr);
  std::ostream& told = instances.is_first() ? out : nowhere;
  std::optional<TrainOptions> options;
  instances.together([&] { options = parse(told); });
  if (instances.count() > 1) check_agreement(instances, facts_of(options));
  if (!options) return kDone;
  settle_together(instances, *options);
  return run_training(*options, told, parts);
}

}  // namespace pando::app
