// Picture files as inputs of a network, prepared as its facts say.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "pando/data/dataset.h"
#include "pando/train/model_facts.h"

namespace pando::app {

// The files among the arguments, and those below the folders among them, in this order. Throws
// UsageError for a path that does not exist and for a folder without files.
std::vector<std::string> list_pictures(const std::vector<std::string>& paths);

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
