// MixUp and CutMix: a training sample is mixed with another one, and its label too.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "pando/data/dataset.h"
#include "pando/data/image/changes.h"
#include "pando/data/image/image.h"

namespace pando {

struct MixOptions {
  // Above 0: the parameter of the distribution Beta(x, x) from which the share of the sample itself
  // is drawn. With both, each sample takes one of the two with equal chances.
  double mixup = 0;   // values are blended
  double cutmix = 0;  // a box of the other picture is pasted in
  uint64_t seed = 0;
  // The samples are in a random order already: pairs of neighbours are mixed, which are mostly
  // gathered together, so that mixing reads no sample twice. If false, the other sample is any of
  // the set.
  bool with_neighbour = false;

  bool on() const { return mixup > 0 || cutmix > 0; }
};

// Mixes the field "x" (f32 or u8; for CutMix [height, width, channels]) and the field "y", which
// becomes f32 [classes]: class numbers (i32 or u8) count as one-hot labels; f32 labels are blended.
// Other fields stay. With which sample, and how, depends only on the seed, the epoch and the index.
// Throws InvalidArgument for fields of other types or shapes, no classes, samples of a generator
// and parameters out of range; when a sample is read, for a label outside of the classes.
Dataset mix_samples(const Dataset& dataset, int64_t classes, const MixOptions& options);

namespace data {

// How one sample is mixed.
struct MixChoice {
  int64_t partner = 0;  // the index of the other sample
  double share = 1;     // the sample's own share of its label and, for MixUp, its values
  PixelBox box = {};    // CutMix pastes it from the partner; empty for MixUp
  bool pastes = false;
};

// Requires: size > 0; `picture` is the size of x for CutMix.
MixChoice draw_mix(const MixOptions& options, const SampleKey& key, int64_t size,
                   const ImageSize& picture);

}  // namespace data

}  // namespace pando
