// SPDX-License-Identifier: MIT
#include "pando/data/image/changes.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "pando/base/error.h"
#include "pando/base/random.h"
#include "pando/data/image/geometry.h"
#include "pando/data/image/pixel_ops.h"
#include "pando/data/image/warp.h"

namespace pando {

namespace {

constexpr double kLeastErased = 0.02;  // of the picture
constexpr double kMostErased = 0.33;
constexpr double kLeastErasedAspect = 0.3;  // height / width
constexpr double kMostErasedAspect = 3.3;
constexpr int kErasingAttempts = 10;

RandomStream random_of(const SampleKey& key, const char* purpose) {
  return sample_random(mix_keys(key.seed, hash_name(purpose)), key.epoch, key.index);
}

double uniform(RandomStream& random, double low, double high) {
  return low + random.next_uniform() * (high - low);
}

// An operation of RandAugment: its amount at magnitude 0 and at the largest one.
struct RandOperation {
  std::optional<ChangeKind> kind;  // nothing: identity
  double weakest = 0;
  double strongest = 0;
  bool has_sign = false;  // the difference from `weakest` has a random sign
};

constexpr std::array<RandOperation, 14> kRandOperations = {{
    {std::nullopt},
    {ChangeKind::auto_contrast},
    {ChangeKind::equalize},
    {ChangeKind::rotate, 0, 30, true},
    {ChangeKind::solarize, 255, 0},
    {ChangeKind::saturation, 1, 1.9, true},
    {ChangeKind::posterize, 8, 4},
    {ChangeKind::contrast, 1, 1.9, true},
    {ChangeKind::brightness, 1, 1.9, true},
    {ChangeKind::sharpness, 1, 1.9, true},
    {ChangeKind::shear_x, 0, 0.3, true},
    {ChangeKind::shear_y, 0, 0.3, true},
    {ChangeKind::translate_x, 0, 150.0 / 331.0, true},
    {ChangeKind::translate_y, 0, 150.0 / 331.0, true},
}};

void draw_randaugment(const RandAugment& options, const SampleKey& key, PictureChanges& changes) {
  RandomStream random = random_of(key, "randaugment");
  for (int i = 0; i < options.operations; ++i) {
    const RandOperation& operation = kRandOperations[random.next_below(kRandOperations.size())];
    const bool negative = random_flip(random) && operation.has_sign;
    if (!operation.kind) continue;
    const double distance =
        (operation.strongest - operation.weakest) * options.magnitude / kMostRandMagnitude;
    const double amount = operation.weakest + (negative ? -distance : distance);
    changes.add({.kind = *operation.kind, .amount = static_cast<float>(amount)});
  }
}

void draw_jitter(const ColorJitter& jitter, const SampleKey& key, PictureChanges& changes) {
  RandomStream random = random_of(key, "color jitter");
  const auto factor = [&](double strength) {
    return uniform(random, std::max(0.0, 1 - strength), 1 + strength);
  };
  struct Drawn {
    ChangeKind kind;
    double strength;
    double amount;
  };
  std::array<Drawn, 4> drawn = {{{ChangeKind::brightness, jitter.brightness, 0},
                                 {ChangeKind::contrast, jitter.contrast, 0},
                                 {ChangeKind::saturation, jitter.saturation, 0},
                                 {ChangeKind::hue, jitter.hue, 0}}};
  for (size_t i = 0; i < 3; ++i) drawn[i].amount = factor(drawn[i].strength);
  drawn[3].amount = uniform(random, -jitter.hue, jitter.hue);
  for (size_t i = drawn.size() - 1; i > 0; --i)
    std::swap(drawn[i], drawn[random.next_below(i + 1)]);
  for (const Drawn& change : drawn) {
    if (change.strength == 0) continue;
    changes.add({.kind = change.kind, .amount = static_cast<float>(change.amount)});
  }
}

void draw_erasing(const ChangeOptions& options, const SampleKey& key, const ImageSize& size,
                  PictureChanges& changes) {
  RandomStream random = random_of(key, "erasing");
  if (random.next_uniform() >= options.erasing) return;
  const auto pixels = static_cast<double>(size.pixels());
  for (int attempt = 0; attempt < kErasingAttempts; ++attempt) {
    const double area = pixels * uniform(random, kLeastErased, kMostErased);
    const double aspect =
        std::exp(uniform(random, std::log(kLeastErasedAspect), std::log(kMostErasedAspect)));
    const int64_t height = std::llrint(std::sqrt(area * aspect));
    const int64_t width = std::llrint(std::sqrt(area / aspect));
    if (height < 1 || width < 1 || height >= size.height || width >= size.width) continue;
    const auto below = [&](int64_t count) {
      return static_cast<int64_t>(random.next_below(static_cast<uint64_t>(count)));
    };
    const int64_t y = below(size.height - height + 1);
    const int64_t x = below(size.width - width + 1);
    const uint64_t noise = (uint64_t{random.next_word()} << 32) | random.next_word() | 1;
    changes.add({.kind = ChangeKind::erase,
                 .box = {y, x, height, width},
                 .noise_key = options.erasing_fill == ErasingFill::noise ? noise : 0});
    return;
  }
}

// The map of a change that moves pixels; no value for other changes.
std::optional<AffineMap> map_of(const PictureChange& change, const ImageSize& size) {
  const double amount = change.amount;
  switch (change.kind) {
    case ChangeKind::rotate: return rotation_map(size, amount);
    case ChangeKind::shear_x: return shear_x_map(size, amount);
    case ChangeKind::shear_y: return shear_y_map(size, amount);
    case ChangeKind::translate_x:
      return translation_map(std::trunc(amount * static_cast<double>(size.width)), 0);
    case ChangeKind::translate_y:
      return translation_map(0, std::trunc(amount * static_cast<double>(size.height)));
    default: return std::nullopt;
  }
}

std::array<uint8_t, 4> mean_colour(const Image& picture) {
  std::array<uint64_t, 4> sums{};
  const auto channels = static_cast<size_t>(picture.channels);
  for (size_t i = 0; i < picture.pixels.size(); i += channels) {
    for (size_t c = 0; c < channels; ++c) sums[c] += picture.pixels[i + c];
  }
  std::array<uint8_t, 4> mean{};
  const auto pixels = static_cast<uint64_t>(picture.size.pixels());
  for (size_t c = 0; c < channels; ++c) {
    mean[c] = static_cast<uint8_t>((sums[c] + pixels / 2) / pixels);
  }
  return mean;
}

void fill_box(const PictureChange& change, const std::array<uint8_t, 4>& mean, Image& picture) {
  RandomStream random(change.noise_key);
  const auto channels = static_cast<size_t>(picture.channels);
  const size_t bytes = static_cast<size_t>(change.box.width) * channels;
  for (int64_t y = change.box.y; y < change.box.y + change.box.height; ++y) {
    uint8_t* row = picture.row(y) + change.box.x * picture.channels;
    for (size_t i = 0; i < bytes; ++i) {
      row[i] = change.noise_key == 0 ? mean[i % channels]
                                     : static_cast<uint8_t>(random.next_word() >> 24);
    }
  }
}

template <typename T>
void reverse_rows(T* first, const ImageSize& size, int64_t per_row) {
  for (int64_t y = 0; y < size.height / 2; ++y) {
    T* upper = first + y * per_row;
    std::swap_ranges(upper, upper + per_row, first + (size.height - 1 - y) * per_row);
  }
}

// Changes that do not move pixels. `spare` is working memory.
void change_colours(const PictureChange& change, Image& picture, Image& spare) {
  switch (change.kind) {
    case ChangeKind::brightness: return adjust_brightness(picture, change.amount);
    case ChangeKind::contrast: return adjust_contrast(picture, change.amount);
    case ChangeKind::saturation: return adjust_saturation(picture, change.amount);
    case ChangeKind::sharpness: return adjust_sharpness(picture, change.amount, spare);
    case ChangeKind::hue: return shift_hue(picture, change.amount);
    case ChangeKind::auto_contrast: return auto_contrast(picture);
    case ChangeKind::equalize: return equalize(picture);
    case ChangeKind::posterize:
      return posterize(picture, static_cast<int>(std::lrint(change.amount)));
    case ChangeKind::solarize:
      return solarize(picture, static_cast<int>(std::lrint(change.amount)));
    default: PANDO_CHECK(false);
  }
}

bool needs_mean(const PictureChange& change, const ImageSize& size) {
  return change.kind == ChangeKind::erase || map_of(change, size).has_value();
}

}  // namespace

bool ChangeOptions::any() const {
  return flip_rows || rotation > 0 || randaugment.operations > 0 || erasing > 0 ||
         jitter.brightness > 0 || jitter.contrast > 0 || jitter.saturation > 0 || jitter.hue > 0;
}

void check_changes(const ChangeOptions& options, const char* place) {
  const auto within = [&](const char* name, double value, double most) {
    if (value >= 0 && value <= most) return;
    throw InvalidArgument(place, ": ", name, " ", value, ", expected 0 to ", most);
  };
  constexpr double kMostStrength = 100;
  within("rotation", options.rotation, 180);
  within("brightness", options.jitter.brightness, kMostStrength);
  within("contrast", options.jitter.contrast, kMostStrength);
  within("saturation", options.jitter.saturation, kMostStrength);
  within("hue", options.jitter.hue, 0.5);
  within("erasing", options.erasing, 1);
  within("operations of RandAugment", options.randaugment.operations, kMostRandOperations);
  within("magnitude of RandAugment", options.randaugment.magnitude, kMostRandMagnitude);
}

PictureChanges draw_changes(const ChangeOptions& options, const SampleKey& key,
                            const ImageSize& size) {
  PictureChanges changes;
  if (options.flip_rows) {
    RandomStream random = random_of(key, "flip rows");
    if (random_flip(random)) changes.add({.kind = ChangeKind::flip_rows});
  }
  if (options.rotation > 0) {
    RandomStream random = random_of(key, "rotation");
    const double degrees = uniform(random, -options.rotation, options.rotation);
    changes.add({.kind = ChangeKind::rotate, .amount = static_cast<float>(degrees)});
  }
  draw_randaugment(options.randaugment, key, changes);
  draw_jitter(options.jitter, key, changes);
  if (options.erasing > 0) draw_erasing(options, key, size, changes);
  return changes;
}

void change_picture(const PictureChanges& changes, Image& picture) {
  thread_local Image spare;  // keeps its memory from picture to picture
  const ImageSize size = picture.size;
  std::array<uint8_t, 4> mean{};
  const auto list = changes.list();
  if (std::ranges::any_of(list, [&](const PictureChange& c) { return needs_mean(c, size); })) {
    mean = mean_colour(picture);
  }
  for (const PictureChange& change : list) {
    if (change.kind == ChangeKind::flip_rows) {
      reverse_rows(picture.pixels.data(), size, size.width * picture.channels);
    } else if (change.kind == ChangeKind::erase) {
      fill_box(change, mean, picture);
    } else if (const std::optional<AffineMap> map = map_of(change, size)) {
      warp(picture.view(), *map, Sampling::bilinear, mean, spare);
      std::swap(picture, spare);
    } else {
      change_colours(change, picture, spare);
    }
  }
}

void change_mask(const PictureChanges& changes, const ImageSize& size, std::span<int32_t> mask) {
  thread_local std::vector<int32_t> spare;
  for (const PictureChange& change : changes.list()) {
    if (change.kind == ChangeKind::flip_rows) {
      reverse_rows(mask.data(), size, size.width);
    } else if (const std::optional<AffineMap> map = map_of(change, size)) {
      spare.assign(mask.begin(), mask.end());
      warp_mask(spare, size, *map, mask);
    }
  }
}

}  // namespace pando
