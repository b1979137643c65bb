// Ops that move the elements of constants.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "pando/onnx/fold_impl.h"

namespace pando::onnx {

int64_t elements_of(const NodeProto& node, const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (const int64_t extent : dims) {
    const bool fits = extent >= 0 && !__builtin_mul_overflow(count, extent, &count) &&
                      count <= kMostFoldedElements;
    if (!fits)
      throw InvalidArgument(label(node), ": a constant of more than ", kMostFoldedElements,
                            " elements");
  }
  return count;
}

std::vector<int64_t> strides_of(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

namespace {

// A constant of the same type with other extents, whose element i is element place(i) of `from`.
template <typename Place>
Constant picked(const NodeProto& node, const Constant& from, std::vector<int64_t> dims,
                const Place& place) {
  Constant result{
      .dims = std::move(dims), .is_real = from.is_real, .reals = {}, .ints = {}, .type = from.type};
  const int64_t count = elements_of(node, result.dims);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = place(i);
    if (at < 0 || at >= from.elements()) {
      throw InvalidArgument(label(node), ": element ", at, " of a constant of ", from.elements());
    }
    if (from.is_real) {
      result.reals.push_back(from.reals[static_cast<size_t>(at)]);
    } else {
      result.ints.push_back(from.ints[static_cast<size_t>(at)]);
    }
  }
  return result;
}

// The place in `from` of each element of a result with extents `dims`, where axis i of the result
// moves by steps[i] elements and element 0 is at `first`.
auto walk(std::vector<int64_t> dims, std::vector<int64_t> steps, int64_t first = 0) {
  return [dims = std::move(dims), steps = std::move(steps), first](int64_t i) {
    int64_t place = first;
    for (size_t axis = dims.size(); axis-- > 0;) {
      place += i % dims[axis] * steps[axis];
      i /= dims[axis];
    }
    return place;
  };
}

}  // namespace

Constant expanded(const NodeProto& node, const Constant& from, const std::vector<int64_t>& dims) {
  std::vector<int64_t> steps(dims.size(), 0);
  const std::vector<int64_t> strides = strides_of(from.dims);
  const size_t more = dims.size() - from.dims.size();
  for (size_t i = 0; i < from.dims.size(); ++i) {
    steps[more + i] = from.dims[i] == 1 ? 0 : strides[i];
  }
  return picked(node, from, dims, walk(dims, steps));
}

namespace {

Constant gather(const Folding& f) {
  const Constant& x = f[0];
  const Constant& indices = f[1];
  const int64_t axis = axis_of(f.node, int_attribute(f.node, "axis", 0), x.rank());
  const auto at = static_cast<size_t>(axis);
  if (indices.is_real) throw InvalidArgument(label(f.node), ": indices: expected whole numbers");
  std::vector<int64_t> dims(x.dims.begin(), x.dims.begin() + axis);
  dims.insert(dims.end(), indices.dims.begin(), indices.dims.end());
  dims.insert(dims.end(), x.dims.begin() + axis + 1, x.dims.end());
  const int64_t inner =
      std::accumulate(x.dims.begin() + axis + 1, x.dims.end(), int64_t{1}, std::multiplies<>());
  const int64_t count = indices.elements();
  return picked(f.node, x, std::move(dims), [&](int64_t i) {
    const int64_t chosen = indices.ints[static_cast<size_t>(i / inner % count)];
    const int64_t extent = x.dims[at];
    const int64_t index = chosen < 0 ? chosen + extent : chosen;
    if (index < 0 || index >= extent) {
      throw InvalidArgument(label(f.node), ": index ", chosen, " of an axis of ", extent);
    }
    return (i / inner / count * extent + index) * inner + i % inner;
  });
}

Constant concatenated(const Folding& f) {
  const int64_t axis = axis_of(f.node, int_attribute(f.node, "axis", 0), f[0].rank());
  const auto at = static_cast<size_t>(axis);
  Constant result{
      .dims = f[0].dims, .is_real = f[0].is_real, .reals = {}, .ints = {}, .type = f[0].type};
  result.dims[at] = 0;
  int64_t outer = 1;
  for (size_t i = 0; i < at; ++i) outer *= f[0].dims[i];
  for (size_t i = 0; i < f.operands.size(); ++i) {
    if (f[i].rank() != f[0].rank() || f[i].is_real != result.is_real) {
      throw InvalidArgument(label(f.node), ": operand ", i, " is of another rank or type");
    }
    result.dims[at] += f[i].dims[at];
  }
  elements_of(f.node, result.dims);
  for (int64_t row = 0; row < outer; ++row) {
    for (size_t i = 0; i < f.operands.size(); ++i) {
      const int64_t size = outer == 0 ? 0 : f[i].elements() / outer;
      const auto copy = [&](const auto& from, auto& to) {
        to.insert(to.end(), from.begin() + row * size, from.begin() + (row + 1) * size);
      };
      if (result.is_real) copy(f[i].reals, result.reals);
      if (!result.is_real) copy(f[i].ints, result.ints);
    }
  }
  return result;
}

Constant unsqueezed(const Folding& f) {
  std::vector<int64_t> axes = f.list("axes", 1);
  const int64_t rank = f[0].rank() + std::ssize(axes);
  for (int64_t& axis : axes) axis = axis_of(f.node, axis, rank);
  std::ranges::sort(axes);
  Constant result = f[0];
  for (const int64_t axis : axes) {
    if (axis > std::ssize(result.dims)) throw InvalidArgument(label(f.node), ": axes repeat");
    result.dims.insert(result.dims.begin() + axis, 1);
  }
  return result;
}

Constant squeezed(const Folding& f) {
  std::vector<int64_t> axes = f.list("axes", 1);
  for (int64_t& axis : axes) axis = axis_of(f.node, axis, f[0].rank());
  Constant result = f[0];
  result.dims.clear();
  for (int64_t i = 0; i < f[0].rank(); ++i) {
    const int64_t extent = f[0].dims[static_cast<size_t>(i)];
    const bool listed = std::ranges::find(axes, i) != axes.end();
    if (listed && extent != 1) {
      throw InvalidArgument(label(f.node), ": axis ", i, ": expected an extent of 1, got ", extent);
    }
    if (!listed && (!axes.empty() || extent != 1)) result.dims.push_back(extent);
  }
  return result;
}

Constant reshaped(const Folding& f) {
  Constant result = f[0];
  result.dims = resolve_shape(f.node, f[0].dims, f.list("shape", 1));
  return result;
}

Constant transposed(const Folding& f) {
  std::vector<int64_t> perm = ints_attribute(f.node, "perm");
  const int64_t rank = f[0].rank();
  if (perm.empty()) {
    for (int64_t i = rank; i-- > 0;) perm.push_back(i);
  }
  if (std::ssize(perm) != rank) {
    throw InvalidArgument(label(f.node), ": perm: expected ", rank, " axes, got ", perm.size());
  }
  const std::vector<int64_t> strides = strides_of(f[0].dims);
  std::vector<int64_t> dims, steps;
  for (const int64_t axis : perm) {
    const auto at = static_cast<size_t>(axis_of(f.node, axis, rank));
    dims.push_back(f[0].dims[at]);
    steps.push_back(strides[at]);
  }
  return picked(f.node, f[0], dims, walk(dims, steps));
}

Constant sliced(const Folding& f) {
  const std::vector<int64_t> starts = f.list("starts", 1), ends = f.list("ends", 2);
  std::vector<int64_t> axes = f.list("axes", 3);
  const std::vector<int64_t> jumps = f.has(4) ? f.list("steps", 4) : std::vector<int64_t>();
  check_slice(f.node, {starts, ends, axes, jumps});
  std::vector<int64_t> dims = f[0].dims, steps = strides_of(dims);
  std::vector<bool> cut(dims.size(), false);
  int64_t first = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t given = axes.empty() ? static_cast<int64_t>(i) : axes[i];
    const auto axis = static_cast<size_t>(axis_of(f.node, given, f[0].rank()));
    if (cut[axis]) throw InvalidArgument(label(f.node), ": axes repeat");
    cut[axis] = true;
    const SliceRange range =
        slice_range(f.node, f[0].dims[axis], starts[i], ends[i], jumps.empty() ? 1 : jumps[i]);
    first += range.begin * steps[axis];
    steps[axis] *= range.step;
    dims[axis] = range.count;
  }
  return picked(f.node, f[0], dims, walk(dims, steps, first));
}

[[noreturn]] void refuse_range(const NodeProto& node) {
  throw InvalidArgument(label(node), ": expected a range of fewer than ", kMostFoldedElements,
                        " numbers, got one that is longer or has no end");
}

// Whole numbers are counted as such: beyond 2^53 a double has no place for each.
std::vector<int64_t> whole_range(const NodeProto& node, int64_t start, int64_t limit,
                                 int64_t step) {
  int64_t distance = 0;
  const bool overflows = __builtin_sub_overflow(limit, start, &distance);
  if (step == 0 || overflows) refuse_range(node);
  if (distance == 0 || (distance < 0) != (step < 0)) return {};
  const int64_t last = (distance < 0 ? distance + 1 : distance - 1) / step;
  if (last >= kMostFoldedElements) refuse_range(node);
  std::vector<int64_t> values;
  for (int64_t i = 0; i <= last; ++i) values.push_back(start + i * step);
  return values;
}

Constant range(const Folding& f) {
  Constant result{.dims = {}, .is_real = f[0].is_real, .reals = {}, .ints = {}, .type = f[0].type};
  for (size_t i = 0; i < 3; ++i) {
    if (f[i].elements() != 1 || f[i].is_real != result.is_real) {
      throw InvalidArgument(label(f.node), ": operand ", i, ": expected one number of the type of",
                            " operand 0");
    }
  }
  if (!result.is_real) {
    result.ints = whole_range(f.node, f[0].ints[0], f[1].ints[0], f[2].ints[0]);
  } else {
    const double step = f[2].number(0);
    const double count = std::ceil((f[1].number(0) - f[0].number(0)) / step);
    if (step == 0 || !(count < static_cast<double>(kMostFoldedElements))) {
      refuse_range(f.node);
    }
    for (int64_t i = 0; static_cast<double>(i) < count; ++i) {
      const double value = f[0].number(0) + static_cast<double>(i) * step;
      result.reals.push_back(static_cast<float>(value));
    }
  }
  result.dims = {result.elements()};
  return result;
}

Constant filled(const Folding& f) {
  Constant value{.dims = {1}, .is_real = true, .reals = {0}, .ints = {}};
  if (const AttributeProto* given = f.node.find("value")) value = Constant::of(given->t);
  if (f[0].is_real) throw InvalidArgument(label(f.node), ": expected a shape of whole numbers");
  return picked(f.node, value, f[0].ints, [](int64_t) { return 0; });
}

Constant expand(const Folding& f) {
  return expanded(f.node, f[0], broadcast_dims(f[0].dims, f[1].ints));
}

Constant where(const Folding& f) {
  const std::vector<int64_t> dims = broadcast_dims(broadcast_dims(f[0].dims, f[1].dims), f[2].dims);
  const Constant chosen = expanded(f.node, f[0], dims);
  Constant a = expanded(f.node, f[1], dims);
  const Constant b = expanded(f.node, f[2], dims);
  if (a.is_real != b.is_real) {
    throw InvalidArgument(label(f.node), ": expected two operands of one type");
  }
  for (size_t i = 0; i < static_cast<size_t>(a.elements()); ++i) {
    if (chosen.number(i) != 0) continue;
    if (a.is_real) a.reals[i] = b.reals[i];
    if (!a.is_real) a.ints[i] = b.ints[i];
  }
  return a;
}

}  // namespace

std::map<std::string, Fold> movement_folds() {
  return {
      {"Gather", gather},          {"Concat", concatenated},
      {"Unsqueeze", unsqueezed},   {"Squeeze", squeezed},
      {"Reshape", reshaped},       {"Transpose", transposed},
      {"Slice", sliced},           {"Range", range},
      {"Expand", expand},          {"Where", where},
      {"ConstantOfShape", filled},
  };
}

std::vector<int64_t> resolve_shape(const NodeProto& node, const std::vector<int64_t>& from,
                                   std::vector<int64_t> to) {
  const bool zeros_stay = int_attribute(node, "allowzero", 0) != 0;
  int64_t known = 1;
  std::optional<size_t> open;
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] == 0 && !zeros_stay) to[i] = i < from.size() ? from[i] : -2;
    if (to[i] == -1 && !open) {
      open = i;
    } else if (to[i] < 0) {
      throw InvalidArgument(label(node), ": shape: expected extents, at most one of them -1");
    } else if (__builtin_mul_overflow(known, to[i], &known)) {
      throw InvalidArgument(label(node), ": shape: too many elements");
    }
  }
  const int64_t all = std::accumulate(from.begin(), from.end(), int64_t{1}, std::multiplies<>());
  if (open) to[*open] = known == 0 ? 0 : all / known;
  if (open ? known * to[*open] != all : known != all) {
    throw InvalidArgument(label(node), ": shape: expected ", all, " elements, got ", known);
  }
  return to;
}

void check_slice(const NodeProto& node, const SliceLists& lists) {
  const size_t count = lists.starts.size();
  const auto fits = [&](const std::vector<int64_t>& list) { return list.size() == count; };
  if (fits(lists.ends) && (lists.axes.empty() || fits(lists.axes)) &&
      (lists.steps.empty() || fits(lists.steps))) {
    return;
  }
  throw InvalidArgument(label(node), ": expected as many ends, axes and steps as starts: ", count);
}

SliceRange slice_range(const NodeProto& node, int64_t extent, int64_t start, int64_t end,
                       int64_t step) {
  if (step == 0) throw InvalidArgument(label(node), ": steps: expected any number but 0");
  if (extent == 0) return {};
  const auto from_end = [&](int64_t i) { return i < 0 ? std::max(i, -extent - 1) + extent : i; };
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;
  const int64_t begin = std::clamp(from_end(start), step > 0 ? low : int64_t{0}, high);
  const int64_t stop = std::clamp(from_end(end), low, step > 0 ? high : extent);
  const int64_t distance = step > 0 ? stop - begin : begin - stop;
  const int64_t steps = step > 0 ? (distance - 1) / step : (1 - distance) / step;
  const int64_t count = distance <= 0 ? 0 : steps + 1;
  // The step from a single element leads nowhere, and its product with a stride may overflow.
  return {begin, count > 1 ? step : 1, count};
}

}  // namespace pando::onnx
