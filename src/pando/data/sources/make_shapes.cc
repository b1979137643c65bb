// SPDX-License-Identifier: MIT
#include "pando/data/sources/make_shapes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "pando/base/error.h"
#include "pando/base/new_file.h"
#include "pando/base/random.h"
#include "pando/data/image/png.h"

namespace pando {

namespace {

using ShapeColour = std::array<float, 3>;

constexpr int64_t kLeastShapesSide = 16;
constexpr int64_t kMostShapesSide = 4096;
constexpr float kShapesNoise = 10;  // its standard deviation
constexpr float kClearDifference =
    90;  // of the colours of a shape and the ground, over all channels

enum class ShapeKind : uint8_t { circle = 1, square = 2 };  // their class numbers

struct PlacedShape {
  ShapeKind kind = ShapeKind::circle;
  float y = 0;  // of the centre
  float x = 0;
  float reach = 0;  // from the centre to the edge
  ShapeColour colour;

  bool covers(float row, float column) const {
    const float dy = row - y;
    const float dx = column - x;
    if (kind == ShapeKind::circle) return dy * dy + dx * dx <= reach * reach;
    return std::max(std::abs(dy), std::abs(dx)) <= reach;
  }
};

float in_range(RandomStream& random, float low, float high) {
  return low + (high - low) * random.next_uniform();
}

ShapeColour any_colour(RandomStream& random) {
  ShapeColour colour{};
  for (float& value : colour) value = in_range(random, 20, 235);
  return colour;
}

float difference_of(const ShapeColour& a, const ShapeColour& b) {
  float sum = 0;
  for (size_t c = 0; c < a.size(); ++c) sum += std::abs(a[c] - b[c]);
  return sum;
}

PlacedShape place_shape(RandomStream& random, float side, const ShapeColour& ground) {
  PlacedShape shape;
  shape.kind = random.next_below(2) == 0 ? ShapeKind::circle : ShapeKind::square;
  shape.reach = in_range(random, side / 12, side / 5);
  shape.y = in_range(random, shape.reach, side - shape.reach);
  shape.x = in_range(random, shape.reach, side - shape.reach);
  do {
    shape.colour = any_colour(random);
  } while (difference_of(shape.colour, ground) < kClearDifference);
  return shape;
}

void check(const MakeShapesOptions& options) {
  if (options.train < 1 || options.validation < 1) {
    throw InvalidArgument("make_shapes: expected at least 1 picture in each part, got ",
                          options.train, " for training and ", options.validation,
                          " for validation");
  }
  if (options.size < kLeastShapesSide || options.size > kMostShapesSide) {
    throw InvalidArgument("make_shapes: expected a size of ", kLeastShapesSide, " to ",
                          kMostShapesSide, ", got ", options.size);
  }
}

std::string number_name(int64_t number) {
  const std::string digits = std::to_string(number);
  return std::string(5 - std::min<size_t>(digits.size(), 5), '0') + digits + ".png";
}

void write_png(const std::filesystem::path& path, const Image& image) {
  const std::vector<uint8_t> bytes = encode_png(image.view());
  write_new_file(path.string(), std::as_bytes(std::span(bytes)));
}

void write_shapes(const std::filesystem::path& folder, int64_t count, int64_t size, uint64_t key) {
  std::filesystem::create_directories(folder / "images");
  std::filesystem::create_directories(folder / "masks");
  for (int64_t i = 0; i < count; ++i) {
    const data::ShapesPicture made =
        data::draw_shapes(size, mix_keys(key, static_cast<uint64_t>(i)));
    write_png(folder / "images" / number_name(i), made.picture);
    write_png(folder / "masks" / number_name(i), made.mask);
  }
}

}  // namespace

data::ShapesPicture data::draw_shapes(int64_t size, uint64_t key) {
  RandomStream random(key);
  const auto side = static_cast<float>(size);
  const ShapeColour ground = any_colour(random);
  const float shade_y = in_range(random, -30, 30);  // how much brighter the far side is
  const float shade_x = in_range(random, -30, 30);
  std::vector<PlacedShape> shapes(1 + random.next_below(4));
  for (PlacedShape& shape : shapes) shape = place_shape(random, side, ground);
  ShapesPicture made{.picture = Image({size, size}), .mask = Image({size, size}, 1)};
  for (int64_t y = 0; y < size; ++y) {
    for (int64_t x = 0; x < size; ++x) {
      const float row = static_cast<float>(y) + 0.5f;
      const float column = static_cast<float>(x) + 0.5f;
      const auto top = std::find_if(shapes.rbegin(), shapes.rend(), [&](const PlacedShape& shape) {
        return shape.covers(row, column);
      });
      const bool is_shape = top != shapes.rend();
      made.mask.row(y)[x] = is_shape ? static_cast<uint8_t>(top->kind) : 0;
      const float shade = shade_y * (row / side - 0.5f) + shade_x * (column / side - 0.5f);
      for (size_t c = 0; c < 3; ++c) {
        const float value =
            (is_shape ? top->colour[c] : ground[c] + shade) + kShapesNoise * random.next_normal();
        made.picture.row(y)[3 * x + static_cast<int64_t>(c)] =
            static_cast<uint8_t>(std::lround(std::clamp(value, 0.0f, 255.0f)));
      }
    }
  }
  return made;
}

void make_shapes(const std::string& folder, const MakeShapesOptions& options) {
  check(options);
  const std::filesystem::path root = folder;
  const uint64_t key = mix_keys(hash_name("shapes"), options.seed);
  try {
    write_shapes(root / "train", options.train, options.size, mix_keys(key, 0));
    write_shapes(root / "validation", options.validation, options.size, mix_keys(key, 1));
  } catch (const std::filesystem::filesystem_error& error) {
    throw IoError(folder, ": cannot make folders: ", error.code().message());
  }
  write_lines((root / "labels.txt").string(), {"background", "circle", "square"});
}

}  // namespace pando
