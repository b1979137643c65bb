// Reads any bytes as an image and cuts views for a network: boxes around objects of any place and
// size for training, the middle for validation. The last bytes choose the objects and the boxes.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "pando/base/error.h"
#include "pando/data/image/views.h"
#include "tests/fuzz/targets.h"

namespace pando {
namespace {

constexpr ImageSize kSize = {8, 8};
constexpr size_t kElements = 8 * 8 * 3;

// Floats with any bits: data sets contain boxes that are not numbers or lie far outside the image.
struct Choices {
  uint64_t seed = 0;
  std::array<ObjectBox, 2> objects = {};
  std::array<uint8_t, 4> shares = {};

  explicit Choices(fuzz::Input input) {
    const auto take = [&](auto& value) {
      const size_t count = std::min(sizeof(value), input.size());
      std::memcpy(&value, input.last(count).data(), count);
      input = input.first(input.size() - count);
    };
    take(seed);
    take(shares);
    take(objects);
  }
  DistortedBoxOptions box() const {
    const auto share = [&](size_t i) { return static_cast<float>(shares[i] + 1) / 256; };
    return {.min_object_covered = static_cast<float>(shares[0]) / 255,
            .min_aspect = share(1),
            .max_aspect = 1 + 4 * share(2),
            .min_area = share(3),
            .attempts = 10};
  }
};

void read_views(fuzz::Input input) {
  const Choices choices(input);
  ImageReader reader(input, "input", {.max_pixels = 1 << 16});
  Image scratch;
  std::array<uint8_t, kElements> bytes = {};
  read_train_view(reader, RandomStream(choices.seed), choices.objects,
                  {.size = kSize, .box = choices.box()}, scratch, PixelTarget(bytes));
  std::array<float, kElements> values = {};
  read_eval_view(reader, {.size = kSize, .short_side = 9}, scratch,
                 PixelTarget(values, normalise_imagenet()));
  PANDO_CHECK(std::ranges::all_of(values, [](float value) { return std::abs(value) < 3; }));
}

}  // namespace
}  // namespace pando

void pando::fuzz::views(Input input) {
  try {
    read_views(input);
  } catch (const IoError&) {
  } catch (const Unsupported&) {
  }
}
