// Compares training in half precision with training in f32: throughput, measured in turns, and
// memory.
//
//   half_bench [MODEL] [MICRO-BATCH] [PRECISIONS] [off]
// The default is cifar_resnet20, 32 and all precisions. A word such as bf16 selects those whose
// name contains it. With off, variants without Winograd's convolutions take turns with the others.
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/variants/variants.h"

namespace pando::bench {
namespace {

std::vector<Variant> variants(int64_t micro_batch, const std::string& precisions) {
  constexpr HalfOptions kStochastic = {.stochastic_rounding = StochasticRounding::on};
  std::vector<Variant> list;
  for (const std::string& name : precision_names()) {
    const Precision precision = parse_precision(name);
    if (precision.half() && name.find(precisions) == std::string::npos) continue;
    list.push_back({.name = name, .micro_batch = micro_batch, .precision = precision});
    if (!precision.half()) continue;
    list.push_back(list.back());
    list.back().name += ", stochastic rounding";
    list.back().half = kStochastic;
  }
  return list;
}

void add_without_winograd(std::vector<Variant>& list) {
  const std::vector<Variant> all = list;
  for (Variant variant : all) {
    variant.name += ", no Winograd";
    variant.winograd = WinogradTiles::off;
    list.push_back(variant);
  }
}

// The part of the compile report about the arenas.
std::string memory_of(const std::string& model, const Variant& variant, const Dataset& data) {
  Runner runner(model, variant, data);
  const std::string report = runner.model().compile_report(variant.micro_batch, data.fields());
  return report.substr(report.find("memory of the devices"));
}

int run(const std::string& model, int64_t micro_batch, const std::string& precisions, bool off) {
  const Dataset data = samples_of(zoo_entry(model), 8 * micro_batch);
  fmt::print("## {}, micro-batches of {}\n", model, micro_batch);
  std::vector<Variant> list = variants(micro_batch, precisions);
  if (off) add_without_winograd(list);
  print_ratios(model, data, list);
  if (!precisions.empty()) return 0;
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
                             argc > 2 ? std::stoll(argv[2]) : 32, argc > 3 ? argv[3] : "",
                             argc > 4);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "half_bench: %s\n", error.what());
    return 1;
  }
}
