// Pictures of samples as a network gets them, with their labels.
//
//   encode_png(show_dataset("cifar10", folder, {.samples = 32}).view())
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pando/data/contact_sheet.h"
#include "pando/data/image/augmentation.h"
#include "pando/data/image/image.h"

namespace pando {

struct ShowOptions {
  int64_t samples = 64;  // at most as many as there are
  int64_t columns = 8;
  bool augment = true;                   // as for training: mirrored, cropped
  bool test = false;                     // samples of the part for testing
  int64_t epoch = 0;                     // selects the order and the augmentation
  uint64_t seed = 0;                     // of the order and the augmentation
  AugmentationChoice augmentation = {};  // with `augment`; samples are not mixed
};

// A contact sheet. `format` is a name of all_datasets(). Throws InvalidArgument for an unknown
// format and invalid options, Unsupported for data without pictures, IoError.
Image show_dataset(const std::string& format, const std::string& path,
                   const ShowOptions& options = {});

// The samples of a contact sheet as pictures of their own, each with its class as caption; labels
// that are not classes have none. Throws as show_dataset() does, and Unsupported for samples that
// are not pictures of bytes.
std::vector<SheetTile> shown_pictures(const std::string& format, const std::string& path,
                                      const ShowOptions& options = {});

}  // namespace pando
