// SPDX-License-Identifier: MIT
#include "pando/app/flags/deciding_options.h"

#include <array>
#include <string_view>
#include <utility>

namespace pando::app {
namespace {

bool is_recorded(const Option& option) {
  return option.effect != Effect::none && option.counted_as.empty();
}

// The options with every value in effect, bound to a table.
struct EffectiveOptions {
  explicit EffectiveOptions(const TrainOptions& given) : options(given) {
    fill_in(options);
    // The content of the file decides, not its place.
    if (options.model_file) options.model = concat("file ", options.model_file->fingerprint);
    options.loss.label_smoothing = options.loss.label_smoothing.value_or(0);
    const int64_t batch = options.devices.batch(options.micro_batch_size).global_batch_size;
    resolve_rate(options.schedule, {.global_batch_size = batch,
                                    .default_rate = default_rate(options.optimizer, batch)});
    add_train_options(table, options);
  }
  EffectiveOptions(const EffectiveOptions&) = delete;
  EffectiveOptions& operator=(const EffectiveOptions&) = delete;

  TrainOptions options;
  OptionTable table;
};

// The notes of checkpoints before kOptionsNote that had the text of one option.
constexpr std::array<std::pair<const char*, const char*>, 8> kEarlierNotes = {
    {{"model", "model"},
     {"micro_batch_size", "micro-batch-size"},
     {"replicas", "num-replicas"},
     {"slices", "slices"},
     {"precision", "precision"},  // followed by a comma and more words
     {"weight_decay", "weight-decay"},
     {"l2_regularization", "l2-regularization"},
     {"label_smoothing", "label-smoothing"}}};

// What runs computed with before an option existed, where that is not its default.
constexpr std::array<std::pair<std::string_view, const char*>, 1> kEarlierValues = {
    {{"winograd", "2"}}};

// The value of an option that is newer than the checkpoint.
ConfigValue earlier_value(const OptionTable& defaults, const std::string& option) {
  for (const auto& [name, value] : kEarlierValues) {
    if (name == option) return ConfigValue::scalar(value);
  }
  return defaults.find_exact(option)->show();
}

}  // namespace

ConfigValue deciding_options(const TrainOptions& options) {
  const EffectiveOptions effective(options);
  ConfigValue map;
  map.kind = ConfigValue::Kind::map;
  for (const Option& option : effective.table.options()) {
    if (is_recorded(option)) map.insert(option.name, option.show());
  }
  return map;
}

ConfigValue recorded_options(const TrainingState& state) {
  const auto found = state.notes.find(kOptionsNote);
  if (found != state.notes.end()) return parse_yaml(found->second, state.weights.path);
  ConfigValue map;
  map.kind = ConfigValue::Kind::map;
  for (const auto& [note, option] : kEarlierNotes) {
    const auto value = state.notes.find(note);
    if (value == state.notes.end()) continue;
    map.insert(option, ConfigValue::scalar(value->second.substr(0, value->second.find(','))));
  }
  return map;
}

void compare_options(const TrainOptions& options, const TrainingState& state,
                     const std::function<void(const OptionDifference&)>& see) {
  const EffectiveOptions effective(options);
  const TrainOptions standard;
  const EffectiveOptions defaults(standard);
  const ConfigValue recorded = recorded_options(state);
  const bool is_complete = state.notes.contains(kOptionsNote);
  for (const Option& option : effective.table.options()) {
    if (!is_recorded(option)) continue;
    const ConfigValue* found = recorded.find(option.name);
    if (found == nullptr && !is_complete) continue;
    const std::string before =
        to_yaml(found == nullptr ? earlier_value(defaults.table, option.name) : *found);
    const std::string now = to_yaml(option.show());
    if (before != now) see({option, before, now});
  }
}

}  // namespace pando::app
