// SPDX-License-Identifier: MIT
#include "pando/app/flags/model_flags.h"

#include <algorithm>

#include "pando/app/job/exit_code.h"

namespace pando::app {
namespace {

constexpr double kKerasMomentum = 0.99;
constexpr double kCustomMomentum = 0.97;

std::vector<std::string> keys_of(NormKind kind) {
  switch (kind) {
    case NormKind::batch:
    case NormKind::custom_batch: return {"name", "momentum"};
    case NormKind::group: return {"name", "num_groups", "channels_per_group", "strided"};
  }
  return {};
}

const char* name_of(NormKind kind) {
  switch (kind) {
    case NormKind::batch: return "batch_norm";
    case NormKind::custom_batch: return "custom_batch_norm";
    case NormKind::group: return "group_norm";
  }
  return "";
}

std::vector<std::string> given_keys(const NormLayerFlag& flag) {
  std::vector<std::string> keys;
  if (flag.name) keys.emplace_back("name");
  if (flag.momentum) keys.emplace_back("momentum");
  if (flag.num_groups) keys.emplace_back("num_groups");
  if (flag.channels_per_group) keys.emplace_back("channels_per_group");
  if (flag.strided) keys.emplace_back("strided");
  return keys;
}

void validate_norm_layer(const NormLayerFlag& flag) {
  if (!flag.name) {
    throw UsageError(
        "--norm-layer: found no name, wanted batch_norm, custom_batch_norm or group_norm");
  }
  const std::vector<std::string> known = keys_of(*flag.name);
  for (const std::string& key : given_keys(flag)) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    throw UsageError("--norm-layer: '", key, "' means nothing to ", name_of(*flag.name),
                     ", wanted ", join(known, ", "));
  }
  if (*flag.name != NormKind::group) return;
  if (flag.num_groups && flag.channels_per_group) {
    throw UsageError(
        "--norm-layer: found num_groups and channels_per_group, wanted only one of them");
  }
  if (!flag.num_groups && !flag.channels_per_group) {
    throw UsageError(
        "--norm-layer: group_norm without num_groups or channels_per_group, wanted one of them");
  }
}

std::vector<std::pair<std::string, Precision>> precision_choices() {
  std::vector<std::pair<std::string, Precision>> choices;
  for (const std::string& name : precision_names())
    choices.emplace_back(name, parse_precision(name));
  return choices;
}

const char* name_of(StochasticRounding rounding) {
  switch (rounding) {
    case StochasticRounding::off: return "off";
    case StochasticRounding::on: return "on";
    case StochasticRounding::replica_identical_only: return "in weight updates only";
  }
  return "";
}

// The flags among these that were set to something else than their default.
std::vector<std::string> changed(const OptionTable& table,
                                 std::initializer_list<const char*> names) {
  std::vector<std::string> found;
  for (const char* name : names) {
    if (is_changed(*table.find_exact(name))) found.push_back(std::string("--") + name);
  }
  return found;
}

}  // namespace

NormOptions ModelFlags::norm() const {
  NormOptions options{.kind = norm_layer.name.value(),
                      .momentum = norm_layer.momentum.value_or(kCustomMomentum),
                      .num_groups = norm_layer.num_groups.value_or(0),
                      .channels_per_group = norm_layer.channels_per_group.value_or(0),
                      .strided = norm_layer.strided.value_or(false)};
  if (options.kind == NormKind::batch) options.momentum = kKerasMomentum;
  return options;
}

HalfOptions ModelFlags::half() const {
  return {.stochastic_rounding = stochastic_rounding,
          .nan_on_overflow = nanoo,
          .half_partials = half_partials};
}

std::string describe_precision(const ModelFlags& flags) {
  std::string text = to_string(flags.precision);
  if (flags.precision.half()) {
    text += concat(", stochastic rounding ", name_of(flags.stochastic_rounding));
    if (flags.half_partials) text += ", half partials";
    if (flags.nanoo) text += ", not-a-number on overflow";
  }
  if (flags.fp_exceptions) text += ", ends at floating-point exceptions";
  return text;
}

void add_model_flags(OptionTable& table, ModelFlags& flags) {
  table.begin_group("Model");
  table.add("model", flags.model, "the model; 'pando models' lists them")
      .with_alias("model-name")
      .with_hint("NAME");
  OptionTable& norm = table.add_dictionary(
      "norm-layer",
      "how models with normalisation normalise: by name batch_norm (moving statistics with "
      "momentum "
      "0.99), custom_batch_norm (momentum, else 0.97) or group_norm (num_groups or "
      "channels_per_group; strided: channel c belongs to group c mod num_groups)");
  norm.add_choice("name", flags.norm_layer.name,
                  {{"batch_norm", NormKind::batch},
                   {"custom_batch_norm", NormKind::custom_batch},
                   {"group_norm", NormKind::group}},
                  "");
  norm.add("momentum", flags.norm_layer.momentum, "").at_least(0).at_most(1);
  norm.add("num_groups", flags.norm_layer.num_groups, "").at_least(1);
  norm.add("channels_per_group", flags.norm_layer.channels_per_group, "").at_least(1);
  norm.add("strided", flags.norm_layer.strided, "");
  table.add("stable-norm", flags.stable_norm,
            "take deviations from the mean before squaring them; always so here, on or off");
}

void add_precision_flags(OptionTable& table, ModelFlags& flags) {
  table.begin_group("Precision");
  table.add_choice(
      "precision", flags.precision, precision_choices(),
      "what numbers are stored in: activations and their gradients, then weights, sums of "
      "gradients and the optimizer's state. 16 is IEEE half precision, bf16 has the range of 32 "
      "bits and fewer digits. Arithmetic, losses and statistics have 32 bits");
  table.add("half-partials", flags.half_partials,
            "round the partial sums of convolutions and dense layers too; no effect in 32.32");
  Option& rounding = table.add_choice(
      "stochastic-rounding", flags.stochastic_rounding,
      {{"OFF", StochasticRounding::off},
       {"ON", StochasticRounding::on},
       {"REPLICA_IDENTICAL_ONLY", StochasticRounding::replica_identical_only},
       {"RI", StochasticRounding::replica_identical_only}},
      "round half precision numbers up or down at random, so that small changes add "
      "up: everywhere in training, nowhere, or only in weight updates (RI). Never in "
      "validation; no effect in 32.32");
  rounding.read = [&flags, read_name = rounding.read](const ConfigValue& value) {
    if (read_name(value)) return true;
    const bool is_scalar = value.kind == ConfigValue::Kind::scalar;
    const std::optional<bool> on = is_scalar ? parse_bool(value.text) : std::nullopt;
    if (on) flags.stochastic_rounding = *on ? StochasticRounding::on : StochasticRounding::off;
    return on.has_value();
  };
  table.add("fp-exceptions", flags.fp_exceptions,
            "end training at the first invalid operation, division by zero or overflow, and tell "
            "where it was");
  table.add("nanoo", flags.nanoo,
            "overflow in half precision gives not-a-number instead of the largest number; no "
            "effect in 32.32");
}

void validate(const ModelFlags& flags) {
  if (flags.model.empty()) throw UsageError("--model: found nothing, wanted a name");
  validate_norm_layer(flags.norm_layer);
}

std::vector<std::string> warnings_of(const OptionTable& table, const ModelFlags& flags) {
  std::vector<std::string> warnings;
  const std::vector<std::string> half =
      changed(table, {"half-partials", "stochastic-rounding", "nanoo"});
  if (!half.empty() && !flags.precision.half()) {
    warnings.push_back(concat(join(half, ", "), ": no effect in 32.32"));
  }
  const Option& norm = *table.find_exact("norm-layer");
  if (!is_changed(norm)) return warnings;
  const auto entry = std::ranges::find(model_zoo(), flags.model, &ZooEntry::name);
  if (entry != model_zoo().end() && !entry->normalises) {
    warnings.push_back(
        concat("--norm-layer: no effect on ", flags.model, ", which has no normalisation"));
  } else if (flags.norm_layer.name == NormKind::batch && flags.norm_layer.momentum) {
    warnings.push_back(concat("--norm-layer: the momentum of batch_norm is ", kKerasMomentum,
                              ", the one given is ignored; custom_batch_norm takes one"));
  }
  return warnings;
}

Network build_model(const ZooEntry& entry, const ModelFlags& flags, const Shape& sample,
                    int64_t classes) {
  const ZooOptions options{.norm = flags.norm()};
  try {
    return entry.build(sample, classes, options);
  } catch (const InvalidArgument& error) {
    if (options.norm.kind != NormKind::group) throw;
    entry.build(sample, classes);  // throws when it is not the groups that do not suit
    throw UsageError("--norm-layer: ", error.what());
  }
}

}  // namespace pando::app
