// SPDX-License-Identifier: MIT
#include "pando/datasets/validation_split.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "pando/base/error.h"
#include "pando/base/random.h"

namespace pando::datasets {

int64_t validation_count(int64_t samples, double fraction) {
  if (samples < 2) return 0;
  const auto wanted = std::llround(static_cast<double>(samples) * fraction);
  return std::clamp<int64_t>(wanted, 1, samples - 1);
}

SplitIndices split_by_class(std::span<const int32_t> labels, double fraction) {
  std::map<int32_t, std::vector<int64_t>> by_class;
  for (size_t i = 0; i < labels.size(); ++i) {
    by_class[labels[i]].push_back(static_cast<int64_t>(i));
  }
  SplitIndices split;
  for (const auto& [label, members] : by_class) {
    const auto count = std::ssize(members);
    const auto order = random_permutation(
        count, mix_keys(hash_name("validation split"), static_cast<uint64_t>(label)));
    const int64_t first = count - validation_count(count, fraction);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t member = members[static_cast<size_t>(order[static_cast<size_t>(i)])];
      (i < first ? split.train : split.validation).push_back(member);
    }
  }
  if (split.validation.empty()) {
    throw InvalidArgument("validation split: expected a class with at least 2 samples, got ",
                          by_class.size(), " classes with 1 sample each");
  }
  std::ranges::sort(split.train);
  std::ranges::sort(split.validation);
  return split;
}

std::vector<int32_t> labels_of(const Dataset& dataset) {
  constexpr int64_t kBlock = 1024;
  const size_t y = dataset.field_index("y");
  std::vector<Tensor> block;
  for (const Field& field : dataset.fields()) {
    std::vector<int64_t> dims = {kBlock};
    dims.insert(dims.end(), field.shape.begin(), field.shape.end());
    block.emplace_back(field.dtype, Shape(std::move(dims)));
  }
  std::vector<int32_t> labels;
  for (int64_t first = 0; first < dataset.size(); first += kBlock) {
    std::vector<int64_t> indices(static_cast<size_t>(std::min(kBlock, dataset.size() - first)));
    std::iota(indices.begin(), indices.end(), first);
    dataset.gather(indices, block);
    const auto found = block[y].i32().first(indices.size());
    labels.insert(labels.end(), found.begin(), found.end());
  }
  return labels;
}

RecordDataset without_last(RecordDataset records, int64_t count) {
  records.data = records.data.take(records.data.size() - count);
  while (count > 0) {
    int64_t& last = records.records_per_file.back();
    const int64_t taken = std::min(last, count);
    last -= taken;
    count -= taken;
    if (last == 0) records.records_per_file.pop_back();
  }
  return records;
}

}  // namespace pando::datasets
