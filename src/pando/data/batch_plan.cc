// SPDX-License-Identifier: MIT
#include "pando/data/batch_plan.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace pando {

namespace {

bool fits(const Tensor& tensor, const Field& field, int64_t batch_size) {
  const std::vector<int64_t>& dims = tensor.shape().dims();
  return tensor.dtype() == field.dtype && tensor.data() != nullptr &&
         dims.size() == field.shape.dims().size() + 1 && dims.front() == batch_size &&
         std::equal(field.shape.begin(), field.shape.end(), dims.begin() + 1);
}

Tensor batch_tensor(const Field& field, int64_t batch_size) {
  std::vector<int64_t> dims = {batch_size};
  dims.insert(dims.end(), field.shape.begin(), field.shape.end());
  return Tensor(field.dtype, Shape(std::move(dims)));
}

}  // namespace

int64_t BatchPlan::batches_from(int64_t sample) const {
  const int64_t left = source->size() - sample;
  if (left <= 0) return 0;
  return drop_remainder ? left / batch_size : (left - 1) / batch_size + 1;
}

bool BatchPlan::at_end(StreamState at) const {
  return batches_from(0) == 0 || after(at, 0).epoch >= epochs;
}

StreamState BatchPlan::after(StreamState at, int64_t batches) const {
  const int64_t rest = batches_from(at.sample);
  if (batches < rest) return {at.epoch, at.sample + batches * batch_size};
  const int64_t per_epoch = batches_from(0);
  if (per_epoch == 0) return at;
  batches -= rest;
  return {at.epoch + 1 + batches / per_epoch, batches % per_epoch * batch_size};
}

void BatchFiller::fill(const BatchPlan& plan, StreamState at, Batch& into) {
  const std::vector<Field>& fields = plan.source->fields();
  const int64_t valid = std::min(plan.batch_size, plan.source->size() - at.sample);
  PANDO_CHECK(valid > 0, "no batch at sample ", at.sample);
  into.fields.resize(fields.size());
  first_bytes_.resize(fields.size());
  for (size_t f = 0; f < fields.size(); ++f) {
    Tensor& tensor = into.fields[f];
    if (!fits(tensor, fields[f], plan.batch_size)) {
      tensor = batch_tensor(fields[f], plan.batch_size);
    }
    first_bytes_[f] = tensor.data();
  }
  indices_.resize(static_cast<size_t>(valid));
  std::iota(indices_.begin(), indices_.end(), at.sample);
  plan.source->gather(at.epoch, indices_, Rows(first_bytes_));
  for (Tensor& tensor : into.fields) {
    const size_t used =
        tensor.bytes() / static_cast<size_t>(plan.batch_size) * static_cast<size_t>(valid);
    std::memset(tensor.data() + used, 0, tensor.bytes() - used);
  }
  into.valid = valid;
  into.first_sample = at.sample;
  into.epoch = at.epoch;
}

}  // namespace pando
