// The text form of a graph, which `--dump-ir` writes and parse_graph() reads.
//
//   graph(x: f32[8,28,28,1] feed, f: f32[3,3,1,32] variable) {
//     c: f32[8,26,26,32] = conv(x, f) {padding="valid"} @conv2d
//     y, index = max_pool(c) {window=[2,2]}
//     return result output=y
//   }
//
// Types of nodes' values are optional (infer-shapes fills them in). `@name` is the node's name,
// omitted if it is the op's name; `^1` is its pipeline stage, omitted for 0; `%layout:elements`
// follows the type of a value that is not in the plain layout.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "pando/ir/graph.h"

namespace pando::ir {

struct PrintOptions {
  bool types = true;
};

std::string to_text(const Graph& graph, PrintOptions options = {});

// Throws InvalidArgument with line and column.
Graph parse_graph(std::string_view text);

}  // namespace pando::ir
