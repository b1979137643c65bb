// Pictures with a mask beside each: the class of every pixel. A part of such a data set has the
// folders images and masks; the mask of images/a.jpg is masks/a.png.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "pando/data/image/mask.h"
#include "pando/data/sources/image_folder.h"

namespace pando {

namespace data {

struct MaskedImage {
  std::string image;
  std::string mask;
};

}  // namespace data

struct MaskFolders {
  std::vector<std::vector<data::MaskedImage>> parts;  // sorted by the path of the picture
  int64_t classes = 0;
  std::vector<std::string> class_names;  // empty: only numbers
  MaskClasses numbers = mask_classes();  // what the numbers in the masks mean
  std::vector<BadRecord> bad;            // what was skipped
  std::vector<std::string> warnings;
};

// Lists the pictures and masks of parts that have the same classes. Every mask is read once:
// options.classes says how many classes there are or, if it is empty, the largest number does.
// 255 marks pixels that are not labelled; but if all masks together have the numbers 0 and 255 and
// no others, 255 is class 1, with a warning. Masks without a picture are left out with a warning.
//
// Throws IoError when a folder cannot be read or has no pictures, a picture has no mask, a mask
// cannot be read or has a number beyond the classes, or there are not two classes. With
// OnBadRecord::skip such pictures are left out and listed instead, and also those that are damaged
// or do not have the size of their masks.
MaskFolders read_mask_folders(const std::vector<std::string>& parts,
                              const ImageFolderOptions& options);

// Samples x f32 or u8 [height, width, 3], y i32 [height, width], maybe flip u8. Picture and mask
// are cut out, mirrored and resized alike; masks also where the device mirrors the picture. If EXIF
// data turn a picture, a mask of the stored size is turned with it. Gathering throws IoError for
// bad files and for a mask that does not have the size of its picture.
Dataset open_masked_images(std::vector<data::MaskedImage> files, const ImageFolderOptions& options,
                           const MaskClasses& numbers = mask_classes());

namespace data {

// Whether a folder has the folders images and masks.
bool holds_masks(const std::string& folder);

struct MaskList {
  std::vector<MaskedImage> files;     // by the path of the picture
  std::vector<BadRecord> bad;         // pictures without masks
  std::vector<std::string> warnings;  // masks without pictures, folders that are not read
};
// Throws IoError when a folder cannot be read or has no pictures, or two files have the same name
// without their endings.
MaskList list_masks(const std::string& folder);

// The class numbers that occur in a mask.
struct MaskFindings {
  std::vector<std::pair<uint8_t, int64_t>> pixels;  // each number that occurs, with its pixels
  std::string flaw;                                 // why the sample is bad; empty: it is not
  std::string flawed_file;                          // the picture or the mask
};
// Reads the mask and, with `picture`, also the picture, whose size must fit.
MaskFindings inspect_mask(const MaskedImage& file, const DecodeLimits& limits, bool picture);

// The classes of data sets whose masks have these numbers.
struct NumbersFound {
  bool two_valued = false;  // 0 and 255
  int64_t classes = 0;      // 1 + the largest class number
};
NumbersFound classes_of_masks(const std::vector<MaskFindings>& findings);
// Makes numbers beyond the names of the classes flaws of their files.
void check_numbers(const std::vector<MaskedImage>& files, const std::vector<std::string>& names,
                   bool two_valued, std::vector<MaskFindings>& findings);

inline constexpr const char* kTwoValuedNote =
    "the masks have only the numbers 0 and 255: 255 is read as class 1, while in other masks it "
    "marks pixels that are not labelled. Use 1 for the class to be free of this warning";

}  // namespace data

}  // namespace pando
