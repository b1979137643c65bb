// Ends a pickle that is cut: what the stack holds becomes the contents of the values that were
// being filled.
// SPDX-License-Identifier: MIT
#include <utility>

#include "pando/data/sources/pickle/machine_impl.h"

namespace pando::data {

// Values between two marks belong to the value below the first mark:
//   dict, mark, key, list, mark, 1, 2   ->   dict, mark, key, list [1, 2]   ->   dict {key: [1, 2]}
uint32_t PickleMachine::close_values() {
  while (!marks_.empty()) {
    std::vector<uint32_t> items = pop_to_mark();
    const bool has_owner = stack_.size() > (marks_.empty() ? 0 : marks_.back());
    const PickleKind owner = has_owner ? store_.at(top()).kind : PickleKind::none;
    if (owner == PickleKind::list) append(items);
    if (owner == PickleKind::dict) {
      if (items.size() % 2 != 0) items.pop_back();  // a key without a value
      set_items(items);
    }
    if (owner == PickleKind::array) close_array(std::move(items));
  }
  if (stack_.empty()) fail("truncated: the pickle has no value");
  return stack_.front();
}

// The last of the five parts, the bytes, may be text that was to be encoded.
void PickleMachine::close_array(std::vector<uint32_t> parts) {
  if (parts.size() == 6 && store_.at(parts[4]).kind == PickleKind::name &&
      store_.at(parts[5]).kind == PickleKind::text) {
    PickleNode& text = store_.nodes[parts[5]];
    if (!text.bytes.empty() && text.bytes.back() >= 0xc0) {  // the first half of a character
      text.bytes = text.bytes.first(text.bytes.size() - 1);
    }
    push_new(PickleKind::bytes).items = {parts[5]};
    parts[4] = pop();
    parts.pop_back();
  }
  if (parts.size() != 5) return;
  push_new(PickleKind::tuple).items = std::move(parts);
  build();
}

}  // namespace pando::data
