// SPDX-License-Identifier: MIT
#include "pando/train/batch_source.h"

#include <algorithm>
#include <cstring>

#include "pando/base/error.h"
#include "pando/data/image/mask.h"
#include "pando/train/model_impl.h"

namespace pando::train {

namespace {

// Whether a row is a sample: rows whose weights are all 0 are padding.
bool counts(const Batch& batch, const std::vector<int>& weights, int64_t row) {
  const auto weighs = [&](int field) {
    return batch.fields[static_cast<size_t>(field)].f32()[static_cast<size_t>(row)] != 0;
  };
  return weights.empty() || std::any_of(weights.begin(), weights.end(), weighs);
}

// Whether the labels of an output, in field `place`, are class numbers.
bool has_class_numbers(const Loss& loss, int place, const std::vector<Field>& fields) {
  if (loss.labels() != LabelKind::any) return loss.labels() == LabelKind::classes;
  return place >= 0 && fields[static_cast<size_t>(place)].dtype == DType::i32;
}

}  // namespace

void ClassCheck::operator()(const Batch& batch) const {
  for (const Labels& output : outputs) {
    const Tensor& field = batch.fields[static_cast<size_t>(output.field)];
    const std::span<const int32_t> labels = field.i32();
    const int64_t each = field.shape().elements_from(1);
    const bool of_pixels = field.shape().rank() > 1;
    for (int64_t i = 0; i < batch.valid * each; ++i) {
      const int32_t label = labels[static_cast<size_t>(i)];
      if (label >= 0 && label < output.classes) continue;
      if ((of_pixels && label == kNotLabelled) || !counts(batch, weights, i / each)) continue;
      const int64_t number = batch.first_sample + i / each;
      // Epochs that follow each other without a gap are one epoch of the stream.
      throw InvalidArgument(what, ": ", output.where, "the label of sample ", number % samples,
                            " (from 0, in the order of pass ", batch.epoch + number / samples + 1,
                            " over the data) is ", label, "; the network has ", output.classes,
                            " outputs, for classes 0 to ", output.classes - 1,
                            of_pixels ? ", and -1 marks pixels without a label" : "",
                            ". Give its last layer as many units as there are classes, or map the "
                            "labels into that range");
    }
  }
}

void remove_unweighted(Batch& batch, const std::vector<int>& weights) {
  std::vector<int64_t> kept;
  for (int64_t row = 0; row < batch.valid; ++row) {
    if (counts(batch, weights, row)) kept.push_back(row);
  }
  if (std::ssize(kept) == batch.valid) return;
  for (Tensor& field : batch.fields) {
    const size_t bytes = field.bytes() / static_cast<size_t>(field.shape()[0]);
    std::byte* to = field.data();
    for (const int64_t row : kept) {
      const std::byte* from = field.data() + static_cast<size_t>(row) * bytes;
      if (from != to) std::memcpy(to, from, bytes);
      to += bytes;
    }
    std::memset(to, 0, (static_cast<size_t>(batch.valid) - kept.size()) * bytes);
  }
  batch.valid = std::ssize(kept);
}

ClassCheck class_check(const char* what, Model::Impl& impl, const Dataset& dataset) {
  const Wiring wiring = wire(impl.running(), dataset.fields());
  const std::vector<NetworkOutput>& outputs = impl.running().outputs();
  ClassCheck check{
      .what = what, .samples = dataset.size(), .weights = impl.deciding_weights(dataset.fields())};
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Loss* loss = impl.compiled().loss.of(i, outputs, "loss");
    const Shape& shape = outputs[i].shape;
    if (loss == nullptr || shape.rank() == 0) continue;
    if (!has_class_numbers(*loss, wiring.outputs[i].labels, dataset.fields())) continue;
    check.outputs.push_back(
        {.field = wiring.outputs[i].labels,
         .classes = shape[shape.rank() - 1],
         .where = outputs.size() == 1 ? "" : concat("output '", outputs[i].name, "': ")});
  }
  return check;
}

runtime::BatchSource numbered(BatchStream& stream, int64_t samples_per_epoch, ClassCheck check) {
  return [&stream, samples_per_epoch, check](Batch& batch) {
    if (!stream.next(batch)) return false;
    check(batch);
    remove_unweighted(batch, check.weights);
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
      remove_unweighted(read, check.weights);
      *first = std::move(read);
    }
    if (batch.fields.empty()) batch = *first;
    batch.first_sample = first_sample;
    first_sample += batch.valid;
    return true;
  };
}

}  // namespace pando::train
