// Picture files as inputs of a network, prepared as its facts say.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "pando/data/dataset.h"
#include "pando/data/image/views.h"
#include "pando/train/model_facts.h"

namespace pando::app {

// Turns pictures into rows of a network's input, as validation does. Any thread may use it.
class PictureInput {
 public:
  // `dtype` is f32 or u8. Throws InvalidArgument for u8 if the preparation changes values.
  PictureInput(const PicturePreparation& preparation, DType dtype, const DecodeLimits& limits = {});

  // The bytes of a row [height, width, channels] in `dtype`.
  size_t row_bytes() const;
  // Decodes a JPEG or PNG, turns it upright, resizes it, gives it colours or takes them, and maps
  // its values. `row` is aligned to `dtype`. Throws IoError, which begins with `place`.
  void read(std::span<const uint8_t> bytes, const std::string& place, std::byte* row) const;
  // The same for pixels that have the prepared size and the network's order of colours already.
  void take_pixels(const uint8_t* pixels, std::byte* row) const;

 private:
  ImageSize size() const { return {preparation_.height, preparation_.width}; }
  PixelTarget target(const ChannelMap& map, std::byte* row) const;
  void resize(ImageReader& reader, const PixelTarget& to) const;
  void write(const ImageView& picture, std::byte* row) const;

  PicturePreparation preparation_;
  DType dtype_;
  DecodeLimits limits_;
  ChannelMap map_;
};

// Replaces each folder among the arguments by the files below it and keeps the order. Missing paths
// and empty folders stay in the list: they are reported together with the files that cannot be
// read. Throws UsageError if there is no file at all.
std::vector<std::string> list_pictures(const std::vector<std::string>& paths);

// The size to which a picture is scaled if the network leaves its height, its width or both open.
struct SizeChoice {
  int64_t height = 0;    // 0: open
  int64_t width = 0;     // 0: open
  int64_t multiple = 1;  // open sides are rounded to multiples of it, at least one
};
// If both sides are open, the size is that of the picture; a single open side keeps the proportions
// of the picture. Throws what reading the file throws.
ImageSize input_size(const std::string& file, const SizeChoice& choice);
// Whether that is `size`; false for a file that cannot be read.
bool has_input_size(const std::string& file, const SizeChoice& choice, const ImageSize& size);

// Why pictures could not be read, by their places in the list. Filled by the threads that read.
class UnreadPictures {
 public:
  void add(int64_t index, const std::string& why);
  std::map<int64_t, std::string> take();  // and forgets them

 private:
  std::mutex mutex_;
  std::map<int64_t, std::string> why_;
};

// Samples x of `dtype`, f32 or u8, [height, width, channels]. A file that cannot be read is a
// sample of zeros and is added to `unread`. Pictures are turned upright, and get colours or lose
// them as the preparation says. Throws InvalidArgument for u8 if the values change.
Dataset open_pictures(std::vector<std::string> files, const PicturePreparation& preparation,
                      DType dtype, std::shared_ptr<UnreadPictures> unread);

}  // namespace pando::app
