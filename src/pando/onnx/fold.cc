// Ops on constants.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

#include "pando/base/error.h"
#include "pando/onnx/fold_impl.h"
#include "pando/tensor/half.h"

namespace pando::onnx {
namespace {

using OfReals = std::function<double(double, double)>;
using OfInts = std::function<int64_t(int64_t, int64_t)>;

Constant binary(const Folding& f, const OfReals& of_reals, const OfInts& of_ints) {
  const std::vector<int64_t> dims = broadcast_dims(f[0].dims, f[1].dims);
  const Constant a = expanded(f.node, f[0], dims);
  const Constant b = expanded(f.node, f[1], dims);
  Constant result{.dims = dims, .is_real = a.is_real, .reals = {}, .ints = {}, .type = a.type};
  for (size_t i = 0; i < static_cast<size_t>(a.elements()); ++i) {
    if (a.is_real || b.is_real) {
      result.reals.push_back(static_cast<float>(of_reals(a.number(i), b.number(i))));
    } else {
      result.ints.push_back(of_ints(a.ints[i], b.ints[i]));
    }
  }
  result.is_real = a.is_real || b.is_real;
  return result;
}

// Results are truth values.
Constant comparison(const Folding& f, const std::function<bool(double, double)>& holds) {
  const std::vector<int64_t> dims = broadcast_dims(f[0].dims, f[1].dims);
  const Constant a = expanded(f.node, f[0], dims);
  const Constant b = expanded(f.node, f[1], dims);
  Constant result{
      .dims = dims, .is_real = false, .reals = {}, .ints = {}, .type = ElementType::boolean};
  for (size_t i = 0; i < static_cast<size_t>(a.elements()); ++i) {
    result.ints.push_back(holds(a.number(i), b.number(i)) ? 1 : 0);
  }
  return result;
}

Constant unary(const Folding& f, const std::function<double(double)>& of_real,
               const std::function<int64_t(int64_t)>& of_int) {
  Constant result = f[0];
  for (float& value : result.reals) value = static_cast<float>(of_real(value));
  for (int64_t& value : result.ints) value = of_int(value);
  return result;
}

// Results of whole numbers are cut to whole numbers.
Constant unary(const Folding& f, const std::function<double(double)>& of_real) {
  return unary(f, of_real, [&](int64_t value) {
    const double found = of_real(static_cast<double>(value));
    if (!(std::abs(found) < 0x1p63)) {
      throw InvalidArgument(label(f.node), ": ", found, " for ", value,
                            ": expected a result of at most 64 bits");
    }
    return static_cast<int64_t>(found);
  });
}

int64_t quotient(const NodeProto& node, int64_t a, int64_t b) {
  if (b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min())) {
    throw InvalidArgument(label(node), ": division of ", a, " by ", b);
  }
  return a / b;
}

Constant constant_value(const Folding& f) {
  for (const AttributeProto& attribute : f.node.attributes) {
    if (attribute.name == "value") return Constant::of(attribute.t);
    if (attribute.name == "value_int") {
      Constant scalar = Constant::of_ints({attribute.i});
      scalar.dims.clear();
      return scalar;
    }
    if (attribute.name == "value_ints") return Constant::of_ints(attribute.ints);
    if (attribute.name == "value_float") {
      return {.dims = {}, .is_real = true, .reals = {attribute.f}, .ints = {}};
    }
    if (attribute.name == "value_floats") {
      return {.dims = {std::ssize(attribute.floats)},
              .is_real = true,
              .reals = attribute.floats,
              .ints = {}};
    }
  }
  throw InvalidArgument(label(f.node), ": expected an attribute value of numbers");
}

Constant cast(const Folding& f) {
  const auto type = static_cast<ElementType>(int_attribute(f.node, "to", 1));
  Constant result = f[0];
  result.type = type;
  if (is_floating(type) && !result.is_real) {
    result.reals = result.as_reals();
    result.ints.clear();
  } else if (!is_floating(type) && result.is_real) {
    for (const float value : result.reals) {
      if (!(std::abs(value) < 9e18f)) {
        throw InvalidArgument(label(f.node), ": expected a whole number, got ", value);
      }
      result.ints.push_back(static_cast<int64_t>(value));
    }
    result.reals.clear();
  }
  result.is_real = is_floating(type);
  const bool half = type == ElementType::f16 || type == ElementType::bf16;
  for (float& value : result.reals) {
    if (half)
      value = type == ElementType::f16 ? from_f16(to_f16(value)) : from_bf16(to_bf16(value));
  }
  if (type == ElementType::boolean) {
    for (int64_t& value : result.ints) value = value != 0 ? 1 : 0;
  }
  return result;
}

// Combines the elements over axes, beginning with the first one.
Constant reduced_by(const Folding& f, const OfReals& of_reals, const OfInts& of_ints) {
  const Constant& x = f[0];
  std::vector<int64_t> axes = f.list("axes", 1);
  if (axes.empty() && int_attribute(f.node, "noop_with_empty_axes", 0) != 0) return x;
  std::vector<bool> gone(x.dims.size(), axes.empty());
  for (const int64_t axis : axes) gone[static_cast<size_t>(axis_of(f.node, axis, x.rank()))] = true;
  Constant result{.dims = {}, .is_real = x.is_real, .reals = {}, .ints = {}, .type = x.type};
  std::vector<int64_t> kept = x.dims;
  for (size_t i = 0; i < kept.size(); ++i) kept[i] = gone[i] ? 1 : kept[i];
  const std::vector<int64_t> strides = strides_of(kept);
  const auto count = static_cast<size_t>(elements_of(f.node, kept));
  std::vector<bool> begun(count, false);
  if (x.is_real) result.reals.resize(count);
  if (!x.is_real) result.ints.resize(count);
  for (int64_t i = 0; i < x.elements(); ++i) {
    int64_t rest = i, place = 0;
    for (size_t at = x.dims.size(); at-- > 0;) {
      if (!gone[at]) place += rest % x.dims[at] * strides[at];
      rest /= x.dims[at];
    }
    const auto to = static_cast<size_t>(place), from = static_cast<size_t>(i);
    if (x.is_real) {
      result.reals[to] =
          begun[to] ? static_cast<float>(of_reals(double{result.reals[to]}, double{x.reals[from]}))
                    : x.reals[from];
    } else {
      result.ints[to] = begun[to] ? of_ints(result.ints[to], x.ints[from]) : x.ints[from];
    }
    begun[to] = true;
  }
  if (std::ranges::find(begun, false) != begun.end()) {
    throw Unsupported(label(f.node),
                      ": expected at least one element to reduce, got an empty constant");
  }
  const bool keeps = int_attribute(f.node, "keepdims", 1) != 0;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (keeps || !gone[i]) result.dims.push_back(kept[i]);
  }
  return result;
}

// Max and Min have any number of operands.
Constant extreme(const Folding& f, bool largest) {
  Constant result = f[0];
  for (size_t i = 1; i < f.operands.size(); ++i) {
    const std::vector<const Constant*> pair = {&result, &f[i]};
    result = binary(
        {f.node, pair, f.opset}, [&](double a, double b) { return (a < b) == largest ? b : a; },
        [&](int64_t a, int64_t b) { return (a < b) == largest ? b : a; });
  }
  return result;
}

// The remainder has the sign of the divisor or, with fmod, of the dividend.
Constant remainder_of(const Folding& f) {
  const bool truncates = int_attribute(f.node, "fmod", 0) != 0;
  return binary(
      f, [](double a, double b) { return std::fmod(a, b); },
      [&](int64_t a, int64_t b) {
        const int64_t rest = a - quotient(f.node, a, b) * b;
        return !truncates && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
      });
}

template <typename Real, typename Whole>
auto arithmetic_of(Real real, Whole whole) {
  return [=](const Folding& f) {
    return binary(f, real, [&](int64_t a, int64_t b) { return whole(f.node, a, b); });
  };
}

int64_t within_64_bits(const NodeProto& node, bool overflows, int64_t result) {
  if (overflows) throw InvalidArgument(label(node), ": a number beyond 64 bits");
  return result;
}

int64_t whole_sum(const NodeProto& node, int64_t a, int64_t b) {
  int64_t result = 0;
  const bool overflows = __builtin_add_overflow(a, b, &result);
  return within_64_bits(node, overflows, result);
}
int64_t whole_difference(const NodeProto& node, int64_t a, int64_t b) {
  int64_t result = 0;
  const bool overflows = __builtin_sub_overflow(a, b, &result);
  return within_64_bits(node, overflows, result);
}
int64_t whole_product(const NodeProto& node, int64_t a, int64_t b) {
  int64_t result = 0;
  const bool overflows = __builtin_mul_overflow(a, b, &result);
  return within_64_bits(node, overflows, result);
}

const std::map<std::string, Fold>& folds() {
  const auto of_real = [](double (*function)(double)) {
    return [=](const Folding& f) { return unary(f, function); };
  };
  static const std::map<std::string, Fold> arithmetic = {
      {"Constant", constant_value},
      {"Identity", [](const Folding& f) { return f[0]; }},
      {"Cast", cast},
      {"ReduceProd",
       [=](const Folding& f) {
         return reduced_by(f, std::multiplies<double>(),
                           [&](int64_t a, int64_t b) { return whole_product(f.node, a, b); });
       }},
      {"ReduceSum",
       [=](const Folding& f) {
         return reduced_by(f, std::plus<double>(),
                           [&](int64_t a, int64_t b) { return whole_sum(f.node, a, b); });
       }},
      {"ReduceMax",
       [](const Folding& f) {
         return reduced_by(
             f, [](double a, double b) { return std::max(a, b); },
             [](int64_t a, int64_t b) { return std::max(a, b); });
       }},
      {"ReduceMin",
       [](const Folding& f) {
         return reduced_by(
             f, [](double a, double b) { return std::min(a, b); },
             [](int64_t a, int64_t b) { return std::min(a, b); });
       }},
      {"Max", [](const Folding& f) { return extreme(f, true); }},
      {"Min", [](const Folding& f) { return extreme(f, false); }},
      {"Mod", remainder_of},
      {"Xor",
       [](const Folding& f) {
         return comparison(f, [](double a, double b) { return (a != 0) != (b != 0); });
       }},
      {"LessOrEqual", [](const Folding& f) { return comparison(f, std::less_equal<double>()); }},
      {"GreaterOrEqual",
       [](const Folding& f) { return comparison(f, std::greater_equal<double>()); }},
      {"Cos", of_real([](double x) { return std::cos(x); })},
      {"Sin", of_real([](double x) { return std::sin(x); })},
      {"Log", of_real([](double x) { return std::log(x); })},
      {"Add", arithmetic_of(std::plus<double>(), whole_sum)},
      {"Sub", arithmetic_of(std::minus<double>(), whole_difference)},
      {"Mul", arithmetic_of(std::multiplies<double>(), whole_product)},
      {"Div", arithmetic_of(std::divides<double>(), quotient)},
      {"Equal", [](const Folding& f) { return comparison(f, std::equal_to<double>()); }},
      {"Less", [](const Folding& f) { return comparison(f, std::less<double>()); }},
      {"Greater", [](const Folding& f) { return comparison(f, std::greater<double>()); }},
      {"And", [](const Folding& f) { return comparison(f, std::logical_and<double>()); }},
      {"Or", [](const Folding& f) { return comparison(f, std::logical_or<double>()); }},
      {"Not", of_real([](double x) { return x == 0 ? 1.0 : 0.0; })},
      {"Neg",
       [](const Folding& f) {
         return unary(f, std::negate<double>(),
                      [&](int64_t x) { return whole_difference(f.node, 0, x); });
       }},
      {"Abs",
       [](const Folding& f) {
         return unary(
             f, [](double x) { return std::abs(x); },
             [&](int64_t x) { return x < 0 ? whole_difference(f.node, 0, x) : x; });
       }},
      {"Floor",
       [](const Folding& f) {
         return unary(
             f, [](double x) { return std::floor(x); }, std::identity());
       }},
      {"Ceil",
       [](const Folding& f) {
         return unary(
             f, [](double x) { return std::ceil(x); }, std::identity());
       }},
      {"Sqrt", of_real([](double x) { return std::sqrt(x); })},
      {"Exp", of_real([](double x) { return std::exp(x); })},
      {"Reciprocal", of_real([](double x) { return 1 / x; })},
  };
  static const std::map<std::string, Fold> table = [] {
    std::map<std::string, Fold> all = arithmetic;
    all.merge(movement_folds());
    return all;
  }();
  return table;
}

}  // namespace

bool can_fold(const std::string& op_type) { return folds().contains(op_type); }

std::optional<std::vector<Constant>> fold(const NodeProto& node,
                                          const std::vector<const Constant*>& operands,
                                          int64_t opset) {
  const auto found = folds().find(node.op_type);
  if (found == folds().end() || !node.domain.empty()) return std::nullopt;
  return std::vector{found->second(Folding{node, operands, opset})};
}

}  // namespace pando::onnx
