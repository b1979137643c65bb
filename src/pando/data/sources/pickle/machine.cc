// The stack machine of the pickle format, without the opcodes that could run code.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>

#include "pando/data/sources/pickle/machine_impl.h"

namespace pando::data {

namespace {

constexpr uint32_t kNothing = std::numeric_limits<uint32_t>::max();
// Limits memory: a file of one-byte values would take a hundred times its size. CIFAR-100 has
// 150,000 values.
constexpr size_t kMostValues = size_t{1} << 22;

}  // namespace

void PickleMachine::refuse(uint8_t opcode) const {
  const char* name = refused_opcode_name(opcode);
  fail(name == nullptr ? "unknown opcode " : concat("opcode ", name, ", byte "),
       static_cast<int>(opcode), ", expected an opcode that numbers, text or numpy arrays use");
}

std::span<const uint8_t> PickleMachine::take(uint64_t count) {
  if (count > content_.size() - at_) fail_at_end(count);
  const auto taken = content_.subspan(at_, count);
  at_ += count;
  return taken;
}

void PickleMachine::fail_at_end(uint64_t count) {
  ended_ = true;
  fail("truncated: expected ", count, " more bytes, got ", content_.size() - at_);
}

uint64_t PickleMachine::take_number(size_t bytes) {
  uint64_t value = 0;
  const auto taken = take(bytes);
  for (size_t b = bytes; b > 0; --b) value = value << 8 | taken[b - 1];
  return value;
}

std::span<const uint8_t> PickleMachine::take_line() {
  const auto rest = content_.subspan(at_);
  const auto end = std::ranges::find(rest, uint8_t{'\n'});
  if (end == rest.end()) {
    ended_ = true;
    fail("truncated: a name has no end of line");
  }
  const auto line = take(static_cast<uint64_t>(end - rest.begin()));
  take(1);
  return line;
}

PickleNode& PickleMachine::push_new(PickleKind kind) {
  if (store_.nodes.size() == kMostValues) {
    fail("more than ", kMostValues, " values, expected the few of an archive of images");
  }
  push(static_cast<uint32_t>(store_.nodes.size()));
  PickleNode& node = store_.nodes.emplace_back();
  node.kind = kind;
  node.offset = opcode_at_;
  return node;
}

void PickleMachine::push_integer(int64_t value, PickleKind kind) { push_new(kind).integer = value; }

void PickleMachine::push_bytes(PickleKind kind, size_t length_bytes) {
  const uint64_t count = take_number(length_bytes);
  if (cut_ != nullptr && count > content_.size() - at_) {  // what is left of them
    push_new(kind).bytes = content_.subspan(at_);
    fail_at_end(count);
  }
  const auto bytes = take(count);
  push_new(kind).bytes = bytes;
}

uint32_t PickleMachine::top() const {
  if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) {
    fail("the opcode needs a value, but there is none on the stack");
  }
  return stack_.back();
}

uint32_t PickleMachine::pop() {
  const uint32_t id = top();
  stack_.pop_back();
  return id;
}

std::vector<uint32_t> PickleMachine::pop_to_mark() {
  if (marks_.empty()) fail("the opcode needs a mark, but there is none on the stack");
  const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<uint32_t> items(first, stack_.end());
  stack_.erase(first, stack_.end());
  marks_.pop_back();
  return items;
}

void PickleMachine::start() {
  if (content_.size() < 2 || content_[0] != 0x80 || content_[1] < 2 || content_[1] > 5) {
    const auto byte = [&](size_t i) {
      return i < content_.size() ? concat(static_cast<int>(content_[i])) : "the end";
    };
    fail("not a pickle that can be read: expected byte 128 and a protocol from 2 to 5, got ",
         byte(0), " and ", byte(1));
  }
  at_ = 2;
}

// Frames only say how much to read at once.
void PickleMachine::check_frame(uint64_t bytes) {
  const size_t left = content_.size() - at_;
  if (bytes <= left) return;
  if (cut_ != nullptr) {  // the values in what is left of it count
    has_short_frame_ = true;
    return;
  }
  fail("truncated: expected a frame of ", bytes, " bytes, got ", left);
}

uint32_t PickleMachine::run() {
  start();
  try {
    run_opcodes();
  } catch (const IoError& error) {
    if (cut_ == nullptr || !ended_) throw;
    *cut_ = error.what();
    store_.is_cut = true;
    return close_values();
  }
  const uint32_t result = pop();
  if (at_ != content_.size()) {
    fail("the pickle ends here, but ", content_.size() - at_, " bytes follow");
  }
  if (has_short_frame_) fail("truncated: the pickle ends within a frame");
  return result;
}

void PickleMachine::run_opcodes() {
  while (true) {
    opcode_at_ = at_;
    const uint8_t opcode = take(1)[0];
    if (opcode == '.') return;
    if (!step(opcode) && !step_structure(opcode)) refuse(opcode);
  }
}

bool PickleMachine::step(uint8_t opcode) {
  switch (opcode) {
    case 'N': push_new(PickleKind::none); return true;
    case 0x88: push_integer(1, PickleKind::boolean); return true;
    case 0x89: push_integer(0, PickleKind::boolean); return true;
    case 'K': push_integer(static_cast<int64_t>(take_number(1))); return true;
    case 'M': push_integer(static_cast<int64_t>(take_number(2))); return true;
    case 'J': push_integer(static_cast<int32_t>(take_number(4))); return true;
    case 0x8a: push_long(); return true;
    case 'U':
    case 0x8c: push_bytes(PickleKind::text, 1); return true;
    case 'T':
    case 'X': push_bytes(PickleKind::text, 4); return true;
    case 0x8d: push_bytes(PickleKind::text, 8); return true;
    case 'C': push_bytes(PickleKind::bytes, 1); return true;
    case 'B': push_bytes(PickleKind::bytes, 4); return true;
    case 0x8e:
    case 0x96: push_bytes(PickleKind::bytes, 8); return true;
    case '}': push_new(PickleKind::dict); return true;
    case ']': push_new(PickleKind::list); return true;
    case ')': push_new(PickleKind::tuple); return true;
    default: return false;
  }
}

bool PickleMachine::step_structure(uint8_t opcode) {
  switch (opcode) {
    case 0x95: check_frame(take_number(8)); return true;
    case '(': marks_.push_back(stack_.size()); return true;
    case 't': {
      std::vector<uint32_t> items = pop_to_mark();
      push_new(PickleKind::tuple).items = std::move(items);
      return true;
    }
    case 0x85:
    case 0x86:
    case 0x87: push_tuple(opcode - 0x84u); return true;
    case 'q': remember(take_number(1)); return true;
    case 'r': remember(take_number(4)); return true;
    case 0x94: remember(remembered_); return true;
    case 'h': recall(take_number(1)); return true;
    case 'j': recall(take_number(4)); return true;
    case 'a': append({pop()}); return true;
    case 'e': append(pop_to_mark()); return true;
    case 's': {
      const uint32_t value = pop();
      set_items({pop(), value});
      return true;
    }
    case 'u': set_items(pop_to_mark()); return true;
    case 'c': {
      const std::string_view module = as_text(take_line());
      push_name(module, as_text(take_line()));
      return true;
    }
    case 0x93: push_stacked_name(); return true;
    case 'R': reduce(); return true;
    case 'b': build(); return true;
    default: return false;
  }
}

// A pickler numbers the values that it remembers from 0 or 1 upwards, and each takes at least a
// byte.
void PickleMachine::remember(uint64_t index) {
  if (index > content_.size()) {  // the table costs no more than the file
    fail("remembers a value as number ", index, ", expected at most ", content_.size());
  }
  if (memo_.size() <= index) memo_.resize(index + 1, kNothing);
  memo_[index] = top();
  ++remembered_;
}

void PickleMachine::recall(uint64_t index) {
  if (index >= memo_.size() || memo_[index] == kNothing) {
    fail("recalls value ", index, ", which was never remembered");
  }
  push(memo_[index]);
}

void PickleMachine::push_tuple(size_t count) {
  std::vector<uint32_t> items(count);
  for (size_t i = count; i > 0; --i) items[i - 1] = pop();
  push_new(PickleKind::tuple).items = std::move(items);
}

void PickleMachine::push_long() {
  const uint64_t bytes = take_number(1);
  if (bytes > 8) fail("an integer of ", bytes, " bytes, expected at most 8");
  const uint64_t value = take_number(bytes);
  if (bytes == 0) return push_integer(0);
  const auto unused = static_cast<int>(64 - 8 * bytes);
  push_integer(static_cast<int64_t>(value << unused) >> unused);
}

void PickleMachine::push_name(std::string_view module, std::string_view name) {
  const std::optional<PickleName> known = known_pickle_name(module, name);
  if (!known) {
    fail("asks for '", module.substr(0, 100), ".", name.substr(0, 100),
         "', expected only the arrays of numpy; such a file can run any code, so it is refused");
  }
  push_new(PickleKind::name).name = *known;
}

void PickleMachine::push_stacked_name() {
  const std::string_view name = as_text(store_.expect(pop(), PickleKind::text).bytes);
  const std::string_view module = as_text(store_.expect(pop(), PickleKind::text).bytes);
  push_name(module, name);
}

void PickleMachine::append(const std::vector<uint32_t>& items) {
  store_.expect(top(), PickleKind::list);
  std::vector<uint32_t>& list = store_.nodes[top()].items;
  list.insert(list.end(), items.begin(), items.end());
}

void PickleMachine::set_items(const std::vector<uint32_t>& items) {
  store_.expect(top(), PickleKind::dict);
  if (items.size() % 2 != 0) fail(items.size(), " keys and values, expected an even number");
  std::vector<uint32_t>& dict = store_.nodes[top()].items;
  dict.insert(dict.end(), items.begin(), items.end());
}

uint32_t run_pickle(std::span<const uint8_t> content, PickleStore& store, std::string* cut) {
  return PickleMachine(content, store, cut).run();
}

}  // namespace pando::data
