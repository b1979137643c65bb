// The pipelines of arrays in memory and of image files.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "pando/data/image/augmented.h"
#include "pando/data/sources/cifar/cifar.h"
#include "pando/data/sources/gzip.h"
#include "pando/data/sources/image_folder.h"
#include "pando/data/sources/mnist.h"
#include "pando/data/tools/image_stages_impl.h"
#include "pando/data/tools/pipeline_impl.h"
#include "pando/data/tools/places_impl.h"

namespace pando::data {

namespace {

double bytes_of(const Dataset& dataset) {
  double bytes = 0;
  for (const Field& field : dataset.fields()) bytes += static_cast<double>(bytes_per_sample(field));
  return bytes;
}

// Gathers blocks of samples in a shuffled order. `in`: bytes of a sample before the stage.
Stage gather_stage(std::string name, std::string what, const Dataset& dataset, double in,
                   int64_t block) {
  return {std::move(name), std::move(what), [dataset, in, block]() -> StageWork {
            auto memory = std::make_shared<std::vector<Tensor>>();
            for (const Field& field : dataset.fields()) {
              std::vector<int64_t> dims = field.shape.dims();
              dims.insert(dims.begin(), block);
              memory->emplace_back(field.dtype, Shape(std::move(dims)));
            }
            const double out = bytes_of(dataset);
            return [dataset, in, out, block, memory](int64_t unit) {
              const int64_t first = unit * block;
              std::vector<int64_t> indices(
                  static_cast<size_t>(std::min(block, dataset.size() - first)));
              std::iota(indices.begin(), indices.end(), first);
              dataset.gather(indices, *memory);
              const auto count = static_cast<double>(indices.size());
              return StageCount{std::ssize(indices), count * in, count * out};
            };
          }};
}

Pipeline array_pipeline(const Dataset& shuffled, int64_t block) {
  return {.units = (shuffled.size() + block - 1) / block,
          .samples = shuffled.size(),
          .stages = {},
          .batches = shuffled};
}

Stage read_stage(const MakeEachImage& images) {
  return {"read", "bytes from files", [images]() -> StageWork {
            return [each = images()](int64_t unit) {
              StageCount count;
              each(unit, [&](const EncodedImage& image) {
                const auto bytes = static_cast<double>(image.bytes.size());
                count = {1, bytes, bytes};
              });
              return count;
            };
          }};
}

int64_t block_of(const Dataset& dataset, const DataBenchmarkOptions& options) {
  return std::clamp<int64_t>(dataset.size(), 1, options.batch_size);
}

Pipeline cifar_pipeline(const TrainTest& sets, const DataBenchmarkOptions& options) {
  const Dataset plain = sets.train.shuffle({.seed = options.seed});
  const Dataset augmented =
      augment_images(sets.train, {.flip = true, .border = 4, .seed = options.seed})
          .shuffle({.seed = options.seed});
  const int64_t block = block_of(plain, options);
  Pipeline pipeline = array_pipeline(augmented, block);
  pipeline.stages = {
      gather_stage("gather", "bytes, in a shuffled order", plain, bytes_of(plain), block),
      gather_stage("augment", "mirrored, cropped, standardised", augmented, bytes_of(plain),
                   block)};
  return pipeline;
}

}  // namespace

Pipeline mnist_pipeline(const std::string& path, const DataBenchmarkOptions& options) {
  const Dataset train = load_mnist(path).train.shuffle({.seed = options.seed});
  const double stored = static_cast<double>(train.fields()[0].shape.elements()) +
                        static_cast<double>(bytes_per_sample(train.fields()[1]));
  const int64_t block = block_of(train, options);
  Pipeline pipeline = array_pipeline(train, block);
  pipeline.stages = {
      gather_stage("gather", "bytes to f32, in a shuffled order", train, stored, block)};
  return pipeline;
}

Pipeline cifar10_pipeline(const std::string& path, const DataBenchmarkOptions& options) {
  return cifar_pipeline(load_cifar10(path, {.x = DType::u8}), options);
}

Pipeline cifar100_pipeline(const std::string& path, const DataBenchmarkOptions& options) {
  return cifar_pipeline(load_cifar100(path, {.x = DType::u8}), options);
}

Pipeline image_folder_pipeline(const std::string& path, const DataBenchmarkOptions& options) {
  const ImageFolder folder = load_image_folder(choose_part(path, false).path,
                                               {.random_views = true, .seed = options.seed});
  auto files = std::make_shared<const std::vector<std::string>>(folder.files);
  const MakeEachImage images = [files]() -> EachImage {
    return [files](int64_t unit, const ImageUse& use) {
      const std::vector<uint8_t> bytes = read_file((*files)[static_cast<size_t>(unit)]);
      use({bytes, {}});
    };
  };
  return {.units = folder.dataset.size(),
          .samples = folder.dataset.size(),
          .stages = {read_stage(images), decode_stage(images, options.seed),
                     view_stage(images, options.seed)},
          .batches = folder.dataset.shuffle({.seed = options.seed})};
}

}  // namespace pando::data
