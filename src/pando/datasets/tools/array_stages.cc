// SPDX-License-Identifier: MIT
#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "pando/datasets/tools/array_stages_impl.h"

namespace pando::datasets {

double bytes_of(const Dataset& dataset) {
  double bytes = 0;
  for (const Field& field : dataset.fields()) bytes += static_cast<double>(bytes_per_sample(field));
  return bytes;
}

Stage gather_stage(std::string name, std::string what, const Dataset& dataset, double in,
                   int64_t block) {
  return {std::move(name), std::move(what), [dataset, in, block]() -> StageWork {
            auto memory = std::make_shared<std::vector<Tensor>>();
            for (const Field& field : dataset.fields()) {
              std::vector<int64_t> dims = field.shape.dims();
              dims.insert(dims.begin(), block);
              memory->emplace_back(field.dtype, Shape(std::move(dims)));
            }
            const double out = bytes_of(dataset);
            return [dataset, in, out, block, memory](int64_t unit) {
              const int64_t first = unit * block;
              std::vector<int64_t> indices(
                  static_cast<size_t>(std::min(block, dataset.size() - first)));
              std::iota(indices.begin(), indices.end(), first);
              dataset.gather(indices, *memory);
              const auto count = static_cast<double>(indices.size());
              return StageCount{std::ssize(indices), count * in, count * out};
            };
          }};
}

Pipeline array_pipeline(const Dataset& shuffled, int64_t block) {
  return {.units = (shuffled.size() + block - 1) / block,
          .samples = shuffled.size(),
          .stages = {},
          .batches = shuffled};
}

int64_t block_of(const Dataset& dataset, const DataBenchmarkOptions& options) {
  return std::clamp<int64_t>(dataset.size(), 1, options.batch_size);
}

}  // namespace pando::datasets
