// What the sources of pictures share, in files of their own or in records: the fields of their
// samples, and how a picture becomes a view. Private to the folder.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "pando/data/sources/image_folder.h"

namespace pando::data {

// Throws InvalidArgument for invalid sizes, types or numbers of workers; `place` begins its text.
void check_views(const ImageFolderOptions& options, const char* place = "image folder");

// "x", the labels, and "flip" if the device mirrors.
std::vector<Field> view_fields(const ImageFolderOptions& options, Field labels);

// The choices behind a random view; requires options.random_views.
TrainViewOptions train_view_options(const ImageFolderOptions& options);
RandomStream view_random(const ImageFolderOptions& options, const SampleView& sample);
PictureChanges view_changes(const ImageFolderOptions& options, const SampleView& sample);

// Writes "x" and, if there is one, "flip". A random view shows a part of the `objects`, if there
// are any.
void read_view(ImageReader& reader, const ImageFolderOptions& options, const SampleView& sample,
               Image& scratch, std::span<const ObjectBox> objects = {});
void read_view(const std::string& path, const ImageFolderOptions& options, const SampleView& sample,
               Image& scratch);

// Samples of picture files. A File has a path; `write_label` writes "y" for it.
template <typename File>
class PictureFileSource : public DataSource {
 public:
  using WriteLabel = void (*)(const File& file, const SampleView& sample);

  PictureFileSource(std::vector<File> files, Field labels, WriteLabel write_label,
                    const ImageFolderOptions& options)
      : DataSource(view_fields(options, std::move(labels)), static_cast<int64_t>(files.size())),
        files_(std::move(files)),
        write_label_(write_label),
        options_(options) {}

  void gather(int64_t epoch, std::span<int64_t> indices, const Rows& rows) const override {
    Image scratch;
    for (size_t i = 0; i < indices.size(); ++i) {
      const SampleView sample(fields(), rows, static_cast<int64_t>(i), {epoch, indices[i]});
      const File& file = files_[static_cast<size_t>(indices[i])];
      read_view(file.path, options_, sample, scratch);
      write_label_(file, sample);
    }
  }

 private:
  std::vector<File> files_;
  WriteLabel write_label_;
  ImageFolderOptions options_;
};

}  // namespace pando::data
