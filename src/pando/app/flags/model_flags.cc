// SPDX-License-Identifier: MIT
#include "pando/app/flags/model_flags.h"

#include <algorithm>
#include <set>

#include "pando/app/job/exit_code.h"
#include "pando/options/dictionary_keys.h"
#include "pando/zoo/zoo.h"

namespace pando::app {
namespace {

std::vector<std::string> norm_names() {
  std::vector<std::string> names;
  for (const zoo::NormRecord& record : zoo::normalisations()) names.push_back(record.name);
  return names;
}

// "a, b or c".
std::string alternatives(std::vector<std::string> words) {
  const std::string last = words.back();
  words.pop_back();
  return words.empty() ? last : join(words, ", ") + " or " + last;
}

void validate_norm_layer(const OptionTable& table, const NormLayerFlag& flag) {
  if (!flag.name) {
    throw UsageError("--norm-layer: expected the name ", alternatives(norm_names()), ", got none");
  }
  const zoo::NormRecord& record = zoo::norm_record(*flag.name);
  WantedKeys keys{.owner = record.name, .required = {"name"}, .optional = {}};
  for (const zoo::NormParameter& parameter : record.parameters) {
    keys.optional.push_back(parameter.name);
  }
  check_keys(table, "norm-layer", keys);
  std::vector<std::string> given;
  for (const std::string& name : record.exactly_one) {
    if (flag.params.get(name)) given.push_back(name);
  }
  if (given.size() > 1) {
    throw UsageError("--norm-layer: expected only one of ", join(given, " and "),
                     "; remove one of them");
  }
  if (given.empty() && !record.exactly_one.empty()) {
    throw UsageError("--norm-layer: ", record.name, ": expected ", alternatives(record.exactly_one),
                     ", got neither");
  }
}

std::string norm_layer_help() {
  std::vector<std::string> names;
  for (const zoo::NormRecord& record : zoo::normalisations()) {
    names.push_back(concat(record.name, " (", record.summary, ")"));
  }
  return "how models with normalisation normalise: by name " + alternatives(std::move(names));
}

void add_norm_layer(OptionTable& table, NormLayerFlag& flag) {
  OptionTable& norm = table.add_dictionary("norm-layer", norm_layer_help());
  std::vector<std::pair<std::string, std::optional<std::string>>> names;
  for (const std::string& name : norm_names()) names.emplace_back(name, name);
  norm.add_choice("name", flag.name, std::move(names), "");
  std::set<std::string> added;
  for (const zoo::NormRecord& record : zoo::normalisations()) {
    for (const zoo::NormParameter& parameter : record.parameters) {
      if (!added.insert(parameter.name).second) continue;
      flag.params.add_key(norm, parameter.name, parameter.range);
    }
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

// Returns those of `names` whose value differs from the default, as flags.
std::vector<std::string> changed(const OptionTable& table,
                                 std::initializer_list<const char*> names) {
  std::vector<std::string> found;
  for (const char* name : names) {
    if (is_changed(*table.find_exact(name))) found.push_back(std::string("--") + name);
  }
  return found;
}

}  // namespace

NormLayerFlag::NormLayerFlag() : name(NormOptions().name) {
  for (const zoo::NormParameter& parameter : zoo::norm_record(*name).parameters) {
    params.set(parameter.name, parameter.range, parameter.fallback);
  }
}

void fill_in(NormLayerFlag& flag) {
  const zoo::NormRecord& record = zoo::norm_record(flag.name.value());
  for (const zoo::NormParameter& parameter : record.parameters) {
    const bool is_choice =
        std::ranges::find(record.exactly_one, parameter.name) != record.exactly_one.end();
    const bool is_fixed = !parameter.changed_by.empty();
    if (is_fixed || (!is_choice && !flag.params.get(parameter.name))) {
      flag.params.set(parameter.name, parameter.range, parameter.fallback);
    }
  }
}

NormOptions ModelFlags::norm() const {
  NormOptions options{.name = norm_layer.name.value()};
  for (const zoo::NormParameter& parameter : zoo::norm_record(options.name).parameters) {
    const std::optional<double> given = norm_layer.params.get(parameter.name);
    if (given && parameter.changed_by.empty()) options.params[parameter.name] = *given;
  }
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
  std::vector<std::pair<std::string, std::string>> models;
  for (const ZooEntry& entry : model_zoo()) models.emplace_back(entry.name, entry.name);
  Option& model =
      table
          .add_choice(
              "model", flags.model, std::move(models),
              concat("the model: a name, 'pando models' lists them, or a file with a network, "
                     "which is trained from its weights on: ",
                     kinds_text(false)))
          .has(Effect::other_run)
          .with_alias("model-name")
          .with_hint("NAME|FILE");
  model.show = [&flags] { return ConfigValue::scalar(flags.model); };
  model.read = [&flags, read_name = model.read](const ConfigValue& value) {
    const bool is_file = value.kind == ConfigValue::Kind::scalar && names_model_file(value.text);
    if (is_file) flags.model = value.text;
    return is_file || read_name(value);
  };
  model.wanted += ", or a file: " + kinds_text(false);
  add_norm_layer(table, flags.norm_layer);
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
  table
      .add("fp-exceptions", flags.fp_exceptions,
           "end training at the first invalid operation, division by zero or overflow, and tell "
           "where it was")
      .has(Effect::none);
  table.add("nanoo", flags.nanoo,
            "overflow in half precision gives not-a-number instead of the largest number; no "
            "effect in 32.32");
}

void validate(const ModelFlags& flags) {
  NormLayerFlag copy = flags.norm_layer;
  OptionTable table;
  add_norm_layer(table, copy);
  validate_norm_layer(table, flags.norm_layer);
}

std::vector<std::string> warnings_of(const OptionTable& table, const ModelFlags& flags) {
  std::vector<std::string> warnings;
  const std::vector<std::string> half =
      changed(table, {"half-partials", "stochastic-rounding", "nanoo"});
  if (!half.empty() && !flags.precision.half()) {
    warnings.push_back(concat(join(half, ", "), ": no effect in 32.32"));
  }
  const Option& norm = *table.find_exact("norm-layer");
  if (!is_changed(norm) || !flags.norm_layer.name) return warnings;
  if (!flags.entry().normalises) {
    warnings.push_back(concat("--norm-layer: no effect on ", flags.model,
                              flags.model_file ? ", whose layers are those of the file"
                                               : ", which has no normalisation"));
    return warnings;
  }
  const zoo::NormRecord& record = zoo::norm_record(*flags.norm_layer.name);
  for (const zoo::NormParameter& parameter : record.parameters) {
    if (parameter.changed_by.empty() || !flags.norm_layer.params.get(parameter.name)) continue;
    warnings.push_back(concat("--norm-layer: the ", parameter.name, " of ", record.name, " is ",
                              parameter.fallback, ", the one given is ignored; ",
                              parameter.changed_by, " takes one"));
  }
  return warnings;
}

Network build_model(const ZooEntry& entry, const ModelFlags& flags, const Shape& sample,
                    int64_t classes) {
  const ZooOptions options{.norm = flags.norm()};
  try {
    return entry.build(sample, classes, options);
  } catch (const InvalidArgument& error) {
    entry.build(sample, classes);  // throws when it is not the normalisation that does not suit
    throw UsageError("--norm-layer: ", error.what());
  }
}

}  // namespace pando::app
