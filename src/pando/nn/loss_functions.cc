// Losses of binary and rare labels, of outliers and of masks.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/nn/loss_support.h"

namespace pando {

namespace {

void check_range(const std::string& loss, const char* option, bool fits, const char* expected,
                 double got) {
  if (fits) return;
  throw InvalidArgument(loss, ": ", option, ": expected ", expected, ", got ", got);
}

struct EntropyLoss {
  std::string name;
  std::string op;
  const char* probability_op;  // what makes probabilities of logits
  LabelKind labels = LabelKind::values;
  CrossentropyOptions options;
  double gamma = 0;
  double alpha = -1;  // negative: none
};

Loss entropy_loss(const EntropyLoss& loss) {
  const double smoothing = loss.options.label_smoothing;
  check_range(loss.name, "label_smoothing", smoothing >= 0 && smoothing <= 1, "0 to 1", smoothing);
  check_range(loss.name, "gamma", loss.gamma >= 0, "0 or more", loss.gamma);
  check_range(loss.name, "alpha", loss.alpha <= 1, "at most 1", loss.alpha);
  return {loss.name, loss.labels, [loss](const LossInputs& in) {
            const nn::LossOutput output =
                nn::loss_output(in.output, loss.options.from_logits, loss.probability_op);
            ir::Attributes attributes = {{"from_logits", int64_t{output.from_logits ? 1 : 0}},
                                         {"label_smoothing", loss.options.label_smoothing}};
            if (loss.gamma != 0) attributes.set("gamma", loss.gamma);
            if (loss.alpha >= 0) attributes.set("alpha", loss.alpha);
            return nn::append_loss(in, loss.op, output.value, std::move(attributes));
          }};
}

Loss one_number_loss(std::string op, const char* attribute, double value) {
  check_range(op, attribute, value > 0, "a number above 0", value);
  return {op, LabelKind::values, [=](const LossInputs& in) {
            return nn::append_loss(in, op, in.output, {{attribute, value}});
          }};
}

// The op takes a negative number for "no factor".
void check_alpha(const char* loss, double alpha) {
  if (alpha >= 0 && alpha <= 1) return;
  throw InvalidArgument(loss, ": alpha: expected 0 to 1, got ", alpha);
}

}  // namespace

Loss BinaryCrossentropy(CrossentropyOptions options) {
  return entropy_loss({.name = "binary_crossentropy",
                       .op = "binary_cross_entropy",
                       .probability_op = "sigmoid",
                       .options = options});
}

Loss BinaryFocalCrossentropy(FocalOptions options) {
  check_alpha("BinaryFocalCrossentropy", options.alpha);
  return entropy_loss({.name = "binary_focal_crossentropy",
                       .op = "binary_cross_entropy",
                       .probability_op = "sigmoid",
                       .options = {options.from_logits, options.label_smoothing},
                       .gamma = options.gamma,
                       .alpha = options.apply_class_balancing ? options.alpha : -1});
}

Loss CategoricalFocalCrossentropy(FocalOptions options) {
  check_alpha("CategoricalFocalCrossentropy", options.alpha);
  return entropy_loss({.name = "categorical_focal_crossentropy",
                       .op = "cross_entropy",
                       .probability_op = "softmax",
                       .labels = options.sparse ? LabelKind::classes : LabelKind::values,
                       .options = {options.from_logits, options.label_smoothing},
                       .gamma = options.gamma,
                       .alpha = options.alpha});
}

Loss Huber(HuberOptions options) { return one_number_loss("huber", "delta", options.delta); }
Loss Dice(DiceOptions options) { return one_number_loss("dice", "smooth", options.smooth); }

}  // namespace pando
