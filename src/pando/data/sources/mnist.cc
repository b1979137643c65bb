// SPDX-License-Identifier: MIT
#include "pando/data/sources/mnist.h"

#include <algorithm>
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

// Labels out of range are errors; with `skipped` they are listed there and -1 in the result.
Tensor labels_from(const Tensor& bytes, const std::string& path, int64_t classes,
                   std::vector<BadRecord>* skipped) {
  constexpr size_t kHeader = 8;  // of an IDX file with one axis
  Tensor labels(DType::i32, bytes.shape());
  for (size_t i = 0; i < bytes.u8().size(); ++i) {
    labels.i32()[i] = bytes.u8()[i];
    if (labels.i32()[i] < classes) continue;
    const std::string why =
        concat("label ", i, " is ", labels.i32()[i], ", expected 0 to ", classes - 1);
    if (skipped == nullptr) throw IoError(path, ": ", why);
    skipped->push_back({path, kHeader + i, why});
    labels.i32()[i] = -1;
  }
  return labels;
}

Dataset load_part(const ImagesAndLabels& paths, const MnistLikeOptions& options) {
  Tensor images = read_checked(paths.images, 3, "u8 images [count,height,width]");
  const Tensor bytes = read_checked(paths.labels, 1, "u8 labels [count]");
  if (images.shape()[0] != bytes.shape()[0]) {
    throw IoError(paths.labels, ": ", bytes.shape()[0], " labels, expected ", images.shape()[0],
                  ", as many as the images of ", paths.images);
  }
  Tensor labels = labels_from(bytes, paths.labels, options.classes, options.skipped);
  if (std::ranges::count(labels.i32(), -1) > 0) {
    images = data::rows_with_label(images, labels.i32());
    labels = data::rows_with_label(labels, labels.i32());
  }
  const Shape shape = images.shape();
  std::vector<ArrayField> arrays(2);
  arrays[0] = {.name = "x",
               .values = std::move(images).reshaped({shape[0], shape[1], shape[2], 1})};
  if (options.x == DType::f32) arrays[0].scale = 1.0f / 255.0f;
  arrays[1] = {.name = "y", .values = std::move(labels)};
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
  static const std::vector<std::string> names = {"T-shirt/top", "Trouser",   "Pullover", "Dress",
                                                 "Coat",        "Sandal",    "Shirt",    "Sneaker",
                                                 "Bag",         "Ankle boot"};
  return names;
}

TrainTest load_mnist_like(const std::string& directory, const MnistLikeOptions& options) {
  if (options.x != DType::f32 && options.x != DType::u8) {
    throw InvalidArgument("MNIST: expected x as f32 or u8, got ", to_string(options.x));
  }
  const std::string remedy =
      options.remedy.empty() ? "put them there or name another directory" : options.remedy;
  const std::vector<std::string> paths = find_files(directory, remedy);
  TrainTest sets{.train = load_part({paths[0], paths[1]}, options),
                 .test = load_part({paths[2], paths[3]}, options),
                 .classes = options.classes};
  if (sets.train.fields() != sets.test.fields()) {
    throw IoError(paths[2], ": images differ in size from those of ", paths[0], ": expected ",
                  sets.train.fields()[0], ", got ", sets.test.fields()[0]);
  }
  return sets;
}

TrainTest load_mnist(const std::string& directory, MnistLikeOptions options) {
  if (options.remedy.empty()) {
    options.remedy = "run 'pando data fetch mnist', or name their directory";
  }
  return load_mnist_like(directory, options);
}

TrainTest load_fashion_mnist(const std::string& directory, MnistLikeOptions options) {
  if (options.remedy.empty()) {
    options.remedy = concat("run 'apt-get install dataset-fashion-mnist', which puts them into ",
                            kFashionMnistDirectory,
                            ", or 'pando data fetch fashion_mnist', or name their directory");
  }
  return load_mnist_like(directory, options);
}

}  // namespace pando
