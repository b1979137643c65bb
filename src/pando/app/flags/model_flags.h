// The flags of `pando train` that say which model it trains, how it normalises and how precisely it
// computes.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pando/app/flags/model_file.h"
#include "pando/options/options.h"
#include "pando/options/parameter_fields.h"
#include "pando/tensor/precision.h"
#include "pando/zoo/zoo.h"

namespace pando::app {

// The keys of --norm-layer.
struct NormLayerFlag {
  NormLayerFlag();  // the default normalisation with its parameters

  std::optional<std::string> name;
  ParameterFields params;  // those of all normalisations (zoo/norm.h)
};

struct ModelFlags {
  std::string model = "mnist_cnn";              // a name of the zoo or a path
  std::shared_ptr<const ModelFile> model_file;  // if `model` is a path
  NormLayerFlag norm_layer;
  Precision precision;
  bool half_partials = false;
  StochasticRounding stochastic_rounding = StochasticRounding::on;
  bool fp_exceptions = false;
  bool nanoo = false;

  // The model of the zoo or of the file. Throws InvalidArgument for an unknown name.
  const ZooEntry& entry() const { return model_file ? model_file->entry : zoo_entry(model); }
  // For names of folders and messages: a file has the name without folder and ending.
  const std::string& model_name() const { return model_file ? model_file->entry.name : model; }

  // Requires: validated.
  NormOptions norm() const;
  HalfOptions half() const;
};

void add_model_flags(OptionTable& table, ModelFlags& flags);
void add_precision_flags(OptionTable& table, ModelFlags& flags);

// What no single flag can check: throws UsageError that names the flags.
void validate(const ModelFlags& flags);

// Gives every parameter of the normalisation that is not given its default.
void fill_in(NormLayerFlag& flag);

// "16.16, stochastic rounding on, half partials"; "32.32" has nothing to add.
std::string describe_precision(const ModelFlags& flags);

// Warnings about flags that have no effect with the other options. `table` is the table that the
// flags are bound to.
std::vector<std::string> warnings_of(const OptionTable& table, const ModelFlags& flags);

// The model for samples of this shape, with the normalisation of the flags. Throws UsageError when
// --norm-layer does not suit it.
Network build_model(const ZooEntry& entry, const ModelFlags& flags, const Shape& sample,
                    int64_t classes);

}  // namespace pando::app
