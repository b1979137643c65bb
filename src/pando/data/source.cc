// SPDX-License-Identifier: MIT
#include "pando/data/source.h"

#include <utility>

#include "pando/base/checked.h"

namespace pando {

size_t bytes_per_sample(const Field& field) {
  const auto bytes =
      product_of({field.shape.elements(), static_cast<int64_t>(size_of(field.dtype))});
  if (!bytes) throw InvalidArgument("the field '", field, "' is too large");
  return static_cast<size_t>(*bytes);
}

std::string to_string(const Field& field) {
  return concat(field.name, ' ', to_string(field.dtype), field.shape);
}

std::string to_string(const std::vector<Field>& fields) {
  std::vector<std::string> parts;
  for (const Field& field : fields) parts.push_back(to_string(field));
  return join(parts, ", ");
}

std::ostream& operator<<(std::ostream& out, const Field& field) { return out << to_string(field); }

const Tensor& tensor_of(const std::vector<Tensor>& fields, size_t field) {
  if (field < fields.size()) return fields[field];
  throw InvalidArgument("expected at least ", field + 1, " fields (x, y, ...), got ",
                        fields.size());
}

std::byte* SampleView::data(size_t field) const {
  return rows_.at(field, row_, bytes_per_sample(fields_[field]));
}

void SampleView::check(size_t field, DType wanted) const {
  if (field >= fields_.size()) {
    throw InvalidArgument("sample: expected a field number from 0 to ", fields_.size() - 1,
                          ", got ", field);
  }
  if (fields_[field].dtype != wanted) {
    throw InvalidArgument("sample field '", fields_[field], "' cannot be read as ",
                          to_string(wanted));
  }
}

DataSource::DataSource(std::vector<Field> fields, int64_t size)
    : fields_(std::move(fields)), size_(size) {
  if (fields_.empty()) throw InvalidArgument("a data set needs at least one field");
  if (size_ < 0) throw InvalidArgument("a data set cannot have ", size_, " samples");
  for (size_t i = 0; i < fields_.size(); ++i) {
    bytes_per_sample(fields_[i]);  // throws if the extents are not a valid shape
    for (size_t j = 0; j < i; ++j) {
      if (fields_[i].name == fields_[j].name) {
        throw InvalidArgument("a data set has two fields named '", fields_[i].name, "'");
      }
    }
  }
}

}  // namespace pando
