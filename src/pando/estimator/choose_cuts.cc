// Divides a row of costs into parts by dynamic programming over its suffixes. It works in two
// steps, because the division of a suffix with the least variance need not have the smallest
// largest part. The first step finds how small the largest part can be. The second finds, among the
// divisions within that bound, the one with the least sum of squares. This is the one with the
// least variance, as the sum of the costs is fixed.
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
    largest[count_] = 0;  // an empty suffix needs no part
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

  // The least sum of squares of the suffix that begins at `from` and whose first part ends at `to`.
  // Sums beyond 2^53 are rounded; this only affects choices whose largest parts are equal.
  double squares_from(size_t parts, size_t from, size_t to) const {
    if (cost(from, to) > bound_) return kNever;
    const auto first = static_cast<double>(cost(from, to));
    return first * first + squares_[parts - 1][to];
  }

  size_t count_;
  size_t parts_;
  std::vector<int64_t> sums_;                 // of the costs before each index
  int64_t bound_ = 0;                         // the largest part of the best division
  std::vector<std::vector<double>> squares_;  // by number of parts and start of the suffix
};

}  // namespace

std::vector<int> choose_cuts(const std::vector<int64_t>& costs, int parts) {
  PANDO_CHECK(parts >= 1 && static_cast<size_t>(parts) <= costs.size(), parts, " parts of ",
              costs.size(), " costs");
  return RowDivision(costs, static_cast<size_t>(parts)).first_best();
}

}  // namespace pando::estimator
