// Reports a plan: as a table for people, as JSON for programs, as a picture, and as the command
// line of a combination.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "pando/plan/plan_options.h"
#include "pando/plan/search.h"

namespace pando::plan {

// The command that trains with this combination.
std::string command_of(const Combination& combination, const PlanOptions& options);

std::string to_text(const Plan& plan, const PlanOptions& options, const Costs& costs);
std::string to_json(const Plan& plan, const PlanOptions& options, const Costs& costs);
// An SVG picture: samples per second, efficiency and exposed communication of the best combination
// for each number of instances.
std::string to_picture(const Plan& plan);

}  // namespace pando::plan
