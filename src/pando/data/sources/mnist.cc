// SPDX-License-Identifier: MIT
#include "pando/data/sources/mnist.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "pando/data/sources/arrays.h"
#include "pando/data/sources/idx.h"

namespace pando {

namespace {

struct ImagesAndLabels {
  std::string images;
  std::string labels;
};

std::vector<std::string> find_files(const std::string& directory, const std::string& remedy) {
  std::vector<std::string> found;
  std::vector<std::string> missing;
  for (const char* name : data::kMnistFiles) {
    found.push_back(data::find_mnist_file(directory, name));
    if (found.back().empty()) missing.emplace_back(name);
  }
  if (missing.empty()) return found;
  std::error_code error;
  throw IoError(directory, ": ",
                std::filesystem::is_directory(directory, error) ? "" : "no such directory; ",
                "looked for ", join(missing, ", "), ", each as it is or with .gz; ", remedy);
}

Tensor read_checked(const std::string& path, int rank, const char* what) {
  Tensor tensor = read_idx(path);
  if (tensor.dtype() != DType::u8 || tensor.shape().rank() != rank) {
    throw IoError(path, ": holds ", to_string(tensor.dtype()), tensor.shape(), ", expected ", what);
  }
  return tensor;
}

Tensor labels_from(const Tensor& bytes, const std::string& path, int64_t classes) {
  Tensor labels(DType::i32, bytes.shape());
  for (size_t i = 0; i < bytes.u8().size(); ++i) {
    const int32_t label = bytes.u8()[i];
    if (label >= classes) {
      throw IoError(path, ": label ", i, " is ", label, ", expected 0 to ", classes - 1);
    }
    labels.i32()[i] = label;
  }
  return labels;
}

Dataset load_part(const ImagesAndLabels& paths, int64_t classes) {
  Tensor images = read_checked(paths.images, 3, "u8 images [count,height,width]");
  const Tensor labels = read_checked(paths.labels, 1, "u8 labels [count]");
  const Shape shape = images.shape();
  if (shape[0] != labels.shape()[0]) {
    throw IoError(paths.labels, ": ", labels.shape()[0], " labels, expected ", shape[0],
                  ", as many as the images of ", paths.images);
  }
  std::vector<ArrayField> arrays;
  arrays.push_back({.name = "x",
                    .values = std::move(images).reshaped({shape[0], shape[1], shape[2], 1}),
                    .scale = 1.0f / 255.0f});
  arrays.push_back({.name = "y", .values = labels_from(labels, paths.labels, classes)});
  return from_arrays(std::move(arrays));
}

}  // namespace

namespace data {

std::string find_mnist_file(const std::string& directory, const std::string& name) {
  for (const char* ending : {"", ".gz"}) {
    const std::filesystem::path path = std::filesystem::path(directory) / (name + ending);
    std::error_code error;
    if (std::filesystem::exists(path, error)) return path.string();
  }
  return {};
}

}  // namespace data

const std::vector<std::string>& fashion_mnist_names() {
  static const std::vector<std::string> names = {"t-shirt/top", "trouser",   "pullover", "dress",
                                                 "coat",        "sandal",    "shirt",    "sneaker",
                                                 "bag",         "ankle boot"};
  return names;
}

TrainTest load_mnist_like(const std::string& directory, const MnistLikeOptions& options) {
  const std::string remedy = options.remedy.empty()
                                 ? "put them there or name another directory (--dataset-path)"
                                 : options.remedy;
  const std::vector<std::string> paths = find_files(directory, remedy);
  TrainTest sets{.train = load_part({paths[0], paths[1]}, options.classes),
                 .test = load_part({paths[2], paths[3]}, options.classes),
                 .classes = options.classes};
  if (sets.train.fields() != sets.test.fields()) {
    throw IoError(paths[2], ": images differ in size from those of ", paths[0], ": found ",
                  sets.test.fields()[0], ", expected ", sets.train.fields()[0]);
  }
  return sets;
}

TrainTest load_mnist(const std::string& directory) {
  return load_mnist_like(directory,
                         {.remedy = "put the four MNIST files there or name their directory "
                                    "(--dataset-path)"});
}

TrainTest load_fashion_mnist(const std::string& directory) {
  return load_mnist_like(directory,
                         {.remedy = "'apt-get install dataset-fashion-mnist' puts them into " +
                                    std::string(kFashionMnistDirectory) +
                                    ", or name their directory (--dataset-path)"});
}

}  // namespace pando
