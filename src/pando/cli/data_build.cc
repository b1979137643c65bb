// `pando data build-...`: converts published data sets to the files that training reads.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include <fmt/core.h>

#include "pando/app/job/exit_code.h"
#include "pando/app/job/stop_signal.h"
#include "pando/base/paths.h"
#include "pando/cli/data_verbs.h"
#include "pando/data/sources/imagenet/build.h"

namespace pando::cli {
namespace {

struct BuildWords {
  std::string source;
  std::string folder;
  int64_t seed = 0;
};

void add_build_flags(OptionTable& table, BuildWords& words, ImagenetBuildOptions& options) {
  table.add_positional("SOURCE", words.source, "the folder with train and validation");
  table.add_positional("DIR", words.folder, "the folder to make");
  table.add("train-shards", options.train_shards, "files of training images")
      .with_hint("N")
      .at_least(1);
  table.add("validation-shards", options.validation_shards, "files of validation images")
      .with_hint("N")
      .at_least(1);
  table.add("workers", options.workers, "threads, one file each").with_hint("N").at_least(1);
  table.add_choice("on-bad-record", options.on_bad_record,
                   {{"error", OnBadRecord::error}, {"skip", OnBadRecord::skip}},
                   "an image that cannot be read ends the build, or is left out and listed");
  table.add("synsets", options.synsets, "the synsets in the order of labels, one per line")
      .with_hint("FILE");
  table.add("metadata", options.metadata, "the texts of synsets: synset, tab, text")
      .with_hint("FILE");
  table
      .add("validation-labels", options.validation_labels,
           "the synsets of the validation images, one per line, or Kaggle's list")
      .with_hint("FILE");
  table
      .add("bounding-boxes", options.bounding_boxes,
           "a file of lines image,xmin,ymin,xmax,ymax or a folder of XML annotations")
      .with_hint("FILE");
  table.add("seed", words.seed, "seed of the order of the images").with_hint("N").at_least(0);
}

// Prints a line whenever another percent of the images is done.
class ProgressLines {
 public:
  explicit ProgressLines(std::ostream& out) : out_(out) {}

  void operator()(const ImagenetBuildProgress& at) {
    const int64_t percent = 100 * at.images / std::max<int64_t>(at.all_images, 1);
    if (percent <= shown_) return;
    shown_ = percent;
    out_ << fmt::format("{:>3} %  {} of {} images, {} of {} files\n", percent, at.images,
                        at.all_images, at.shards, at.all_shards)
         << std::flush;
  }

 private:
  std::ostream& out_;
  int64_t shown_ = 0;
};

void print_report(const ImagenetBuildReport& report, const std::string& folder, std::ostream& out) {
  out << fmt::format("{} training and {} validation images are in {}\n", report.train,
                     report.validation, folder);
  if (report.kept_shards > 0) {
    out << fmt::format("{} of the files were built before\n", report.kept_shards);
  }
  if (report.converted > 0) {
    out << fmt::format("{} images were not RGB or grey JPEGs and were encoded again\n",
                       report.converted);
  }
  if (!report.skipped.empty()) out << to_string(report.skipped) << "\n";
}

}  // namespace

int data_build_imagenet(Arguments args, std::ostream& out) {
  BuildWords words;
  ImagenetBuildOptions options;
  options.workers = default_workers();
  const bool go = parse_verb(
      args, out,
      "usage: pando data build-imagenet SOURCE DIR [flags]\n\n"
      "Makes the record files of ImageNet and labels.txt from the images of ILSVRC2012 in "
      "SOURCE/train/<synset>\nand SOURCE/validation or SOURCE/validation/<synset>; validation may "
      "also be called val or test. SOURCE may be\nwhat Kaggle's archive unpacks to, with "
      "ILSVRC/Data/CLS-LOC, LOC_val_solution.csv and LOC_synset_mapping.txt.\nA build that was "
      "stopped continues when it is started again. Files that no flag names are searched for in\n"
      "SOURCE under their usual names.\n\n",
      [&](OptionTable& table) { add_build_flags(table, words, options); });
  if (!go) return app::kDone;
  if (!is_folder(words.source)) {
    throw UsageError("SOURCE: expected the folder with train and validation, got '", words.source,
                     "', which is not a folder");
  }
  options.seed = static_cast<uint64_t>(words.seed);
  const app::StopSignal signal(
      "\nstopping after this image; another signal, after a second, ends at once\n");
  options.stop = &signal.wanted();
  options.progress = ProgressLines(out);
  const ImagenetBuildReport report = build_imagenet(words.source, words.folder, options);
  print_report(report, words.folder, out);
  if (report.finished) return app::kDone;
  out << "stopped; run the same command to continue\n";
  return app::kStopped;
}

}  // namespace pando::cli
