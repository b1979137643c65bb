// Resizing of pictures.
// SPDX-License-Identifier: MIT
#include <cmath>

#include "pando/base/error.h"
#include "pando/onnx/importer_impl.h"

namespace pando::onnx {
namespace {

constexpr double kMostResizedExtent = 1 << 20;

struct Target {
  std::vector<int64_t> sizes;  // of the spatial axes
  std::vector<double> scales;  // empty: the sizes say it
};

// The numbers of all axes must leave samples and channels alone.
Target target_of(const NodeProto& node, const std::vector<int64_t>& dims, const Constant& numbers,
                 bool are_sizes) {
  if (numbers.elements() != std::ssize(dims)) {
    throw Unsupported(label(node), ": expected a number for each of ", dims.size(), " axes, got ",
                      numbers.elements());
  }
  Target target;
  bool is_ratio = true;  // of the sizes, as far as 32 bits hold it
  for (size_t i = 0; i < dims.size(); ++i) {
    const double number = numbers.number(i);
    const bool stays = are_sizes ? static_cast<int64_t>(number) == dims[i] || i == 0 : number == 1;
    if (i < 2 && !stays) throw Unsupported(label(node), ": samples or channels change");
    if (i < 2) continue;
    // In 32 bits, as ONNX Runtime has it: 6 pixels times 5/3 are 10, although the scale is less.
    const float scaled = static_cast<float>(dims[i]) * static_cast<float>(number);
    const double size = are_sizes ? number : std::floor(static_cast<double>(scaled));
    if (!(size >= 1 && size <= kMostResizedExtent)) {
      throw InvalidArgument(label(node), ": axis ", i, " gets ", size, " elements");
    }
    target.sizes.push_back(static_cast<int64_t>(size));
    if (are_sizes) continue;
    target.scales.push_back(number);
    const float ratio = static_cast<float>(size) / static_cast<float>(dims[i]);
    is_ratio = is_ratio && ratio == static_cast<float>(number);
  }
  // A third in 32 bits is not a third: a pixel next to the right one would be the nearest where
  // positions lie on pixels or between two of them.
  if (is_ratio) target.scales.clear();
  return target;
}

void give_resized(Importer& importer, const NodeProto& node, const Target& target,
                  const std::string& coordinates, const std::string& nearest) {
  const Value& value = importer.operand(node, 0);
  const std::string mode = text_attribute(node, "mode", "nearest");
  if (mode != "nearest" && mode != "linear") {
    throw Unsupported(label(node), ": expected mode nearest or linear, got ", mode);
  }
  if (value.order.size() < 3) throw Unsupported(label(node), ": expected a picture");
  const Computed y = importer.apply(node,
                                    {.class_name = "Resize",
                                     .op = "resize",
                                     .attributes = {{"size", ir::Ints(target.sizes)},
                                                    {"scales", ir::Numbers(target.scales)},
                                                    {"mode", mode},
                                                    {"coordinates", coordinates},
                                                    {"nearest", nearest}}},
                                    {importer.channels_last(value)});
  importer.give(node, y, channels_last_order(value.order.size()));
}

// tf_half_pixel_for_nn places pixels half a pixel after half_pixel, which another rounding takes
// back for the nearest pixel. Leaves other forms as they are.
void without_tf_form(const NodeProto& node, std::string& coordinates, std::string& nearest) {
  const bool floors = nearest == "floor";
  if (text_attribute(node, "mode", "nearest") != "nearest") return;
  if (!floors && nearest != "round_prefer_floor") return;
  coordinates = "half_pixel";
  nearest = floors ? "round_prefer_ceil" : "ceil";
}

void import_resize(Importer& importer, const NodeProto& node) {
  const std::vector<int64_t> dims = importer.operand(node, 0).dims();
  if (importer.opset() < 11) {  // the second operand are the scales
    return give_resized(importer, node,
                        target_of(node, dims, importer.need(node, 1, "the scales"), false),
                        "asymmetric", "floor");
  }
  std::string coordinates = text_attribute(node, "coordinate_transformation_mode", "half_pixel");
  std::string nearest = word_attribute(
      node, "nearest_mode", {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  if (coordinates == "tf_half_pixel_for_nn") without_tf_form(node, coordinates, nearest);
  const bool known = coordinates == "half_pixel" || coordinates == "half_pixel_symmetric" ||
                     coordinates == "pytorch_half_pixel" || coordinates == "align_corners" ||
                     coordinates == "asymmetric";
  if (!known || int_attribute(node, "antialias", 0) != 0 || node.find("axes") != nullptr) {
    throw Unsupported(label(node), ": ", known ? "antialias or axes" : coordinates);
  }
  const bool sizes = importer.has(node, 3) && importer.need(node, 3, "the sizes").elements() > 0;
  const Constant& numbers = importer.need(node, sizes ? 3 : 2, "the size");
  give_resized(importer, node, target_of(node, dims, numbers, sizes), coordinates, nearest);
}

void import_upsample(Importer& importer, const NodeProto& node) {
  const std::vector<int64_t> dims = importer.operand(node, 0).dims();
  Constant scales;
  if (importer.has(node, 1)) {
    scales = importer.need(node, 1, "the scales");
  } else if (const AttributeProto* given = node.find("scales")) {
    scales = {
        .dims = {std::ssize(given->floats)}, .is_real = true, .reals = given->floats, .ints = {}};
  }
  give_resized(importer, node, target_of(node, dims, scales, false), "asymmetric", "floor");
}

}  // namespace

std::vector<OpImport> resize_imports() {
  return {{"Resize", import_resize}, {"Upsample", import_upsample}};
}

}  // namespace pando::onnx
