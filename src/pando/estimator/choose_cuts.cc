// Divides a row of costs by dynamic programming over its ends. In two steps, because the division
// of least variance of an end need not be one whose largest part is smallest: first how small the
// largest part can be, then of the divisions within that bound the one of the least sum of squares,
// which is the one of least variance, as the sum of the costs is fixed.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>

#include "pando/base/error.h"
#include "pando/estimator/autoshard.h"

namespace pando::estimator {

namespace {

class RowDivision {
 public:
  RowDivision(const std::vector<int64_t>& costs, size_t parts)
      : count_(costs.size()),
        parts_(parts),
        sums_(count_ + 1, 0),
        squares_(parts + 1, std::vector<double>(count_ + 1, kNever)) {
    for (size_t i = 0; i < count_; ++i) sums_[i + 1] = sums_[i] + costs[i];
    find_bound();
    find_squares();
  }

  std::vector<int> first_best() const {
    std::vector<int> cuts;
    size_t from = 0;
    for (size_t parts = parts_; parts > 1; --parts) {
      size_t to = from + 1;
      while (squares_from(parts, from, to) > squares_[parts][from]) ++to;
      cuts.push_back(static_cast<int>(to));
      from = to;
    }
    return cuts;
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  int64_t cost(size_t from, size_t to) const { return sums_[to] - sums_[from]; }

  void find_bound() {
    std::vector<int64_t> largest(count_ + 1, std::numeric_limits<int64_t>::max());
    largest[count_] = 0;  // no part for nothing
    for (size_t part = 0; part < parts_; ++part) {
      std::vector<int64_t> with_one_more(count_ + 1, std::numeric_limits<int64_t>::max());
      for (size_t from = 0; from < count_; ++from) {
        for (size_t to = from + 1; to <= count_; ++to) {
          with_one_more[from] =
              std::min(with_one_more[from], std::max(cost(from, to), largest[to]));
        }
      }
      largest = std::move(with_one_more);
    }
    bound_ = largest[0];
  }

  void find_squares() {
    squares_[0][count_] = 0;
    for (size_t parts = 1; parts <= parts_; ++parts) {
      for (size_t from = 0; from < count_; ++from) {
        for (size_t to = from + 1; to <= count_; ++to) {
          squares_[parts][from] = std::min(squares_[parts][from], squares_from(parts, from, to));
        }
      }
    }
  }

  // The least sum of squares of an end of the row whose first part ends at `to`. What is beyond
  // 2^53 is rounded; that decides only between choices whose largest parts are equal.
  double squares_from(size_t parts, size_t from, size_t to) const {
    if (cost(from, to) > bound_) return kNever;
    const auto first = static_cast<double>(cost(from, to));
    return first * first + squares_[parts - 1][to];
  }

  size_t count_;
  size_t parts_;
  std::vector<int64_t> sums_;                 // of the costs before each index
  int64_t bound_ = 0;                         // the largest part of the best division
  std::vector<std::vector<double>> squares_;  // by parts and where the end of the row begins
};

}  // namespace

std::vector<int> choose_cuts(const std::vector<int64_t>& costs, int parts) {
  PANDO_CHECK(parts >= 1 && static_cast<size_t>(parts) <= costs.size(), parts, " parts of ",
              costs.size(), " costs");
  return RowDivision(costs, static_cast<size_t>(parts)).first_best();
}

}  // namespace pando::estimator
