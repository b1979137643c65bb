// Writes the segmentation report of a validation to files, with pictures of the samples whose
// classes the network finds worst and best.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pando/data/image/image.h"
#include "pando/train/segmentation.h"

namespace pando::app {

// A sample to look at.
struct SegmentedSample {
  int64_t index = 0;           // in the validation data
  Tensor x;                    // u8 or f32 [height, width, channels], or a volume of such
  std::vector<int32_t> truth;  // the class of every pixel, kNotLabelled without one
  std::vector<int32_t> predicted;
  double iou = 0;
};

// The samples to draw: up to four of the worst, the worst first, and as many of the best, the best
// first. No sample is in both lists.
struct ShownSamples {
  std::vector<int64_t> worst;
  std::vector<int64_t> best;
};
ShownSamples choose_samples(const SegmentationReport& report);

// The picture of a sample, then its labels and the predictions as colours over a grey picture.
// Class 0, mostly the background, and pixels without a label have no colour. Volumes show their
// middle.
struct SegmentedPictures {
  Image picture;
  Image truth;
  Image predicted;
};
SegmentedPictures pictures_of(const SegmentedSample& sample);

// One row per pair of samples: the worst beside the best, the second worst beside the second best,
// and so on, with the three pictures of each. Requires: worst.
Image segmentation_sheet(const std::vector<SegmentedSample>& worst,
                         const std::vector<SegmentedSample>& best);

// Writes segmentation_report.txt, segmentation_report.csv and confusion.svg into `folder`, which
// must exist, and segmentation.png if there is a sheet. Throws IoError, and InvalidArgument if the
// numbers of names and classes differ.
void write_segmentation_report(const std::filesystem::path& folder,
                               const SegmentationReport& report,
                               const std::vector<std::string>& names, const Image& sheet);

}  // namespace pando::app
