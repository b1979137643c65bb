// Variants of training a zoo model, measured in turns within one run, so that the ratios are valid
// on a busy machine.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pando/pando.h"
#include "pando/zoo/zoo.h"

namespace pando::bench {

inline constexpr int kRounds = 5;

// Random samples of a zoo model, the same for all variants.
Dataset samples_of(const ZooEntry& entry, int64_t count);

// One way of running a model.
struct Variant {
  std::string name;
  int devices = 1;
  int cores_per_device = 0;
  int64_t micro_batch = 32;
  int accumulation = 1;
  std::vector<std::string> splits = {};
  PipelineSchedule schedule = PipelineSchedule::grouped;
  Recomputation recomputation = Recomputation::none;
  Precision precision = {};
  HalfOptions half = {};
  WinogradTiles winograd = WinogradTiles::up_to_4;
};

class Runner {
 public:
  Runner(const std::string& model, const Variant& variant, const Dataset& data);

  // Samples per second of one pass over the data, without compilation.
  double run(profile::Trace* trace = nullptr);

  Model& model() { return *model_; }
  const Variant& variant() const { return variant_; }

 private:
  Variant variant_;
  Dataset data_;
  std::unique_ptr<Model> model_;
};

double median(std::vector<double> values);

struct Measured {
  double throughput = 0;  // median samples per second
  double ratio = 0;       // to the first variant: the median, lowest and highest of all rounds
  double lowest = 0;
  double highest = 0;
};

// Runs all variants in turns, kRounds times, and prints a table.
std::vector<Measured> print_ratios(const std::string& model, const Dataset& data,
                                   const std::vector<Variant>& variants);

}  // namespace pando::bench
