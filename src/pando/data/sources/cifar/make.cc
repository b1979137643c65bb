// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <numbers>

#include "pando/base/random.h"
#include "pando/data/sources/cifar/batch.h"

namespace pando {

namespace {

using Colour = std::array<float, 3>;

constexpr int kColours = 5;
constexpr float kTurn = 2 * std::numbers::pi_v<float>;

// One image before it is painted.
struct Picture {
  Colour ground;
  float shade_x, shade_y;  // how the ground brightens along the axes
  Colour disc;
  float centre_x, centre_y, radius;
  float wave_x, wave_y, phase;  // of the stripes
};

float between(RandomStream& random, float low, float high) {
  return low + (high - low) * random.next_uniform();
}

// A saturated colour on the circle of hues; `hue` in turns.
Colour colour_of(float hue, float brightness) {
  Colour colour{};
  for (size_t c = 0; c < 3; ++c) {
    const float angle = kTurn * (hue - static_cast<float>(c) / 3);
    colour[c] = brightness * (0.55f + 0.45f * std::cos(angle));
  }
  return colour;
}

Picture draw(int32_t label, RandomStream& random) {
  Picture picture{};
  for (float& channel : picture.ground) channel = between(random, 50, 170);
  picture.shade_x = between(random, -2, 2);
  picture.shade_y = between(random, -2, 2);
  // Hues lie 0.2 apart and vary by 0.12 either way: neighbours overlap.
  const auto colour = static_cast<float>(label % kColours);
  const float hue = colour / kColours + between(random, -0.12f, 0.12f);
  picture.disc = colour_of(hue, between(random, 150, 250));
  picture.radius = between(random, 7, 12);
  picture.centre_x = between(random, 9, 23);
  picture.centre_y = between(random, 9, 23);
  // Horizontal and vertical stripes stay the same in the horizontal flip of augmentation.
  const float direction = (label >= kColours ? 0.25f : 0.0f) + between(random, -0.05f, 0.05f);
  const float frequency = 1 / between(random, 4.5f, 7.5f);
  picture.wave_x = frequency * std::cos(kTurn * direction);
  picture.wave_y = frequency * std::sin(kTurn * direction);
  picture.phase = random.next_uniform();
  return picture;
}

void paint(const Picture& picture, RandomStream& random, uint8_t* pixels) {
  for (int row = 0; row < 32; ++row) {
    for (int column = 0; column < 32; ++column) {
      const float x = static_cast<float>(column);
      const float y = static_cast<float>(row);
      const float distance = std::hypot(x - picture.centre_x, y - picture.centre_y);
      const float inside = std::clamp(picture.radius - distance + 0.5f, 0.0f, 1.0f);
      const float wave =
          std::sin(kTurn * (picture.wave_x * x + picture.wave_y * y + picture.phase));
      const float shade = picture.shade_x * (x - 16) + picture.shade_y * (y - 16);
      for (size_t c = 0; c < 3; ++c) {
        const float ground = picture.ground[c] + shade;
        const float disc = picture.disc[c] * (0.7f + 0.3f * wave);
        const float value = ground + inside * (disc - ground) + between(random, -40, 40);
        *pixels++ = static_cast<uint8_t>(std::lround(std::clamp(value, 0.0f, 255.0f)));
      }
    }
  }
}

CifarImages make_part(int64_t count, uint64_t key) {
  CifarImages part{.images = Tensor(DType::u8, {count, 32, 32, 3}),
                   .labels = Tensor(DType::i32, {count}),
                   .coarse_labels = {}};
  const std::vector<int64_t> order = random_permutation(count, key);
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i);
    const auto label = static_cast<int32_t>(order[at] % 10);
    RandomStream random(mix_keys(key, static_cast<uint64_t>(i)));
    const Picture picture = draw(label, random);
    paint(picture, random, part.images.u8().data() + at * data::kCifarBytes);
    part.labels.i32()[at] = label;
  }
  return part;
}

}  // namespace

CifarFiles make_cifar10_images(const MakeCifarOptions& options) {
  if (options.train < 5 || options.test < 1) {
    throw InvalidArgument("make CIFAR-10: ", options.train, " training and ", options.test,
                          " test images, expected at least 5 and 1, one for each file");
  }
  return {.train = make_part(options.train, mix_keys(options.seed, hash_name("cifar10 train"))),
          .test = make_part(options.test, mix_keys(options.seed, hash_name("cifar10 test")))};
}

std::string make_cifar10(const std::string& folder, const MakeCifarOptions& options) {
  const CifarFiles files = make_cifar10_images(options);
  const auto form = options.python ? data::CifarForm::python : data::CifarForm::binary;
  const std::filesystem::path place =
      std::filesystem::path(folder) / data::cifar_layout(data::CifarKind::cifar10, form).folder;
  (options.python ? write_cifar10_python : write_cifar10_binary)(place.string(), files);
  return place.string();
}

}  // namespace pando
