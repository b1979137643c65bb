// SPDX-License-Identifier: MIT
#include "pando/data/sources/imagenet/picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "pando/base/random.h"
#include "pando/base/strings.h"

namespace pando::data {

namespace {

using Colour = std::array<float, 3>;

constexpr float kTurn = 2 * std::numbers::pi_v<float>;

enum class Form { disc, square, diamond, ring };

// The properties that distinguish classes; mirroring changes none of them.
struct Look {
  int colour;   // 0 to 4
  Form form;    // of 4
  int stripes;  // 0 to 4
  int ground;   // 0 to 9
};

Look look_of(int32_t label) {
  return {.colour = label % 5,
          .form = static_cast<Form>(label / 5 % 4),
          .stripes = label / 20 % 5,
          .ground = label / 100};
}

float between(RandomStream& random, float low, float high) {
  return low + (high - low) * random.next_uniform();
}

// A colour on the circle of hues; `hue` in turns.
Colour colour_of(float hue, float brightness, float saturation) {
  Colour colour{};
  for (size_t c = 0; c < 3; ++c) {
    const float angle = kTurn * (hue - static_cast<float>(c) / 3);
    colour[c] = brightness * (1 - saturation + saturation * std::cos(angle));
  }
  return colour;
}

// A picture before it is painted. Lengths are in pixels.
struct Scene {
  ImageSize size;
  Colour ground;
  float shade_x, shade_y;  // how much brighter the ground is at the far side
  Colour object;
  Form form;
  float centre_x, centre_y, radius;
  float wave, phase;  // stripes per pixel
};

ImageSize random_size(const ImageSize& size, RandomStream& random) {
  const auto side = [&](int64_t length) {
    return static_cast<int64_t>(static_cast<float>(length) * between(random, 0.75f, 1.25f));
  };
  const int64_t height = side(size.height);
  const int64_t width = side(size.width);
  return random.next_below(4) == 0 ? ImageSize{width, height} : ImageSize{height, width};
}

Scene draw(const Look& look, const ImageSize& size, RandomStream& random) {
  constexpr std::array<float, 5> kStripes = {2, 4, 6.5f, 10, 15};  // across an object
  Scene scene{};
  scene.size = random_size(size, random);
  const auto height = static_cast<float>(scene.size.height);
  const auto width = static_cast<float>(scene.size.width);
  const float ground_hue = static_cast<float>(look.ground) / 10 + between(random, -0.03f, 0.03f);
  scene.ground = colour_of(ground_hue, between(random, 90, 190), 0.2f);
  scene.shade_x = between(random, -60, 60);
  scene.shade_y = between(random, -60, 60);
  const float hue = static_cast<float>(look.colour) / 5 + between(random, -0.08f, 0.08f);
  scene.object = colour_of(hue, between(random, 150, 250), 0.45f);
  scene.form = look.form;
  scene.radius = std::min(height, width) * between(random, 0.2f, 0.4f);
  scene.centre_x = between(random, scene.radius, width - scene.radius);
  scene.centre_y = between(random, scene.radius, height - scene.radius);
  const float stripes = kStripes[static_cast<size_t>(look.stripes)] * between(random, 0.9f, 1.1f);
  scene.wave = stripes / (2 * scene.radius);
  scene.phase = random.next_uniform();
  return scene;
}

// How much of the pixel at (x, y) from the centre the object covers.
float coverage(const Scene& scene, float x, float y) {
  float inside = 0;
  switch (scene.form) {
    case Form::disc: inside = scene.radius - std::hypot(x, y); break;
    case Form::square: inside = scene.radius - std::max(std::abs(x), std::abs(y)); break;
    case Form::diamond: inside = scene.radius - std::abs(x) - std::abs(y); break;
    case Form::ring: {
      const float distance = std::hypot(x, y);
      inside = std::min(scene.radius - distance, distance - scene.radius / 2);
      break;
    }
  }
  return std::clamp(inside + 0.5f, 0.0f, 1.0f);
}

void paint(const Scene& scene, RandomStream& random, Image& image) {
  image.reset(scene.size);
  const auto height = static_cast<float>(scene.size.height);
  const auto width = static_cast<float>(scene.size.width);
  for (int64_t row = 0; row < scene.size.height; ++row) {
    uint8_t* pixel = image.row(row);
    const float y = static_cast<float>(row) + 0.5f;
    for (int64_t column = 0; column < scene.size.width; ++column) {
      const float x = static_cast<float>(column) + 0.5f;
      const float covered = coverage(scene, x - scene.centre_x, y - scene.centre_y);
      const float stripe =
          covered == 0 ? 0 : std::sin(kTurn * (scene.wave * (y - scene.centre_y) + scene.phase));
      const float shade = scene.shade_x * (x / width - 0.5f) + scene.shade_y * (y / height - 0.5f);
      const uint32_t noise = random.next_word();
      for (size_t c = 0; c < 3; ++c) {
        const float ground = scene.ground[c] + shade;
        const float object = scene.object[c] * (0.75f + 0.25f * stripe);
        const float grain = static_cast<float>((noise >> (8 * c)) & 31) - 15.5f;
        const float value = ground + covered * (object - ground) + grain;
        *pixel++ = static_cast<uint8_t>(std::lround(std::clamp(value, 0.0f, 255.0f)));
      }
    }
  }
}

}  // namespace

std::string picture_class_name(int32_t label) {
  constexpr std::array<const char*, 5> kColours = {"red", "yellow", "green", "blue", "magenta"};
  constexpr std::array<const char*, 4> kForms = {"disc", "square", "diamond", "ring"};
  constexpr std::array<const char*, 5> kStripes = {"", ", few stripes", ", stripes",
                                                   ", many stripes", ", fine stripes"};
  const Look look = look_of(label);
  std::string name =
      concat(kColours[static_cast<size_t>(look.colour)], " ",
             kForms[static_cast<size_t>(look.form)], kStripes[static_cast<size_t>(look.stripes)]);
  return look.ground == 0 ? name : concat(name, ", ground ", look.ground);
}

Picture make_picture(int32_t label, const ImageSize& size, uint64_t key) {
  RandomStream random(key);
  const Scene scene = draw(look_of(label), size, random);
  Picture picture;
  paint(scene, random, picture.image);
  const auto height = static_cast<float>(scene.size.height);
  const auto width = static_cast<float>(scene.size.width);
  picture.object = {.y_min = std::max(0.0f, (scene.centre_y - scene.radius) / height),
                    .x_min = std::max(0.0f, (scene.centre_x - scene.radius) / width),
                    .y_max = std::min(1.0f, (scene.centre_y + scene.radius) / height),
                    .x_max = std::min(1.0f, (scene.centre_x + scene.radius) / width)};
  return picture;
}

}  // namespace pando::data
