// SPDX-License-Identifier: MIT
#include "pando/datasets/subset.h"

#include <algorithm>
#include <map>
#include <optional>

#include "pando/base/random.h"
#include "pando/base/strings.h"
#include "pando/datasets/validation_split.h"
#include "pando/options/usage_error.h"

namespace pando::datasets {
namespace {

std::string flags_of(const SubsetOptions& options) {
  std::vector<std::string> flags;
  if (!options.classes.empty()) flags.emplace_back("--dataset-classes");
  if (options.train > 0) flags.emplace_back("--train-samples");
  if (options.test > 0) flags.emplace_back("--test-samples");
  return join(flags, ", ");
}

void check_data(const TrainingData& data, const SubsetOptions& options) {
  const std::vector<Field>& fields = data.sets.train.fields();
  const auto is_class = [](const Field& field) {
    return field.name == "y" && field.dtype == DType::i32 && field.shape.rank() == 0;
  };
  if (data.task == "classification" && std::ranges::any_of(fields, is_class) && !data.in_order) {
    return;
  }
  throw UsageError(
      flags_of(options), ": expected data with one class for every sample that can be ",
      "read in any order, got ", data.in_order ? "a stream for " : "data for ", data.task);
}

int32_t class_number(const std::string& text, const TrainingData& data) {
  const auto named = std::ranges::find(data.class_names, text);
  if (named != data.class_names.end()) {
    return static_cast<int32_t>(named - data.class_names.begin());
  }
  const std::optional<int64_t> number = parse_int(text);
  if (number && *number >= 0 && *number < data.sets.classes) return static_cast<int32_t>(*number);
  throw UsageError("--dataset-classes: expected numbers from 0 to ", data.sets.classes - 1,
                   data.class_names.empty() ? "" : " or names of " + join(data.class_names, ", "),
                   ", got '", text, "'");
}

// The old number of each new class.
std::vector<int32_t> chosen_classes(const TrainingData& data, const SubsetOptions& options) {
  std::vector<int32_t> chosen;
  for (const std::string& text : options.classes) {
    chosen.push_back(class_number(text, data));
    if (std::ranges::count(chosen, chosen.back()) > 1) {
      throw UsageError("--dataset-classes: the class ", text, " is there twice; remove one");
    }
  }
  if (chosen.size() == 1) {
    throw UsageError("--dataset-classes: expected at least two classes to tell apart, got only '",
                     options.classes[0],
                     "'; the flag lists classes, as in --dataset-classes 0,3,7");
  }
  for (int32_t k = 0; options.classes.empty() && k < data.sets.classes; ++k) chosen.push_back(k);
  return chosen;
}

// `wanted` of the samples: as many of each class as of the others, if there are enough.
std::vector<int64_t> spread(std::vector<std::vector<int64_t>> members, int64_t wanted) {
  std::vector<int64_t> all;
  for (size_t round = 0; std::ssize(all) < wanted; ++round) {
    for (const std::vector<int64_t>& own : members) {
      if (round < own.size() && std::ssize(all) < wanted) all.push_back(own[round]);
    }
  }
  return all;
}

// `name` is that of the set in flags: "train".
Dataset subset_of(const Dataset& set, const std::vector<int32_t>& chosen, int64_t wanted,
                  const char* name) {
  std::map<int32_t, size_t> place;
  for (size_t i = 0; i < chosen.size(); ++i) place[chosen[i]] = i;
  std::vector<std::vector<int64_t>> members(chosen.size());
  const std::vector<int32_t> labels = labels_of(set);
  int64_t count = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto found = place.find(labels[i]);
    if (found == place.end()) continue;
    members[found->second].push_back(static_cast<int64_t>(i));
    ++count;
  }
  if (wanted > count) {
    throw UsageError("--", name, "-samples ", wanted, ": the chosen classes have ", count,
                     " samples");
  }
  if (count == 0) {
    throw UsageError("--dataset-classes: the ", name, " set has no sample of the chosen classes, ",
                     set.size(), " samples of others; choose other classes");
  }
  std::vector<int64_t> indices = spread(std::move(members), wanted > 0 ? wanted : count);
  std::ranges::sort(indices);
  const size_t y = set.field_index("y");
  return set.select(std::move(indices)).map_in_place([place, y](const SampleView& sample) {
    int32_t& label = sample.i32(y)[0];
    label = static_cast<int32_t>(place.at(label));
  });
}

}  // namespace

void take_subset(TrainingData& data, const SubsetOptions& options) {
  if (!options.on()) return;
  check_data(data, options);
  const std::vector<int32_t> chosen = chosen_classes(data, options);
  const bool all_classes = options.classes.empty();
  if (!all_classes || options.train > 0) {
    data.sets.train = subset_of(data.sets.train, chosen, options.train, "train");
  }
  if (!all_classes || options.test > 0) {
    data.sets.test = subset_of(data.sets.test, chosen, options.test, "test");
  }
  data.sets.classes = std::ssize(chosen);
  if (data.class_names.empty()) {  // numbers of the data set, which are no longer those of labels
    if (!options.classes.empty()) data.class_names = options.classes;
    return;
  }
  std::vector<std::string> names;
  for (const int32_t k : chosen) names.push_back(data.class_names[static_cast<size_t>(k)]);
  data.class_names = std::move(names);
}

}  // namespace pando::datasets
