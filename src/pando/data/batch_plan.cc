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

int64_t BatchPlan::first_sample(int64_t epoch) const {
  return epoch == origin.epoch ? origin.sample : 0;
}

int64_t BatchPlan::own_among(int64_t batches) const {
  const int64_t in_last_round = batches % share.total - share.first;
  return batches / share.total * share.count + std::clamp(in_last_round, int64_t{0}, share.count);
}

bool BatchPlan::at_end(StreamState at) const {
  return own_among(batches_from(0)) == 0 || after(at, 0).epoch >= epochs;
}

StreamState BatchPlan::after(StreamState at, int64_t batches) const {
  const auto place = [this](int64_t epoch, int64_t own) -> StreamState {
    const int64_t number = own / share.count * share.total + share.first + own % share.count;
    return {epoch, first_sample(epoch) + number * batch_size};
  };
  const int64_t begin = first_sample(at.epoch);
  const int64_t own = own_among((at.sample - begin) / batch_size) + batches;
  const int64_t in_epoch = own_among(batches_from(begin));
  if (own < in_epoch) return place(at.epoch, own);
  const int64_t per_epoch = own_among(batches_from(0));
  if (per_epoch == 0) return at;
  const int64_t later = own - in_epoch;
  return place(at.epoch + 1 + later / per_epoch, later % per_epoch);
}

StreamState BatchPlan::following(StreamState at) const {
  const int64_t begin = first_sample(at.epoch);
  int64_t number = (at.sample - begin) / batch_size + 1;
  if (number % share.total == (share.first + share.count) % share.total) {
    number = (number + share.total - 1) / share.total * share.total;
  }
  if (number >= batches_from(begin)) return {at.epoch + 1, 0};
  return {at.epoch, begin + number * batch_size};
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
