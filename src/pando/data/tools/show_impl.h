// The samples that a contact sheet is made of. Private to the tools.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pando/data/contact_sheet.h"
#include "pando/data/dataset.h"
#include "pando/data/tools/show.h"

namespace pando::data {

struct Showing {
  Dataset dataset;                   // one part, augmented when that is asked for
  std::vector<std::string> classes;  // names of the labels
  // How a sample looks; empty: its x as a picture and its y as a caption.
  std::function<SheetTile(const Sample& sample)> tile;
};

Showing show_mnist(const std::string& path, const ShowOptions& options);
Showing show_fashion_mnist(const std::string& path, const ShowOptions& options);
Showing show_cifar10(const std::string& path, const ShowOptions& options);
Showing show_cifar100(const std::string& path, const ShowOptions& options);
Showing show_image_folder(const std::string& path, const ShowOptions& options);
Showing show_imagenet(const std::string& path, const ShowOptions& options);
Showing show_cosmoflow(const std::string& path, const ShowOptions& options);
Showing show_tfrecord(const std::string& path, const ShowOptions& options);

}  // namespace pando::data
