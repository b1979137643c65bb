// The networks of a model for samples of other sizes than its own: the few that were used last.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <list>
#include <string>
#include <vector>

#include "pando/data/source.h"
#include "pando/train/open_sizes.h"

namespace pando::train {

class OtherSizes {
 public:
  static constexpr size_t kMost = 4;
  // Called with the fields of the data, as to_string() has them, whose network is forgotten.
  using Drop = std::function<void(const std::string& fields)>;

  void set(OpenSizes open);
  const OpenSizes& open() const { return open_; }

  // The network for data with these fields, made when first needed; null if `own` is the one, or if
  // more differs than extents of open axes. Throws InvalidArgument if it does not have the weights
  // of `own`.
  const Network* find(const Network& own, const std::vector<Field>& fields, const Drop& drop);
  // Forgets all networks but that for these fields; returns whether there was another.
  bool keep_only(const std::vector<Field>& fields, const Drop& drop);

 private:
  struct Entry {
    std::string fields;
    Network network;
  };

  OpenSizes open_;
  std::list<Entry> recent_;  // the last used one first
};

}  // namespace pando::train
