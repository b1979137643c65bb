// What the sources of single picture files share: the fields of their samples, and how a picture
// becomes a view. Private to the folder.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/data/sources/image_folder.h"

namespace pando::data {

// Throws InvalidArgument for invalid sizes, types or numbers of workers.
void check_views(const ImageFolderOptions& options);

// "x", the labels, and "flip" if the device mirrors.
std::vector<Field> view_fields(const ImageFolderOptions& options, Field labels);

// The choices behind a random view; requires options.random_views.
TrainViewOptions train_view_options(const ImageFolderOptions& options);
RandomStream view_random(const ImageFolderOptions& options, const SampleView& sample);
PictureChanges view_changes(const ImageFolderOptions& options, const SampleView& sample);

// Writes "x" and, if there is one, "flip".
void read_view(ImageReader& reader, const ImageFolderOptions& options, const SampleView& sample,
               Image& scratch);
void read_view(const std::string& path, const ImageFolderOptions& options, const SampleView& sample,
               Image& scratch);

}  // namespace pando::data
