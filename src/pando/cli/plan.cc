// `pando plan`: predicts training on many instances.
// SPDX-License-Identifier: MIT
#include <span>

#include "pando/base/new_file.h"
#include "pando/cli/program.h"
#include "pando/plan/measure.h"
#include "pando/plan/plan_options.h"
#include "pando/plan/report.h"

namespace pando::cli {

int command_plan(std::span<const std::string> args, std::ostream& out) {
  const auto options = plan::parse_plan_options(args, out);
  if (!options) return 0;
  plan::MeasuredCosts costs(options->train, {.seconds = options->measure_seconds,
                                             .progress = options->json ? nullptr : &out});
  const plan::Plan found = plan::make_plan(costs, options->request());
  out << (options->json ? plan::to_json(found, *options, costs)
                        : plan::to_text(found, *options, costs));
  if (!options->plot.empty()) {
    NewFile file(options->plot);
    const std::string picture = plan::to_picture(found);
    file.write(std::as_bytes(std::span(picture)));
    file.commit();
  }
  return 0;
}

}  // namespace pando::cli
