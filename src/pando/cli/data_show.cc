// `pando data show`: samples as a network gets them, as a PNG file.
// SPDX-License-Identifier: MIT
#include <fmt/core.h>

#include "pando/app/flags/augmentation_flags.h"
#include "pando/app/job/exit_code.h"
#include "pando/base/new_file.h"
#include "pando/cli/data_verbs.h"
#include "pando/data/image/png.h"
#include "pando/datasets/all_datasets.h"
#include "pando/datasets/tools/show.h"
#include "pando/options/output_place.h"

namespace pando::cli {

int data_show(Arguments args, std::ostream& out) {
  std::string name;
  std::string path;
  std::string output;
  ShowOptions options;
  app::AugmentationFlags augmentation;
  int64_t seed = 0;
  const bool go = parse_verb(
      args, out,
      "usage: pando data show NAME [PATH] [flags]\n\n"
      "Writes a PNG file with samples as training sees them and their labels.\n\n" +
          dataset_list(),
      [&](OptionTable& table) {
        table.add_positional("NAME", name, "the data set");
        table.add_positional("PATH", path, "the folder or file of the data set", false);
        table.add("output", output, "the file to write; NAME.png if not given").with_hint("FILE");
        table.add("samples", options.samples, "number of samples")
            .with_hint("N")
            .at_least(1)
            .at_most(10000);
        table.add("columns", options.columns, "samples side by side")
            .with_hint("N")
            .at_least(1)
            .at_most(100);
        table.add("augment", options.augment,
                  "augment as for training: mirror, crop, and what these flags ask for");
        app::add_picture_flags(table, augmentation);
        table.add_choice<bool>("split", options.test,
                               {{"train", false}, {"test", true}, {"validation", true}},
                               "the part to show");
        table.add("epoch", options.epoch, "epoch of the order and the augmentation")
            .with_hint("N")
            .at_least(0);
        table.add("seed", seed, "seed of the order and the augmentation")
            .with_hint("N")
            .at_least(0);
      });
  if (!go) return app::kDone;
  options.seed = static_cast<uint64_t>(seed);
  const DatasetRecord& record = dataset_record(name);
  app::validate(augmentation, record);
  options.augmentation = augmentation.choice();
  if (output.empty()) output = name + ".png";
  check_output_file("--output", output);
  const Image sheet = show_dataset(name, place_of(record, path), options);
  NewFile file(output);
  file.write(encode_png(sheet.view()));
  file.commit();
  out << fmt::format("{} ({}x{} pixels)\n", output, sheet.size.width, sheet.size.height);
  return app::kDone;
}

}  // namespace pando::cli
