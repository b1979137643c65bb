// What a plan tells: a table for people, JSON for programs, a picture, and the command line of a
// combination.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "pando/plan/plan_options.h"
#include "pando/plan/search.h"

namespace pando::plan {

// The commands that train in this way.
std::string command_of(const Combination& combination, const PlanOptions& options);

std::string to_text(const Plan& plan, const PlanOptions& options, const Costs& costs);
std::string to_json(const Plan& plan, const PlanOptions& options, const Costs& costs);
// As SVG: samples per second, efficiency and exposed communication of the best of each number of
// instances.
std::string to_picture(const Plan& plan);

}  // namespace pando::plan
