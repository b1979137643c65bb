// SPDX-License-Identifier: MIT
#include "pando/data/tools/formats.h"

#include "pando/base/error.h"
#include "pando/data/tools/pipeline_impl.h"
#include "pando/data/tools/show_impl.h"
#include "pando/data/tools/verify_impl.h"

namespace pando {

const std::vector<DataFormat>& data_formats() {
  static const std::vector<DataFormat> formats = {
      {.name = "mnist",
       .files = "the four IDX files, raw or .gz",
       .verify = data::verify_mnist,
       .pipeline = data::mnist_pipeline,
       .show = data::show_mnist},
      {.name = "fashion_mnist",
       .files = "the four IDX files, raw or .gz",
       .verify = data::verify_fashion_mnist,
       .pipeline = data::mnist_pipeline,
       .show = data::show_fashion_mnist},
      {.name = "cifar10",
       .files = "the batches of the binary or the Python version",
       .verify = data::verify_cifar10,
       .pipeline = data::cifar10_pipeline,
       .show = data::show_cifar10},
      {.name = "cifar100",
       .files = "the batches of the binary or the Python version",
       .verify = data::verify_cifar100,
       .pipeline = data::cifar100_pipeline,
       .show = data::show_cifar100},
      {.name = "image_folder",
       .files = "a folder of JPEG and PNG images per class; or train and validation of such",
       .verify = data::verify_image_folder,
       .pipeline = data::image_folder_pipeline,
       .show = data::show_image_folder},
      {.name = "imagenet",
       .files = "train-00000-of-01024 and so on, validation-00000-of-00128 and so on, labels.txt",
       .verify = data::verify_imagenet,
       .pipeline = data::imagenet_pipeline,
       .show = data::show_imagenet},
      {.name = "cosmoflow",
       .files = "train and validation with a TFRecord file per volume, or one such folder",
       .verify = data::verify_cosmoflow,
       .pipeline = data::cosmoflow_pipeline,
       .show = data::show_cosmoflow},
      {.name = "tfrecord",
       .files = "a TFRecord file of tf.train.Example, or a folder of them",
       .verify = data::verify_tfrecord,
       .pipeline = data::tfrecord_pipeline,
       .show = data::show_tfrecord},
  };
  return formats;
}

std::vector<std::string> data_format_names() {
  std::vector<std::string> names;
  for (const DataFormat& format : data_formats()) names.push_back(format.name);
  return names;
}

const DataFormat& find_data_format(std::string_view name) {
  for (const DataFormat& format : data_formats()) {
    if (format.name == name) return format;
  }
  throw InvalidArgument(unknown_name_message("data set", name, data_format_names()));
}

}  // namespace pando
