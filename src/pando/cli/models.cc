// `pando models`: lists the model zoo.
// SPDX-License-Identifier: MIT
#include <fmt/core.h>

#include "pando/base/json.h"
#include "pando/base/strings.h"
#include "pando/cli/listing.h"
#include "pando/cli/program.h"
#include "pando/zoo/zoo.h"

namespace pando::cli {

namespace {

void print_table(std::ostream& out) {
  out << fmt::format("{:<16} {:>12} {:>14} {:<16} {:<14} {}\n", "model", "parameters",
                     "MFLOP/sample", "input", "made for", "what it is");
  for (const ZooEntry& entry : model_zoo()) {
    const Network network = entry.build(entry.input_shape, entry.outputs);
    out << fmt::format("{:<16} {:>12} {:>14.2f} {:<16} {:<14} {}\n", entry.name,
                       with_thousands(network.trainable_parameters()), forward_flops(network) / 1e6,
                       to_string(entry.input_shape), entry.dataset, entry.description);
  }
  out << "(trainable parameters; one forward pass, convolutions and dense layers)\n";
}

void print_json(std::ostream& out) {
  Json list = Json::array();
  for (const ZooEntry& entry : model_zoo()) {
    const Network network = entry.build(entry.input_shape, entry.outputs);
    list.push_back(
        {{"name", entry.name},
         {"parameters", network.trainable_parameters()},
         {"non_trainable_parameters", network.parameters() - network.trainable_parameters()},
         {"forward_flops", forward_flops(network)},
         {"input_shape", entry.input_shape.dims()},
         {"dataset", entry.dataset},
         {"description", entry.description}});
  }
  out << list.dump(2) << "\n";
}

}  // namespace

int command_models(std::span<const std::string> args, std::ostream& out) {
  const ListingForm form = parse_listing_flags(
      args, out,
      "usage: pando models [flags]\n\nLists the models that --model of `pando train` takes.\n\n");
  if (form == ListingForm::json) print_json(out);
  if (form == ListingForm::table) print_table(out);
  return 0;
}

}  // namespace pando::cli
