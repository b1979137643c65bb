// SPDX-License-Identifier: MIT
#include "pando/zoo/norm.h"

#include <algorithm>

#include "pando/base/error.h"
#include "pando/nn/layers.h"

namespace pando::zoo {

namespace {

// The moving statistics are those of the global batch.
Layer batch_norm_layer(const NormValues& values, double epsilon, NormPlace place) {
  return BatchNormalization({.momentum = values.at("momentum"),
                             .epsilon = epsilon,
                             .gamma_initializer = std::move(place.gamma),
                             .name = std::move(place.name)});
}

NormRecord batch_norm() {
  return {.name = "batch_norm",
          .stem = "bn",
          .summary = "moving statistics have momentum 0.99",
          .parameters = {{"momentum", 0.99, ParameterRange::share, "custom_batch_norm"}},
          .layer = batch_norm_layer};
}

NormRecord custom_batch_norm() {
  return {.name = "custom_batch_norm",
          .stem = "bn",
          .summary = "momentum sets that of the moving statistics, by default 0.97",
          .parameters = {{"momentum", 0.97, ParameterRange::share}},
          .layer = batch_norm_layer};
}

int64_t groups_of(const NormValues& values, const NormPlace& place) {
  const auto count = static_cast<int64_t>(values.at("num_groups"));
  const auto size = static_cast<int64_t>(values.at("channels_per_group"));
  const bool by_size = size > 0;
  if (by_size == (count > 0)) {
    throw InvalidArgument("group norm '", place.name,
                          "': expected exactly one of num_groups and channels_per_group above 0, "
                          "got ",
                          count, " and ", size);
  }
  const int64_t divisor = by_size ? size : count;
  if (place.channels % divisor != 0) {
    throw InvalidArgument("group norm '", place.name,
                          "': ", by_size ? "channels_per_group" : "num_groups",
                          ": expected a divisor of ", place.channels,
                          ", the number of channels of the layer, got ", divisor);
  }
  return by_size ? place.channels / divisor : divisor;
}

NormRecord group_norm() {
  return {.name = "group_norm",
          .stem = "gn",
          .summary =
              "needs num_groups or channels_per_group; strided: channel c belongs to group c mod "
              "num_groups",
          .parameters = {{"num_groups", 0, ParameterRange::count},
                         {"channels_per_group", 0, ParameterRange::count},
                         {"strided", 0, ParameterRange::on_off}},
          .exactly_one = {"num_groups", "channels_per_group"},
          .layer = [](const NormValues& values, double epsilon, NormPlace place) {
            const int64_t groups = groups_of(values, place);
            return GroupNormalization({.groups = groups,
                                       .epsilon = epsilon,
                                       .strided = values.at("strided") != 0,
                                       .gamma_initializer = std::move(place.gamma),
                                       .name = std::move(place.name)});
          }};
}

NormValues values_of(const NormRecord& record, const NormOptions& options) {
  NormValues values;
  for (const NormParameter& parameter : record.parameters) {
    values[parameter.name] = parameter.fallback;
  }
  for (const auto& [name, value] : options.params) {
    const auto found = values.find(name);
    if (found == values.end()) {
      std::vector<std::string> known;
      for (const NormParameter& parameter : record.parameters) known.push_back(parameter.name);
      throw InvalidArgument(record.name, ": ", unknown_name_message("parameter", name, known));
    }
    found->second = value;
  }
  return values;
}

// Replaces "bn" in the name by the stem, so that the name of the layer shows its normalisation.
std::string with_stem(std::string name, const std::string& stem) {
  const size_t at = name.rfind("bn");
  PANDO_CHECK(at != std::string::npos, "the name '", name, "' does not contain \"bn\"");
  return name.replace(at, 2, stem);
}

}  // namespace

const std::vector<NormRecord>& normalisations() {
  static const std::vector<NormRecord> records = {batch_norm(), custom_batch_norm(), group_norm()};
  return records;
}

const NormRecord& norm_record(std::string_view name) {
  const auto found = std::ranges::find(normalisations(), name, &NormRecord::name);
  if (found != normalisations().end()) return *found;
  std::vector<std::string> known;
  for (const NormRecord& record : normalisations()) known.push_back(record.name);
  throw InvalidArgument(unknown_name_message("normalisation", name, known));
}

NormOptions with_epsilon(NormOptions options, double epsilon) {
  if (!options.epsilon) options.epsilon = epsilon;
  return options;
}

SymbolicTensor normalise(const SymbolicTensor& x, const NormOptions& options, NormPlace place) {
  const NormRecord& record = norm_record(options.name);
  place.name = with_stem(std::move(place.name), record.stem);
  const double epsilon = options.epsilon.value_or(kKerasEpsilon);
  return record.layer(values_of(record, options), epsilon, std::move(place))(x);
}

}  // namespace pando::zoo
