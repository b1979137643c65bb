// SPDX-License-Identifier: MIT
#include "pando/benchmark/expression.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "pando/base/error.h"

namespace pando::benchmark {
namespace {

constexpr int kDeepestBracket = 64;

// Recursive descent, one method per precedence:
//   sum = term {(+|-) term}   term = sign {(*|/|//|%) sign}   sign = [+|-] sign | power
//   power = atom [** sign]    atom = number | name(sum, ...) | (sum)
class Evaluation {
 public:
  explicit Evaluation(std::string_view text) : text_(text) {}

  double run() {
    const double value = sum();
    skip_spaces();
    if (next_ != text_.size()) fail("an operator");
    if (!std::isfinite(value)) throw InvalidArgument("'", text_, "' is ", value);
    return value;
  }

 private:
  [[noreturn]] void fail(std::string_view wanted) const {
    throw InvalidArgument(
        "'", text_, "': expected ", wanted, " at character ", next_ + 1, ", got ",
        next_ < text_.size() ? concat("'", text_.substr(next_, 1), "'") : "nothing");
  }

  void skip_spaces() {
    while (next_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[next_])) != 0) {
      ++next_;
    }
  }

  // Takes the operator if it comes next and is not the beginning of a longer one.
  bool takes(std::string_view sign) {
    skip_spaces();
    const std::string_view rest = text_.substr(next_);
    if (!rest.starts_with(sign)) return false;
    const bool is_longer = (sign == "*" || sign == "/") && rest.substr(1).starts_with(sign);
    if (is_longer) return false;
    next_ += sign.size();
    return true;
  }

  double sum() {
    double value = term();
    while (true) {
      if (takes("+")) {
        value += term();
      } else if (takes("-")) {
        value -= term();
      } else {
        return value;
      }
    }
  }

  double term() {
    double value = sign();
    while (true) {
      if (takes("//")) {
        value = std::floor(value / divisor());
      } else if (takes("/")) {
        value /= divisor();
      } else if (takes("%")) {
        const double by = divisor();
        value -= by * std::floor(value / by);
      } else if (takes("*")) {
        value *= sign();
      } else {
        return value;
      }
    }
  }

  double divisor() {
    const double value = sign();
    if (value == 0) throw InvalidArgument("'", text_, "' divides by 0");
    return value;
  }

  double sign() {
    enter();
    const double value = takes("-") ? -sign() : takes("+") ? sign() : power();
    --depth_;
    return value;
  }

  double power() {
    const double base = atom();
    return takes("**") ? std::pow(base, sign()) : base;
  }

  double atom() {
    skip_spaces();
    if (takes("(")) {
      const double value = sum();
      if (!takes(")")) fail("')'");
      return value;
    }
    if (next_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[next_])) != 0) {
      return call();
    }
    double value = 0;
    const char* begin = text_.data() + next_;
    const auto parsed = std::from_chars(begin, text_.data() + text_.size(), value);
    if (parsed.ec != std::errc()) fail("a number");
    next_ += static_cast<size_t>(parsed.ptr - begin);
    return value;
  }

  double call() {
    const size_t begin = next_;
    while (next_ < text_.size() && std::isalnum(static_cast<unsigned char>(text_[next_])) != 0) {
      ++next_;
    }
    const std::string_view name = text_.substr(begin, next_ - begin);
    if (!takes("(")) {
      next_ = begin;
      fail("a number, or min, max, abs, round, sqrt, log or exp with its brackets");
    }
    std::vector<double> values = {sum()};
    while (takes(",")) values.push_back(sum());
    if (!takes(")")) fail("')'");
    if (name == "min") return *std::min_element(values.begin(), values.end());
    if (name == "max") return *std::max_element(values.begin(), values.end());
    if (values.size() == 1) {
      if (name == "abs") return std::abs(values[0]);
      if (name == "round") return std::nearbyint(values[0]);
      if (name == "sqrt") return std::sqrt(values[0]);
      if (name == "log") return std::log(values[0]);
      if (name == "exp") return std::exp(values[0]);
    }
    next_ = begin;
    fail("min, max, or abs, round, sqrt, log or exp of one number");
  }

  void enter() {
    if (++depth_ > kDeepestBracket) {
      throw InvalidArgument("'", text_.substr(0, 60), "...' is nested too deeply");
    }
  }

  std::string_view text_;
  size_t next_ = 0;
  int depth_ = 0;
};

}  // namespace

double evaluate_expression(std::string_view text) { return Evaluation(text).run(); }

}  // namespace pando::benchmark
