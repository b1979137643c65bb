// Compares training in half precision with training in f32: throughput, measured in turns, and
// memory.
//
//   half_bench [MODEL] [MICRO-BATCH]        (default: cifar_resnet20 and 32)
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/variants/variants.h"

namespace pando::bench {
namespace {

std::vector<Variant> variants(int64_t micro_batch) {
  constexpr HalfOptions kStochastic = {.stochastic_rounding = StochasticRounding::on};
  std::vector<Variant> list;
  for (const std::string& name : precision_names()) {
    list.push_back({.name = name, .micro_batch = micro_batch, .precision = parse_precision(name)});
    if (!list.back().precision.half()) continue;
    list.push_back(list.back());
    list.back().name += ", stochastic rounding";
    list.back().half = kStochastic;
  }
  return list;
}

// The part of the compile report about the arenas.
std::string memory_of(const std::string& model, const Variant& variant, const Dataset& data) {
  Runner runner(model, variant, data);
  const std::string report = runner.model().compile_report(variant.micro_batch, data.fields());
  return report.substr(report.find("memory of the devices"));
}

int run(const std::string& model, int64_t micro_batch) {
  const Dataset data = samples_of(zoo_entry(model), 8 * micro_batch);
  fmt::print("## {}, micro-batches of {}\n", model, micro_batch);
  print_ratios(model, data, variants(micro_batch));
  for (const char* name : {"32.32", "16.16"}) {
    const Variant variant{
        .name = name, .micro_batch = micro_batch, .precision = parse_precision(name)};
    fmt::print("\n{}: {}", name, memory_of(model, variant, data));
  }
  return 0;
}

}  // namespace
}  // namespace pando::bench

int main(int argc, char** argv) {
  try {
    return pando::bench::run(argc > 1 ? argv[1] : "cifar_resnet20",
                             argc > 2 ? std::stoll(argv[2]) : 32);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "half_bench: %s\n", error.what());
    return 1;
  }
}
