// `pando request`: asks a model server, and measures it.
// SPDX-License-Identifier: MIT
#pragma once

#include <iosfwd>
#include <span>
#include <string>

namespace pando::request {

// Returns the exit code: 0 done, 1 failed or requests that failed, 2 wrong flag.
int run_request(std::span<const std::string> args, std::ostream& out, std::ostream& err);

}  // namespace pando::request
