// SPDX-License-Identifier: MIT
#include "pando/app/flags/tuning_flags.h"

#include "pando/app/job/exit_code.h"
#include "pando/base/error.h"
#include "pando/base/strings.h"
#include "pando/options/byte_size.h"

namespace pando::app {
namespace {

constexpr int64_t kMostClasses = 1 << 24;

std::optional<int64_t> number_of_classes(const std::string& text) {
  const std::optional<int64_t> number = parse_int(text);
  return number && *number >= 1 && *number <= kMostClasses ? number : std::nullopt;
}

}  // namespace

std::string TuningFlags::last_frozen() const {
  return freeze.starts_with(kUntil) ? freeze.substr(std::string(kUntil).size()) : "";
}

int64_t TuningFlags::classes_for(int64_t of_data) const {
  if (!replaces_head() || classes == kAuto) return of_data;
  const int64_t wanted = number_of_classes(classes).value();
  if (wanted < of_data) {
    throw UsageError("--classes ", wanted, ": the data have ", of_data,
                     " classes; expected at least as many, or --classes auto");
  }
  return wanted;
}

void add_tuning_flags(OptionTable& table, TuningFlags& flags) {
  table.begin_group("Fine-tuning");
  table
      .add("classes", flags.classes,
           "replace the classifier, the last dense layer or convolution of 1x1, by a new one for "
           "this "
           "many classes; auto: as many as the data have. The other layers keep the weights of "
           "--model or --weights")
      .with_hint("N|auto");
  using Text = std::optional<std::string>;
  table.add_choice<Text>("preprocessing", flags.preprocessing,
                         {{"torchvision", Text("torchvision")},
                          {"tf", Text("tf")},
                          {"scale", Text("scale")},
                          {"none", Text("none")}},
                         "what the network of a file expects of pixels, if the file does not say "
                         "it: normalised by the mean and deviation of ImageNet, -1 to 1, 0 to 1, "
                         "or as they are, 0 to 255. Default: as usual for the data set");
  table
      .add("freeze", flags.freeze,
           "layers that keep their weights: all but the classifier, all up to the layer NAME, or "
           "none. Frozen layers behave as in validation: batch normalisation uses its moving "
           "statistics, dropout does nothing. Default: the layers with weights that the file of "
           "--model declares as not trainable")
      .with_hint("all|until:NAME|none");
  table
      .add("unfreeze-after", flags.unfreeze_after,
           "train all layers after this many epochs; 0: frozen layers stay frozen")
      .with_hint("EPOCHS")
      .at_least(0);
  table
      .add("head-learning-rate", flags.head_learning_rate,
           "the learning rate of the classifier where --learning-rate is that of all other layers; "
           "a schedule changes both in the same way. Default: --learning-rate")
      .with_hint("X")
      .above(0);
  table
      .add("feature-cache", flags.feature_cache,
           "while layers are frozen and pictures are not changed at random, compute what these "
           "layers give for each sample once and keep it: in memory up to this many bytes (auto: a "
           "quarter of what is free), above that in a file in the run directory; off: compute it "
           "again in every epoch. The results have the same bits")
      .has(Effect::none)
      .with_hint("auto|off|BYTES");
}

void validate(const TuningFlags& flags, bool has_weights) {
  if (flags.replaces_head() && flags.classes != TuningFlags::kAuto &&
      !number_of_classes(flags.classes)) {
    throw UsageError("--classes: expected auto or a number from 1 to ", kMostClasses, ", got '",
                     flags.classes, "'");
  }
  if (flags.freezes() && flags.freeze != "all" && flags.last_frozen().empty()) {
    throw UsageError("--freeze: expected all, none or until: and the name of a layer, got '",
                     flags.freeze, "'");
  }
  if (flags.freezes() && !has_weights) {
    throw UsageError("--freeze ", flags.freeze,
                     ": frozen layers need trained weights; give them with --model FILE or "
                     "--weights FILE");
  }
  if (flags.unfreeze_after > 0 && !flags.freezes()) {
    throw UsageError("--unfreeze-after ", flags.unfreeze_after,
                     ": no layer is frozen; add --freeze all or --freeze until:NAME");
  }
  if (flags.feature_cache != TuningFlags::kAuto && flags.feature_cache != "off" &&
      !parse_byte_size(flags.feature_cache)) {
    throw UsageError("--feature-cache: expected auto, off or ", OptionType<ByteSize>::kWanted,
                     ", got '", flags.feature_cache, "'");
  }
}

}  // namespace pando::app
