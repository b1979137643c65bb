// What functions of the families of layers ask of a layer's options.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/keras/importer_impl.h"

namespace pando::keras {

std::string LayerPlace::label() const { return concat(layer.class_name, " '", name, "'"); }

std::vector<int64_t> LayerPlace::ints(std::string_view key, size_t count,
                                      std::optional<int64_t> missing) const {
  const Json* value = find_value(config(), key);
  if (value == nullptr && missing) return std::vector<int64_t>(count, *missing);
  if (value == nullptr) throw IoError("option '", key, "' is missing");
  if (!value->is_array()) return std::vector<int64_t>(count, value->get<int64_t>());
  auto list = config().get<std::vector<int64_t>>(key);
  if (list.size() != count) {
    throw IoError(key, ": expected ", count, " numbers, got ", value->dump());
  }
  return list;
}

const Shape& LayerPlace::sample(int rank) const {
  if (inputs[0].rank() == rank) return inputs[0];
  throw InvalidArgument(label(), ": expected samples of ", rank, " axes, got ", inputs[0]);
}

void refuse_option(const LayerPlace& place, std::string_view key, const std::string& expected) {
  const Json* value = find_value(place.config(), key);
  throw Unsupported(place.label(), ": ", key, ": expected ", expected, ", got ",
                    value == nullptr ? "none" : value->dump().substr(0, 80));
}

int64_t axis_of(const LayerPlace& place, int64_t axis, int64_t rank) {
  const int64_t positive = axis < 0 ? axis + rank : axis;
  if (positive >= 1 && positive < rank) return positive;
  throw Unsupported(place.label(), ": axis: expected 1 to ", rank - 1, " or ", 1 - rank,
                    " to -1, got ", axis);
}

}  // namespace pando::keras
