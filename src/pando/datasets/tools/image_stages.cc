// SPDX-License-Identifier: MIT
#include <memory>

#include "pando/data/image/views.h"
#include "pando/datasets/tools/image_stages_impl.h"

namespace pando::datasets {

Stage decode_stage(const MakeEachImage& make, uint64_t seed) {
  return {"decode", "JPEG, PNG: the part of a random view", [make, seed]() -> StageWork {
            auto scratch = std::make_shared<Image>();
            return [each = make(), seed, scratch](int64_t unit) {
              StageCount count;
              each(unit, [&](const EncodedImage& image) {
                ImageReader reader(image.bytes, "image");
                RandomStream random = sample_random(seed, 0, unit);
                const PixelBox box = distorted_box(random, reader.size(), image.objects);
                reader.read_region(
                    {.box = box, .target = TrainViewOptions().size, .may_shrink = true}, *scratch);
                ++count.samples;
                count.in += static_cast<double>(image.bytes.size());
                count.out += static_cast<double>(scratch->view().bytes());
              });
              return count;
            };
          }};
}

Stage view_stage(const MakeEachImage& make, uint64_t seed) {
  return {"augment", "resized, mirrored, normalised", [make, seed]() -> StageWork {
            const TrainViewOptions options;
            auto scratch = std::make_shared<Image>();
            auto values = std::make_shared<std::vector<float>>(
                static_cast<size_t>(options.size.pixels()) * 3);
            return [each = make(), seed, options, scratch, values](int64_t unit) {
              StageCount count;
              each(unit, [&](const EncodedImage& image) {
                ImageReader reader(image.bytes, "image");
                read_train_view(reader, sample_random(seed, 0, unit), image.objects, options,
                                *scratch, PixelTarget(*values, normalise_imagenet()));
                ++count.samples;
                count.in += static_cast<double>(scratch->view().bytes());
                count.out += static_cast<double>(values->size() * sizeof(float));
              });
              return count;
            };
          }};
}

}  // namespace pando::datasets
