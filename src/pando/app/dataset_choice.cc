// SPDX-License-Identifier: MIT
#include "pando/app/dataset_choice.h"

#include <algorithm>
#include <filesystem>

#include "pando/app/exit_code.h"
#include "pando/base/error.h"
#include "pando/base/random.h"
#include "pando/data/image/augmented.h"
#include "pando/data/sources/cifar.h"
#include "pando/data/sources/mnist.h"
#include "pando/zoo/zoo.h"

namespace pando::app {

namespace {

constexpr int64_t kCifarBorder = 4;

bool is_cifar(DatasetKind kind) {
  return kind == DatasetKind::cifar10 || kind == DatasetKind::cifar100;
}

// The bytes stay bytes in memory; the views are made batch by batch.
TrainTest load_cifar(const TrainOptions& options) {
  const auto load = options.dataset == DatasetKind::cifar10 ? load_cifar10 : load_cifar100;
  TrainTest sets = load(options.dataset_path, {.x = DType::u8});
  const uint64_t key = mix_keys(static_cast<uint64_t>(options.seed), hash_name("augmentation"));
  sets.train = augment_images(sets.train, {.flip = true, .border = kCifarBorder, .seed = key});
  sets.test = augment_images(sets.test, {});
  return sets;
}

}  // namespace

const std::vector<std::pair<std::string, DatasetKind>>& dataset_names() {
  static const std::vector<std::pair<std::string, DatasetKind>> names = {
      {"fashion_mnist", DatasetKind::fashion_mnist},
      {"mnist", DatasetKind::mnist},
      {"cifar10", DatasetKind::cifar10},
      {"cifar100", DatasetKind::cifar100}};
  return names;
}

const std::string& to_string(DatasetKind kind) {
  const auto& names = dataset_names();
  const auto found =
      std::ranges::find_if(names, [&](const auto& entry) { return entry.second == kind; });
  PANDO_CHECK(found != names.end());
  return found->first;
}

std::optional<DatasetKind> dataset_of_model(const std::string& model) {
  const auto entry = std::ranges::find(model_zoo(), model, &ZooEntry::name);
  if (entry == model_zoo().end()) return std::nullopt;
  for (const auto& [name, kind] : dataset_names()) {
    if (name == entry->dataset) return kind;
  }
  return std::nullopt;
}

void validate_dataset(const TrainOptions& options) {
  if (!options.dataset_path.empty()) {
    if (std::filesystem::exists(options.dataset_path)) return;
    throw UsageError("--dataset-path: '", options.dataset_path,
                     "' does not exist, wanted the folder of the data set");
  }
  if (options.dataset == DatasetKind::mnist) {
    throw UsageError(
        "--dataset mnist: no package brings MNIST; name the folder of its four files with "
        "--dataset-path");
  }
  if (is_cifar(options.dataset)) {
    const bool ten = options.dataset == DatasetKind::cifar10;
    throw UsageError("--dataset ", to_string(options.dataset), ": no package brings ",
                     ten ? "CIFAR-10; get cifar-10" : "CIFAR-100; get cifar-100",
                     "-binary.tar.gz from https://www.cs.toronto.edu/~kriz/cifar.html, unpack it "
                     "and name the folder with --dataset-path; or choose another --dataset, such "
                     "as fashion_mnist");
  }
}

TrainTest load_dataset(const TrainOptions& options) {
  if (is_cifar(options.dataset)) return load_cifar(options);
  if (options.dataset == DatasetKind::mnist) return load_mnist(options.dataset_path);
  return options.dataset_path.empty() ? load_fashion_mnist()
                                      : load_fashion_mnist(options.dataset_path);
}

}  // namespace pando::app
