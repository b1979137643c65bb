// Reads any bytes as a record of ImageNet. Expects a valid label, boxes and view of the image, or
// an error.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/data/sources/imagenet/imagenet.h"
#include "tests/fuzz/targets.h"

namespace pando {
namespace {

void read_record(fuzz::Input input) {
  const Example example(input, "input");
  const ImagenetExample record = read_imagenet_example(example, 10);
  PANDO_CHECK(record.label >= 0 && record.label < 10);
  for (const ObjectBox& box : record.objects) {
    PANDO_CHECK(box.x_min >= 0 && box.x_min < box.x_max && box.x_max <= 1);
    PANDO_CHECK(box.y_min >= 0 && box.y_min < box.y_max && box.y_max <= 1);
  }
  ImageReader reader(record.encoded, "input", {.max_pixels = 1 << 14});
  Image scratch;
  uint8_t view[8 * 8 * 3];
  read_train_view(reader, sample_random(0, 0, record.label), record.objects, {.size = {8, 8}},
                  scratch, PixelTarget(view));
  read_eval_view(reader, {.size = {8, 8}, .short_side = 9}, scratch, PixelTarget(view));
}

}  // namespace
}  // namespace pando

void pando::fuzz::imagenet(Input input) {
  try {
    read_record(input);
  } catch (const IoError&) {
  } catch (const Unsupported&) {
  }
}
