// SPDX-License-Identifier: MIT
#include "pando/data/image/geometry.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "pando/base/error.h"

namespace pando {

namespace {

int64_t uniform_from(RandomStream& random, int64_t first, int64_t last) {
  return first + static_cast<int64_t>(random.next_below(static_cast<uint64_t>(last - first) + 1));
}

int64_t width_for(int64_t height, double aspect) {
  return std::llrint(static_cast<double>(height) * aspect);
}

// The size of a box with this aspect whose area is within the bounds, or nothing.
std::optional<ImageSize> random_size(RandomStream& random, const ImageSize& image, double aspect,
                                     const DistortedBoxOptions& options) {
  const auto pixels = static_cast<double>(image.pixels());
  const double least = options.min_area * pixels;
  const double most = options.max_area * pixels;
  int64_t highest = std::min<int64_t>(std::llrint(std::sqrt(most / aspect)), image.height);
  // The highest box that is no wider than the image: width_for() rounds, so one step may be over.
  if (width_for(highest, aspect) > image.width) {
    highest = static_cast<int64_t>((static_cast<double>(image.width) + 0.5) / aspect);
    if (width_for(highest, aspect) > image.width) --highest;
  }
  const int64_t lowest = std::min<int64_t>(std::llrint(std::sqrt(least / aspect)), highest);
  int64_t height = uniform_from(random, lowest, highest);
  const auto area = [&] { return static_cast<double>(height * width_for(height, aspect)); };
  if (area() < least) ++height;  // rounded out of the bounds: the neighbour may be within
  if (area() > most) --height;
  const int64_t width = width_for(height, aspect);
  const bool fits = area() >= least && area() <= most && height >= 1 && width >= 1 &&
                    height <= image.height && width <= image.width;
  return fits ? std::optional(ImageSize{height, width}) : std::nullopt;
}

int64_t overlap(int64_t a, int64_t a_end, int64_t b, int64_t b_end) {
  return std::max<int64_t>(std::min(a_end, b_end) - std::max(a, b), 0);
}

bool covers(const PixelBox& box, const ImageSize& image, const ObjectBox& object,
            float min_covered) {
  // Files may hold any numbers: coordinates outside the image count as its edge, NaN counts as 0.
  const auto scaled = [](float part, int64_t whole) {
    const float inside = part > 0 ? std::min(part, 1.0f) : 0.0f;
    return static_cast<int64_t>(inside * static_cast<float>(whole));
  };
  const int64_t y = scaled(object.y_min, image.height);
  const int64_t x = scaled(object.x_min, image.width);
  const int64_t y_end = scaled(object.y_max, image.height);
  const int64_t x_end = scaled(object.x_max, image.width);
  if (y_end <= y || x_end <= x) return false;  // nothing to cover
  const int64_t common =
      overlap(box.y, box.y + box.height, y, y_end) * overlap(box.x, box.x + box.width, x, x_end);
  return static_cast<float>(common) >= min_covered * static_cast<float>((y_end - y) * (x_end - x));
}

bool covers_any(const PixelBox& box, const ImageSize& image, std::span<const ObjectBox> objects,
                float min_covered) {
  if (objects.empty()) return covers(box, image, ObjectBox{}, min_covered);
  return std::any_of(objects.begin(), objects.end(), [&](const ObjectBox& object) {
    return covers(box, image, object, min_covered);
  });
}

void check(const ImageSize& image, const DistortedBoxOptions& options) {
  if (image.height < 1 || image.width < 1) {
    throw InvalidArgument("distorted box: image of ", image, ", expected at least one pixel");
  }
  if (!(options.min_aspect > 0 && options.min_aspect <= options.max_aspect)) {
    throw InvalidArgument("distorted box: aspects ", options.min_aspect, " to ", options.max_aspect,
                          ", expected 0 < least <= most");
  }
  if (!(options.min_area > 0 && options.min_area <= options.max_area && options.max_area <= 1)) {
    throw InvalidArgument("distorted box: areas ", options.min_area, " to ", options.max_area,
                          ", expected 0 < least <= most <= 1");
  }
}

}  // namespace

RandomStream sample_random(uint64_t seed, int64_t epoch, int64_t index) {
  static const uint64_t kPurpose = hash_name("augment");
  return RandomStream(mix_keys(mix_keys(mix_keys(kPurpose, seed), static_cast<uint64_t>(epoch)),
                               static_cast<uint64_t>(index)));
}

bool random_flip(RandomStream& random) { return (random.next_word() >> 31) != 0; }

CropFlip random_crop_flip(RandomStream& random, const ImageSize& image, const ImageSize& target,
                          int64_t border) {
  const ImageSize bordered = {image.height + 2 * border, image.width + 2 * border};
  if (target.height > bordered.height || target.width > bordered.width) {
    throw InvalidArgument("random crop: target ", target, " is larger than the image of ", image,
                          " with a border of ", border);
  }
  const bool flip = random_flip(random);
  const int64_t y = uniform_from(random, 0, bordered.height - target.height) - border;
  const int64_t x = uniform_from(random, 0, bordered.width - target.width) - border;
  return {.y = y, .x = x, .flip = flip};
}

PixelBox distorted_box(RandomStream& random, const ImageSize& image,
                       std::span<const ObjectBox> objects, const DistortedBoxOptions& options) {
  check(image, options);
  for (int attempt = 0; attempt < options.attempts; ++attempt) {
    const double aspect =
        options.min_aspect + random.next_uniform() * (options.max_aspect - options.min_aspect);
    const std::optional<ImageSize> size = random_size(random, image, aspect, options);
    if (!size) continue;
    const int64_t y = uniform_from(random, 0, image.height - size->height);
    const int64_t x = uniform_from(random, 0, image.width - size->width);
    const PixelBox box = {y, x, size->height, size->width};
    if (covers_any(box, image, objects, options.min_object_covered)) return box;
  }
  return whole(image);
}

ImageSize with_short_side(const ImageSize& image, int64_t short_side) {
  const int64_t shorter = std::min(image.height, image.width);
  if (shorter < 1 || short_side < 1) {
    throw InvalidArgument("resize of an image of ", image, " to a short side of ", short_side,
                          ", expected at least 1");
  }
  return {image.height * short_side / shorter, image.width * short_side / shorter};
}

PixelBox central_crop(const ImageSize& image, const ImageSize& target) {
  if (target.height > image.height || target.width > image.width) {
    throw InvalidArgument("central crop: target ", target, " is larger than the image of ", image);
  }
  return {(image.height - target.height) / 2, (image.width - target.width) / 2, target.height,
          target.width};
}

RealBox central_box(const ImageSize& image, int64_t short_side, const ImageSize& target) {
  const ImageSize resized = with_short_side(image, short_side);
  const RealBox crop = real(central_crop(resized, target));
  const double y_scale = static_cast<double>(image.height) / static_cast<double>(resized.height);
  const double x_scale = static_cast<double>(image.width) / static_cast<double>(resized.width);
  return {crop.y * y_scale, crop.x * x_scale, crop.height * y_scale, crop.width * x_scale};
}

}  // namespace pando
