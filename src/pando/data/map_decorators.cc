// Decorators that change the contents of samples, and functions for single samples.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "pando/data/decorators.h"
#include "pando/data/scratch_pool.h"

namespace pando::data {

namespace {

class Mapped : public DataSource {
 public:
  Mapped(SourcePtr inner, std::vector<Field> fields, std::function<Sample(Sample)> change)
      : DataSource(std::move(fields), inner->size()),
        inner_(std::move(inner)),
        change_(std::move(change)) {}

  void gather(int64_t epoch, std::span<int64_t> indices, const Rows& rows) const override {
    for (size_t i = 0; i < indices.size(); ++i) {
      const Sample sample = change_(load_sample(*inner_, epoch, indices[i]));
      store_sample(sample, fields(), rows, static_cast<int64_t>(i));
    }
  }

  bool order_varies() const override { return inner_->order_varies(); }
  bool sequential() const override { return inner_->sequential(); }

 private:
  SourcePtr inner_;
  std::function<Sample(Sample)> change_;
};

struct MapScratch {
  std::vector<int64_t> indices;
  std::vector<std::byte> bytes;
  std::vector<std::byte*> first_bytes;
};

class MappedInPlace : public DataSource {
 public:
  MappedInPlace(SourcePtr inner, std::function<void(const SampleView&)> change)
      : DataSource(inner->fields(), inner->size()),
        inner_(std::move(inner)),
        change_(std::move(change)) {}

  void gather(int64_t epoch, std::span<int64_t> indices, const Rows& rows) const override {
    ScratchPool<MapScratch>::Lease scratch(scratch_);
    scratch->indices.assign(indices.begin(), indices.end());  // the inner source overwrites them
    inner_->gather(epoch, indices, rows);
    for (size_t i = 0; i < indices.size(); ++i) {
      change_(SampleView(fields(), rows, static_cast<int64_t>(i), {epoch, scratch->indices[i]}));
    }
  }

  bool order_varies() const override { return inner_->order_varies(); }
  bool sequential() const override { return inner_->sequential(); }

 private:
  SourcePtr inner_;
  std::function<void(const SampleView&)> change_;
  mutable ScratchPool<MapScratch> scratch_;
};

// The changed field is gathered into scratch memory, all others straight into their rows.
class FieldMapped : public DataSource {
 public:
  FieldMapped(SourcePtr inner, size_t position, std::vector<Field> fields,
              Dataset::FieldChange change)
      : DataSource(std::move(fields), inner->size()),
        inner_(std::move(inner)),
        position_(position),
        change_(std::move(change)) {}

  void gather(int64_t epoch, std::span<int64_t> indices, const Rows& rows) const override {
    const Field& old_field = inner_->fields()[position_];
    const Field& new_field = fields()[position_];
    ScratchPool<MapScratch>::Lease scratch(scratch_);
    scratch->indices.assign(indices.begin(), indices.end());
    scratch->bytes.resize(indices.size() * bytes_per_sample(old_field));
    scratch->first_bytes.clear();
    for (size_t f = 0; f < fields().size(); ++f) {
      scratch->first_bytes.push_back(f == position_ ? scratch->bytes.data()
                                                    : rows.at(f, 0, bytes_per_sample(fields()[f])));
    }
    inner_->gather(epoch, indices, Rows(scratch->first_bytes));

    const std::array<std::byte*, 1> from_bytes = {scratch->bytes.data()};
    const std::array<std::byte*, 1> to_bytes = {rows.at(position_, 0, bytes_per_sample(new_field))};
    for (size_t i = 0; i < indices.size(); ++i) {
      const SampleView::Id id{epoch, scratch->indices[i]};
      const auto row = static_cast<int64_t>(i);
      change_(SampleView({&old_field, 1}, Rows(from_bytes), row, id),
              SampleView({&new_field, 1}, Rows(to_bytes), row, id));
    }
  }

  bool order_varies() const override { return inner_->order_varies(); }
  bool sequential() const override { return inner_->sequential(); }

 private:
  SourcePtr inner_;
  size_t position_;
  Dataset::FieldChange change_;
  mutable ScratchPool<MapScratch> scratch_;
};

class FieldAdded : public DataSource {
 public:
  FieldAdded(SourcePtr inner, std::vector<Field> fields,
             std::function<void(const SampleView&)> fill)
      : DataSource(std::move(fields), inner->size()),
        inner_(std::move(inner)),
        fill_(std::move(fill)) {}

  void gather(int64_t epoch, std::span<int64_t> indices, const Rows& rows) const override {
    const Field& field = fields().back();
    const std::array<std::byte*, 1> bytes = {
        rows.at(fields().size() - 1, 0, bytes_per_sample(field))};
    for (size_t i = 0; i < indices.size(); ++i) {
      fill_(SampleView({&field, 1}, Rows(bytes), static_cast<int64_t>(i), {epoch, indices[i]}));
    }
    inner_->gather(epoch, indices, rows);
  }

  bool order_varies() const override { return inner_->order_varies(); }
  bool sequential() const override { return inner_->sequential(); }

 private:
  SourcePtr inner_;
  std::function<void(const SampleView&)> fill_;
};

}  // namespace

SourcePtr mapped(SourcePtr inner, std::function<Sample(Sample)> change) {
  if (inner->size() == 0) return inner;  // there is no sample to take the fields from
  std::vector<Field> fields = fields_of(change(load_sample(*inner, 0, 0)), inner->fields());
  return std::make_shared<Mapped>(std::move(inner), std::move(fields), std::move(change));
}

SourcePtr mapped_in_place(SourcePtr inner, std::function<void(const SampleView&)> change) {
  return std::make_shared<MappedInPlace>(std::move(inner), std::move(change));
}

SourcePtr field_mapped(SourcePtr inner, size_t position, Field field, Dataset::FieldChange change) {
  std::vector<Field> fields = inner->fields();
  fields[position] = std::move(field);
  return std::make_shared<FieldMapped>(std::move(inner), position, std::move(fields),
                                       std::move(change));
}

SourcePtr field_added(SourcePtr inner, Field field, std::function<void(const SampleView&)> fill) {
  std::vector<Field> fields = inner->fields();
  fields.push_back(std::move(field));
  return std::make_shared<FieldAdded>(std::move(inner), std::move(fields), std::move(fill));
}

std::vector<Field> fields_of(const Sample& sample, const std::vector<Field>& like) {
  static const std::array<const char*, 3> usual = {"x", "y", "sample_weight"};
  std::vector<Field> fields;
  for (size_t f = 0; f < sample.fields.size(); ++f) {
    const Tensor& tensor = sample.fields[f];
    std::string name = f < usual.size() ? usual[f] : concat("field", f);
    if (f < like.size()) name = like[f].name;
    fields.push_back({std::move(name), tensor.dtype(), tensor.shape()});
  }
  return fields;
}

void store_sample(const Sample& sample, const std::vector<Field>& fields, const Rows& rows,
                  int64_t row) {
  bool same = sample.fields.size() == fields.size();
  for (size_t f = 0; same && f < fields.size(); ++f) {
    same =
        sample.fields[f].dtype() == fields[f].dtype && sample.fields[f].shape() == fields[f].shape;
  }
  if (!same) {
    throw InvalidArgument("a sample has the fields ", to_string(fields_of(sample, fields)),
                          ", but sample 0 has ", to_string(fields));
  }
  for (size_t f = 0; f < fields.size(); ++f) {
    const Tensor& tensor = sample.fields[f];
    if (tensor.bytes() > 0) {
      std::memcpy(rows.at(f, row, tensor.bytes()), tensor.data(), tensor.bytes());
    }
  }
}

Sample load_sample(const DataSource& source, int64_t epoch, int64_t index) {
  Sample sample;
  std::vector<std::byte*> first_bytes;
  for (const Field& field : source.fields()) {
    sample.fields.emplace_back(field.dtype, field.shape);
    first_bytes.push_back(sample.fields.back().data());
  }
  source.gather(epoch, {&index, 1}, Rows(first_bytes));
  return sample;
}

}  // namespace pando::data
