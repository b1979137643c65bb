// Reads any text as a graph. What was read is written and read again. Expects the same graph or an
// InvalidArgument.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/ir/text.h"
#include "tests/fuzz/targets.h"

void pando::fuzz::graph_text(Input input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  std::string written;
  try {
    written = ir::to_text(ir::parse_graph(text));
  } catch (const InvalidArgument&) {
    return;
  }
  PANDO_CHECK(ir::to_text(ir::parse_graph(written)) == written);
}
