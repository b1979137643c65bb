// Arithmetic expressions, for metrics that are derived from others.
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace pando::benchmark {

// Evaluates numbers, + - * / // % ** with the precedence of Python, brackets, and min, max, abs,
// round, sqrt, log and exp of such. Throws InvalidArgument that names the character where it ends
// to be an expression, or says that the result is not finite.
double evaluate_expression(std::string_view text);

}  // namespace pando::benchmark
