// The parts of a data set: the fields of a sample, the memory that samples are gathered into, and
// the interface that every source and every decorator implements.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "pando/tensor/tensor.h"

namespace pando {

// One part of every sample: the features "x", the labels "y", the optional "sample_weight".
struct Field {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;  // of one sample; {} is a single number

  bool operator==(const Field&) const = default;
};

size_t bytes_per_sample(const Field& field);
std::string to_string(const Field& field);                // "x f32[28,28,1]"
std::string to_string(const std::vector<Field>& fields);  // "x f32[28,28,1], y i32[]"
std::ostream& operator<<(std::ostream& out, const Field& field);
// The tensor of a field. Throws InvalidArgument if there are fewer.
const Tensor& tensor_of(const std::vector<Tensor>& fields, size_t field);

// The size of a data set that is repeated without end.
inline constexpr int64_t kEndless = std::numeric_limits<int64_t>::max();

// Rows of one block of memory per field: row i of a field starts i samples after its first byte.
// A view; it owns nothing.
class Rows {
 public:
  explicit Rows(std::span<std::byte* const> first_bytes, int64_t offset = 0)
      : first_bytes_(first_bytes), offset_(offset) {}

  std::byte* at(size_t field, int64_t row, size_t bytes_per_row) const {
    return first_bytes_[field] + static_cast<size_t>(offset_ + row) * bytes_per_row;
  }
  // The rows from `row` on.
  Rows from(int64_t row) const { return Rows(first_bytes_, offset_ + row); }

 private:
  std::span<std::byte* const> first_bytes_;
  int64_t offset_;
};

// One sample in the memory it was gathered into; maps and generators write to it.
// A view; it owns nothing.
class SampleView {
 public:
  struct Id {
    int64_t epoch = 0;
    int64_t index = 0;
  };
  SampleView(std::span<const Field> fields, const Rows& rows, int64_t row, Id id)
      : fields_(fields), rows_(rows), row_(row), id_(id) {}

  // Which sample of which epoch: the key for random numbers of augmentations.
  int64_t epoch() const { return id_.epoch; }
  int64_t index() const { return id_.index; }
  std::span<const Field> fields() const { return fields_; }

  std::byte* data(size_t field) const;
  // The elements of a field. Throws InvalidArgument if the type differs or there is no such field.
  std::span<float> f32(size_t field) const { return elements<float>(field); }
  std::span<uint8_t> u8(size_t field) const { return elements<uint8_t>(field); }
  std::span<int32_t> i32(size_t field) const { return elements<int32_t>(field); }

 private:
  template <typename T>
  std::span<T> elements(size_t field) const {
    check(field, DTypeOf<T>::value);
    return {reinterpret_cast<T*>(data(field)),
            static_cast<size_t>(fields_[field].shape.elements())};
  }
  void check(size_t field, DType wanted) const;

  std::span<const Field> fields_;
  Rows rows_;
  int64_t row_;
  Id id_;
};

// A fixed number of samples with the same fields, reachable in any order. Implement it for a new
// kind of data; decorators implement it over another source. Immutable after construction: any
// number of threads may gather at the same time, and the samples are a pure function of
// (epoch, index).
class DataSource {
 public:
  virtual ~DataSource() = default;
  DataSource(const DataSource&) = delete;
  DataSource& operator=(const DataSource&) = delete;

  int64_t size() const { return size_; }
  const std::vector<Field>& fields() const { return fields_; }

  // Writes sample indices[i] into row i of every field. `indices` may be overwritten, so that
  // decorators translate them in place. Requires: 0 <= indices[i] < size(), epoch >= 0.
  virtual void gather(int64_t epoch, std::span<int64_t> indices, const Rows& rows) const = 0;

  // Whether the sample of an index differs from epoch to epoch.
  virtual bool order_varies() const { return false; }
  // Whether samples are made one after the other, so that going back means to begin again. Streams
  // then read with one worker, and shuffle() permutes only within a buffer.
  virtual bool sequential() const { return false; }

 protected:
  // Throws InvalidArgument if there is no field, two fields have the same name or the size is
  // negative.
  DataSource(std::vector<Field> fields, int64_t size);

 private:
  std::vector<Field> fields_;
  int64_t size_;
};

using SourcePtr = std::shared_ptr<const DataSource>;

}  // namespace pando
