// CosmoFlow: predicts the parameters of simulated universes from volumes of matter density, with a
// Model or with an Estimator, on one device, on several, or as instances of `pando run`.
// SPDX-License-Identifier: MIT
#include <csignal>
#include <iostream>
#include <optional>

#include "pando/app/job/exit_code.h"
#include "pando/comm/session.h"
#include "run.h"

namespace {

using namespace cosmo;

int run_program(const std::vector<std::string>& args) {
  const pando::app::Instances instances;
  Config config;
  std::optional<Data> data;
  instances.together([&] {
    config = read_config(args);
    if (config.help) return;
    if (!config.data_benchmark) make_plan(config);
    make_network(config);
    data.emplace(open_data(config));
  });
  if (config.help) {
    if (instances.is_first()) std::cout << help_text() << std::endl;
    return pando::app::kDone;
  }
  const Run run{config, *data, instances};
  run.tell("Configuration of " + config.file + ":\n" + config.text);
  for (const std::string& note : config.notes) run.tell("note: " + note);
  if (config.data_benchmark) return run_data_benchmark(run);
  if (config.verbose) run.tell(make_network(config).summary(config.model));
  run.write("config.yaml", config.text);
  return config.use_estimator ? run_estimator(run) : run_training(run);
}

// Ends the process together with the other instances: if one instance left with an error while
// another still prints it, that one would be ended too.
int end_together(int code) {
  pando::comm::process_session().end(code, pando::comm::Ending::together);
  return code;
}

int report(const std::exception& error) {
  // If all instances fail with the same error, only one of them prints it.
  const auto* agreed = dynamic_cast<const pando::app::AgreedFailure*>(&error);
  if (agreed == nullptr || agreed->is_told_here()) {
    std::cerr << pando::concat("cosmoflow: error: ", error.what(), "\n");  // as one write
  }
  const int code = pando::app::exit_code_of(error);
  return agreed == nullptr ? code : end_together(code);
}

}  // namespace

int main(int argc, char** argv) try {
  std::signal(SIGXFSZ, SIG_IGN);  // a file over the limit is then an error of its writer
  pando::dist::init();
  return end_together(run_program({argv + 1, argv + argc}));
} catch (const std::exception& error) {
  return report(error);
}
