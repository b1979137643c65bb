// SPDX-License-Identifier: MIT
#include "pando/app/flags/optimizer_flags.h"

#include <algorithm>
#include <utility>

#include "pando/app/job/exit_code.h"
#include "pando/base/error.h"
#include "pando/optim/optimizers.h"
#include "pando/options/dictionary_keys.h"

namespace pando::app {
namespace {

using optim::OptimizerForm;
using optim::OptimizerOption;
using optim::OptimizerRecord;

constexpr double kUsualBatch = 64;

const OptimizerForm& form_of(const OptimizerRecord& record, const ParameterFields& params) {
  const auto chosen = std::ranges::find_if(record.forms, [&](const OptimizerForm& form) {
    return !form.key.empty() && params.get(form.key);
  });
  return chosen == record.forms.end() ? record.forms.front() : *chosen;
}

WantedKeys keys_of(const OptimizerRecord& record, const OptimizerForm& form) {
  WantedKeys keys{.owner = record.name, .required = {}, .optional = {}};
  if (!form.key.empty()) keys.owner += " with " + form.key;
  for (const OptimizerOption& option : form.options) {
    (option.required ? keys.required : keys.optional).push_back(option.name);
  }
  if (!form.key.empty()) return keys;
  for (const OptimizerForm& other : record.forms) {
    if (!other.key.empty()) keys.optional.push_back(other.key);
  }
  return keys;
}

double value_of(const OptimizerOption& option, const ParameterFields& params) {
  return params.get(option.name).value_or(option.program_fallback.value_or(option.fallback));
}

Optimizer make_rule(const OptimizerFlags& flags, const LearningRate& rate,
                    int64_t global_batch_size) {
  const OptimizerForm& form = form_of(optim::optimizer_record(flags.name), flags.params);
  optim::OptimizerSettings settings{
      .learning_rate = rate, .values = {}, .global_batch_size = global_batch_size};
  for (const OptimizerOption& option : form.options) {
    settings.values[option.name] = value_of(option, flags.params);
  }
  return form.make(settings);
}

ParameterRange both(ParameterRange a, ParameterRange b) {
  if (a == b) return a;
  const bool any = a == ParameterRange::any || b == ParameterRange::any;
  return any ? ParameterRange::any : ParameterRange::not_negative;
}

// All options of all optimizers, each once. Its range contains the ranges that it has for the
// different optimizers.
std::vector<OptimizerOption> all_options() {
  std::vector<OptimizerOption> all;
  for (const OptimizerRecord& record : optim::optimizers()) {
    for (const OptimizerForm& form : record.forms) {
      for (const OptimizerOption& option : form.options) {
        const auto known = std::ranges::find(all, option.name, &OptimizerOption::name);
        if (known == all.end()) {
          all.push_back(option);
        } else {
          known->range = both(known->range, option.range);
        }
      }
    }
  }
  return all;
}

// "momentum (0.9), nesterov". Shows only defaults that differ from those of Keras.
std::string form_text(const OptimizerForm& form, bool required) {
  std::vector<std::string> words;
  for (const OptimizerOption& option : form.options) {
    if (option.required != required) continue;
    words.push_back(option.name);
    if (option.program_fallback) words.back() += concat(" (", *option.program_fallback, ")");
  }
  return join(words, ", ");
}

std::string params_help() {
  std::vector<std::string> forms;
  for (const OptimizerRecord& record : optim::optimizers()) {
    for (const OptimizerForm& form : record.forms) {
      const std::string required = form_text(form, true);
      const std::string optional = form_text(form, false);
      std::vector<std::string> parts;
      if (!required.empty()) parts.push_back("requires " + required);
      if (!optional.empty()) parts.push_back("takes " + optional);
      if (!form.note.empty()) parts.push_back("where " + form.note);
      const std::string owner = form.key.empty() ? record.name : "or with " + form.key;
      forms.push_back(concat(owner, " ", join(parts, ", ")));
    }
  }
  return "parameters of the optimizer, as YAML or JSON; defaults are those of Keras, or the value "
         "in parentheses. " +
         join(forms, "; ");
}

}  // namespace

void add_optimizer_flags(OptionTable& table, OptimizerFlags& flags) {
  table.begin_group("Optimizer");
  std::vector<std::pair<std::string, std::string>> names;
  for (const std::string& name : optimizer_names()) names.emplace_back(name, name);
  table.add_choice("optimizer", flags.name, std::move(names), "the rule that updates the weights")
      .has(Effect::other_run);
  OptionTable& params = table.add_dictionary("optimizer-params", params_help());
  for (const OptimizerOption& option : all_options()) {
    flags.params.add_key(params, option.name, option.range);
  }
  table
      .add("weight-decay", flags.weight_decay,
           "decoupled weight decay: before each update, every weight w is reduced by learning rate "
           "x this x w, independently of the gradient and the state of the optimizer")
      .with_hint("X")
      .at_least(0);
  table
      .add("l2-regularization", flags.l2_regularization,
           "L2 regularization: adds this x weight to the gradient, and so enters the state of the "
           "optimizer")
      .with_hint("X")
      .at_least(0);
  table
      .add("ema-decay", flags.ema_decay,
           "keep a moving average of the weights, of which each update keeps this part, as in "
           "0.999; "
           "validation, reports and the weights in checkpoints are then the average. 0: none")
      .with_hint("X")
      .at_least(0)
      .below(1);
}

void validate(const OptimizerFlags& flags, int64_t global_batch_size) {
  OptimizerFlags copy = flags;
  OptionTable table;
  add_optimizer_flags(table, copy);
  const OptimizerRecord& record = optim::optimizer_record(flags.name);
  check_keys(table, "optimizer-params", keys_of(record, form_of(record, flags.params)));
  if (!record.without_decay.empty() && flags.weight_decay > 0) {
    throw UsageError("--weight-decay: ", record.name,
                     " decays the weights itself; give weight_decay in --optimizer-params instead, "
                     "or use --optimizer ",
                     record.without_decay);
  }
  try {
    make_rule(flags, default_rate(flags, global_batch_size), global_batch_size);
  } catch (const InvalidArgument& error) {
    throw UsageError("--optimizer-params: ", error.what());
  }
}

void fill_in(OptimizerFlags& flags) {
  const OptimizerForm& form = form_of(optim::optimizer_record(flags.name), flags.params);
  for (const OptimizerOption& option : form.options) {
    flags.params.set(option.name, option.range, value_of(option, flags.params));
  }
}

double default_rate(const OptimizerFlags& flags, int64_t global_batch_size) {
  const OptimizerRecord& record = optim::optimizer_record(flags.name);
  if (!record.rate_follows_batch) return record.learning_rate;
  return record.learning_rate / kUsualBatch * static_cast<double>(global_batch_size);
}

Optimizer make_optimizer(const OptimizerFlags& flags, LearningRate rate,
                         int64_t global_batch_size) {
  Optimizer optimizer =
      regularized(make_rule(flags, rate, global_batch_size),
                  {.weight_decay = flags.weight_decay, .l2 = flags.l2_regularization});
  return with_average(std::move(optimizer), flags.ema_decay);
}

}  // namespace pando::app
