// SPDX-License-Identifier: MIT
#include "pando/train/batch_source.h"

#include "pando/base/error.h"
#include "pando/train/model_impl.h"

namespace pando::train {

void ClassCheck::operator()(const Batch& batch) const {
  if (classes == 0) return;
  const std::span<const int32_t> labels = batch.y().i32();
  for (int64_t row = 0; row < batch.valid; ++row) {
    const int32_t label = labels[static_cast<size_t>(row)];
    if (label >= 0 && label < classes) continue;
    const int64_t number = batch.first_sample + row;
    // Epochs that follow each other without a gap are one epoch of the stream.
    throw InvalidArgument(what, ": the label of sample ", number % samples,
                          " (from 0, in the order of pass ", batch.epoch + number / samples + 1,
                          " over the data) is ", label, "; the network has ", classes,
                          " outputs, for classes 0 to ", classes - 1,
                          ". Give its last layer as many units as there are classes, or map the "
                          "labels into that range");
  }
}

ClassCheck class_check(const char* what, Model::Impl& impl, const Dataset& dataset) {
  if (impl.compiled().loss.labels() != LabelKind::classes) return {};
  const Shape& output = impl.network.output_shape();
  return {.what = what,
          .classes = output.rank() == 0 ? 0 : output[output.rank() - 1],
          .samples = dataset.size()};
}

runtime::BatchSource numbered(BatchStream& stream, int64_t samples_per_epoch, ClassCheck check) {
  return [&stream, samples_per_epoch, check](Batch& batch) {
    if (!stream.next(batch)) return false;
    check(batch);
    batch.first_sample += batch.epoch * samples_per_epoch;
    return true;
  };
}

runtime::BatchSource repeating(BatchStream& stream, int64_t first_sample, ClassCheck check) {
  auto first = std::make_shared<Batch>();
  return [&stream, first, first_sample, check](Batch& batch) mutable {
    if (first->fields.empty()) {
      Batch read;
      if (!stream.next(read)) return false;
      check(read);
      *first = std::move(read);
    }
    if (batch.fields.empty()) batch = *first;
    batch.first_sample = first_sample;
    first_sample += batch.valid;
    return true;
  };
}

}  // namespace pando::train
