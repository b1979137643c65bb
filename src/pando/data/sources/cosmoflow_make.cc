// Made-up CosmoFlow volumes that can be learned; the formula is in cosmoflow.h.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "pando/base/error.h"
#include "pando/base/random.h"
#include "pando/data/sources/cosmoflow.h"

namespace pando {

namespace {

namespace fs = std::filesystem;

constexpr int kBlobs = 8;

// -1 at the first of `count` places, 1 at the last, 0 when there is only one.
double centred(int64_t at, int64_t count) {
  if (count < 2) return 0;
  return 2.0 * static_cast<double>(at) / static_cast<double>(count - 1) - 1.0;
}

// exp(-distance^2 / 2 s^2) for every place of an axis, s a tenth of its length but at least 1.
std::vector<double> blob_profile(double centre, int64_t extent) {
  const double width = std::max(1.0, static_cast<double>(extent) / 10.0);
  std::vector<double> profile(static_cast<size_t>(extent));
  for (size_t i = 0; i < profile.size(); ++i) {
    const double distance = (static_cast<double>(i) - centre) / width;
    profile[i] = std::exp(-0.5 * distance * distance);
  }
  return profile;
}

// Gaussian blobs at random places, scaled to a mean of 1. [depth, height, width]
std::vector<double> make_blobs(const Shape& shape, RandomStream& random) {
  const auto plane = static_cast<size_t>(shape[1] * shape[2]);
  std::vector<double> field(static_cast<size_t>(shape[0]) * plane);
  for (int blob = 0; blob < kBlobs; ++blob) {
    std::array<std::vector<double>, 3> profiles;
    for (int axis = 0; axis < 3; ++axis) {
      const double centre = random.next_uniform() * static_cast<float>(shape[axis]);
      profiles[static_cast<size_t>(axis)] = blob_profile(centre, shape[axis]);
    }
    size_t at = 0;
    for (const double z : profiles[0]) {
      for (const double y : profiles[1]) {
        for (const double x : profiles[2]) field[at++] += z * y * x;
      }
    }
  }
  double sum = 0;
  for (const double value : field) sum += value;
  for (double& value : field) value *= static_cast<double>(field.size()) / sum;
  return field;
}

std::vector<int16_t> make_volume(const Shape& shape, const std::array<float, 4>& t,
                                 RandomStream& random) {
  const std::vector<double> blobs = make_blobs(shape, random);
  const double in_blobs = 0.5 + 0.45 * t[1];
  const double level = 16.0 * std::exp2(t[0]);
  const auto plane = static_cast<size_t>(shape[1] * shape[2]);
  std::vector<int16_t> volume;
  volume.reserve(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < blobs.size(); ++i) {
    const double along = centred(static_cast<int64_t>(i / plane), shape[0]);
    const double here = level * ((1 - in_blobs) + in_blobs * blobs[i]) * (1 + 0.7 * t[2] * along);
    for (int64_t channel = 0; channel < shape[3]; ++channel) {
      const double mean = here * (1 + 0.5 * t[3] * centred(channel, shape[3]));
      const double count = std::round(mean + std::sqrt(mean) * random.next_normal());
      volume.push_back(static_cast<int16_t>(std::clamp(count, 0.0, 32767.0)));
    }
  }
  return volume;
}

void make_part(const fs::path& folder, int64_t samples, const MakeCosmoflowOptions& options) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw IoError(folder.string(), ": cannot make the folder: ", error.message());
  const uint64_t key = mix_keys(options.seed, hash_name(folder.filename().string()));
  for (int64_t i = 0; i < samples; ++i) {
    RandomStream random(mix_keys(key, static_cast<uint64_t>(i)));
    std::array<float, 4> targets{};
    for (float& target : targets) target = 2.0f * random.next_uniform() - 1.0f;
    const std::vector<int16_t> volume = make_volume(options.shape, targets, random);
    std::array<char, 40> name{};
    std::snprintf(name.data(), name.size(), "sample-%05lld.tfrecord", static_cast<long long>(i));
    write_cosmoflow_sample((folder / name.data()).string(), {volume, targets}, options.compression);
  }
}

}  // namespace

void make_cosmoflow(const std::string& folder, const MakeCosmoflowOptions& options) {
  const Shape& shape = options.shape;
  if (shape.rank() != 4 || shape.elements() == 0) {
    throw InvalidArgument("CosmoFlow volumes of shape ", shape,
                          ", expected [depth,height,width,channels]");
  }
  if (options.train < 0 || options.validation < 0) {
    throw InvalidArgument("CosmoFlow parts of ", options.train, " and ", options.validation,
                          " samples, expected 0 or more");
  }
  make_part(fs::path(folder) / "train", options.train, options);
  make_part(fs::path(folder) / "validation", options.validation, options);
}

}  // namespace pando
