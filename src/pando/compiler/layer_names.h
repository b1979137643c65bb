// Finds the layer that a node of a program came from, by its name.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pando::compiler {

// Nodes are named after their layer, with a suffix ("conv2d/kernel") where it has several, and with
// "/grad" behind that when they belong to backward.
class LayerNames {
 public:
  // In the order of execution; each once.
  explicit LayerNames(const std::vector<std::string>& layers);

  // The number of the layer; -1 for a node of none, as those of the loss.
  int find(std::string_view node) const;
  // Its name; of a node of no layer, the node's own without "/grad".
  std::string name_of(std::string_view node) const;

  static bool is_backward(std::string_view node);

 private:
  std::vector<std::string> names_;
  std::map<std::string, int, std::less<>> numbers_;
};

}  // namespace pando::compiler
