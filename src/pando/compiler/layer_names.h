// Finds the layer that a node of a program came from, by its name.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pando::compiler {

// A node is named after its layer, with a suffix ("conv2d/kernel") if the layer has several nodes,
// and then "/grad" if it belongs to backward.
class LayerNames {
 public:
  // `layers` are in the order of execution, without duplicates.
  explicit LayerNames(const std::vector<std::string>& layers);

  // The number of the layer; -1 for a node of no layer, such as the loss.
  int find(std::string_view node) const;
  // The name of the layer; for a node of no layer, the name of the node without "/grad".
  std::string name_of(std::string_view node) const;

  static bool is_backward(std::string_view node);

 private:
  std::vector<std::string> names_;
  std::map<std::string, int, std::less<>> numbers_;
};

}  // namespace pando::compiler
