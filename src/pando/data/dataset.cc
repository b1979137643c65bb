// SPDX-License-Identifier: MIT
#include "pando/data/dataset.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "pando/data/decorators.h"
#include "pando/data/sources/arrays.h"
#include "pando/data/sources/functions.h"
#include "pando/data/sources/generator.h"

namespace pando {

Dataset::Dataset(SourcePtr source) : source_(std::move(source)) {
  if (source_ == nullptr) throw InvalidArgument("a data set needs a source, got none");
}

Dataset Dataset::from_tensors(Tensor x) {
  std::vector<ArrayField> arrays;
  arrays.push_back({.name = "x", .values = std::move(x)});
  return from_arrays(std::move(arrays));
}

Dataset Dataset::from_tensors(Tensor x, Tensor y) {
  std::vector<ArrayField> arrays;
  arrays.push_back({.name = "x", .values = std::move(x)});
  arrays.push_back({.name = "y", .values = std::move(y)});
  return from_arrays(std::move(arrays));
}

Dataset Dataset::from_tensors(Tensor x, Tensor y, Tensor sample_weight) {
  std::vector<ArrayField> arrays;
  arrays.push_back({.name = "x", .values = std::move(x)});
  arrays.push_back({.name = "y", .values = std::move(y)});
  arrays.push_back({.name = "sample_weight", .values = std::move(sample_weight)});
  return from_arrays(std::move(arrays));
}

Dataset Dataset::from_fields(std::vector<std::pair<std::string, Tensor>> fields) {
  std::vector<ArrayField> arrays;
  for (auto& [name, values] : fields) {
    arrays.push_back({.name = std::move(name), .values = std::move(values)});
  }
  return from_arrays(std::move(arrays));
}

Dataset Dataset::from_function(int64_t size, std::function<Sample(int64_t)> make) {
  return Dataset(data::made_by(size, std::move(make)));
}

Dataset Dataset::generate(int64_t size, std::vector<Field> fields,
                          std::function<void(const SampleView&)> fill) {
  return Dataset(data::filled_by(size, std::move(fields), std::move(fill)));
}

Dataset Dataset::from_generator(GeneratorStart begin, GeneratorOptions options) {
  return Dataset(data::generated(std::move(begin), options));
}

size_t Dataset::field_index(std::string_view name) const {
  std::vector<std::string> known;
  for (const Field& field : fields()) {
    if (field.name == name) return known.size();
    known.push_back(field.name);
  }
  throw InvalidArgument("data set: ", unknown_name_message("field", name, known));
}

Sample Dataset::get(int64_t index, int64_t epoch) const {
  if (index < 0 || index >= size() || epoch < 0) {
    throw InvalidArgument("data set: no sample ", index, " in epoch ", epoch, ", it has ", size(),
                          " samples");
  }
  return data::load_sample(*source_, epoch, index);
}

void Dataset::gather(std::span<const int64_t> indices, std::span<Tensor> destination,
                     int64_t epoch) const {
  if (destination.size() != fields().size()) {
    throw InvalidArgument("gather: expected one tensor for each of the fields ",
                          to_string(fields()), ", got ", destination.size());
  }
  std::vector<std::byte*> first_bytes;
  for (size_t f = 0; f < destination.size(); ++f) {
    const Tensor& tensor = destination[f];
    const Field& field = fields()[f];
    const std::vector<int64_t>& dims = tensor.shape().dims();
    if (tensor.dtype() != field.dtype || dims.empty() ||
        Shape(std::vector<int64_t>(dims.begin() + 1, dims.end())) != field.shape ||
        dims[0] < static_cast<int64_t>(indices.size())) {
      throw InvalidArgument("gather: ", indices.size(), " samples of field '", field,
                            "' do not fit into a tensor ", to_string(tensor.dtype()),
                            tensor.shape());
    }
    first_bytes.push_back(destination[f].data());
  }
  for (const int64_t index : indices) {
    if (index < 0 || index >= size() || epoch < 0) {
      throw InvalidArgument("gather: no sample ", index, " in epoch ", epoch, ", the data set has ",
                            size(), " samples");
    }
  }
  std::vector<int64_t> translated(indices.begin(), indices.end());
  source_->gather(epoch, translated, Rows(first_bytes));
}

Dataset Dataset::shuffle(ShuffleOptions options) const {
  return Dataset(data::shuffled(source_, options));
}

Dataset Dataset::shard(int64_t count, int64_t index) const {
  if (count < 1 || index < 0 || index >= count) {
    throw InvalidArgument("shard: expected 0 <= index < count, got index ", index, " of ", count);
  }
  int64_t shard_size = size() > index ? (size() - index - 1) / count + 1 : 0;
  if (size() == kEndless) shard_size = kEndless;
  return Dataset(data::strided(source_, index, count, shard_size));
}

Dataset Dataset::take(int64_t count) const {
  if (count < 0) throw InvalidArgument("take: expected at least 0 samples, got ", count);
  return Dataset(data::strided(source_, 0, 1, std::min(count, size())));
}

Dataset Dataset::skip(int64_t count) const {
  if (count < 0) throw InvalidArgument("skip: expected at least 0 samples, got ", count);
  const int64_t first = std::min(count, size());
  return Dataset(data::strided(source_, first, 1, size() == kEndless ? kEndless : size() - first));
}

Dataset Dataset::select(std::vector<int64_t> indices) const {
  for (const int64_t index : indices) {
    if (index >= 0 && index < size()) continue;
    throw InvalidArgument("select: no sample ", index, ", the data set has ", size(), " samples");
  }
  return Dataset(data::selected(source_, std::move(indices)));
}

Dataset Dataset::repeat(int64_t times) const { return Dataset(data::repeated(source_, times)); }

Dataset Dataset::concat(const Dataset& other) const {
  return Dataset(data::concatenated(source_, other.source_));
}

DatasetSplit Dataset::split(double fraction) const {
  if (!(fraction > 0 && fraction < 1)) {
    throw InvalidArgument("split: expected a fraction above 0 and below 1, got ", fraction);
  }
  if (source_->order_varies()) {
    throw InvalidArgument(
        "split: the order changes from epoch to epoch, so training would see validation samples; "
        "split before shuffle");
  }
  const auto first =
      static_cast<int64_t>(std::floor(static_cast<double>(size()) * (1.0 - fraction)));
  if (first == 0 || first >= size()) {
    throw InvalidArgument("split: a fraction of ", fraction, " of ", size(),
                          " samples leaves one part empty");
  }
  return {.train = take(first), .validation = skip(first)};
}

Dataset Dataset::map(std::function<Sample(Sample)> change) const {
  return Dataset(data::mapped(source_, std::move(change)));
}

Dataset Dataset::map_in_place(std::function<void(const SampleView&)> change) const {
  return Dataset(data::mapped_in_place(source_, std::move(change)));
}

Dataset Dataset::map_field(std::string_view name, Field field, FieldChange change) const {
  return Dataset(
      data::field_mapped(source_, field_index(name), std::move(field), std::move(change)));
}

Dataset Dataset::cache(CacheOptions options) const {
  return Dataset(data::cached(source_, options));
}

Dataset Dataset::add_field(Field field, std::function<void(const SampleView&)> fill) const {
  return Dataset(data::field_added(source_, std::move(field), std::move(fill)));
}

BatchStream Dataset::batch(int64_t batch_size, BatchOptions options) const {
  return BatchStream(source_, batch_size, options);
}

Dataset one_hot(const Dataset& dataset, int64_t classes) {
  if (classes < 1) throw InvalidArgument("one_hot: expected at least 1 class, got ", classes);
  const Field& label = dataset.fields()[dataset.field_index("y")];
  const bool bytes = label.dtype == DType::u8;
  if (label.shape.elements() != 1 || (!bytes && label.dtype != DType::i32)) {
    throw InvalidArgument("one_hot: expected one label of type i32 or u8, got the field '", label,
                          "'");
  }
  const auto encode = [classes, bytes](const SampleView& from, const SampleView& to) {
    const int64_t value = bytes ? from.u8(0)[0] : from.i32(0)[0];
    if (value < 0 || value >= classes) {
      throw InvalidArgument("one_hot: sample ", from.index(), ": expected a label from 0 to ",
                            classes - 1, ", got ", value);
    }
    std::ranges::fill(to.f32(0), 0.0f);
    to.f32(0)[static_cast<size_t>(value)] = 1.0f;
  };
  return dataset.map_field("y", {"y", DType::f32, {classes}}, encode);
}

}  // namespace pando
