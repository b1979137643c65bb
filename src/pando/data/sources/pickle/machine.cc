// The stack machine of the pickle format, without the opcodes that could run code.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <limits>

#include "pando/data/sources/pickle/store.h"

namespace pando::data {

namespace {

constexpr uint32_t kNothing = std::numeric_limits<uint32_t>::max();
// Limits memory: a file of one-byte values would take a hundred times its size. CIFAR-100 has
// 150,000 values.
constexpr size_t kMostValues = size_t{1} << 22;
constexpr size_t kMostArguments = 4;

class Machine {
 public:
  Machine(std::span<const uint8_t> content, PickleStore& store)
      : content_(content), store_(store) {}

  uint32_t run();

 private:
  template <typename... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    store_.fail(opcode_at_, parts...);
  }
  [[noreturn]] void refuse(uint8_t opcode) const;

  // These take bytes from the rest of the file.
  std::span<const uint8_t> take(uint64_t count);
  uint64_t take_number(size_t bytes);  // little-endian, unsigned
  std::span<const uint8_t> take_line();

  // The stack: values below a mark cannot be popped.
  void push(uint32_t id) { stack_.push_back(id); }
  PickleNode& push_new(PickleKind kind);
  void push_integer(int64_t value, PickleKind kind = PickleKind::integer);
  void push_bytes(PickleKind kind, size_t length_bytes);
  uint32_t top() const;
  uint32_t pop();
  std::vector<uint32_t> pop_to_mark();

  bool step(uint8_t opcode);  // whether the opcode is one that makes values
  bool step_structure(uint8_t opcode);
  void start();
  void check_frame(uint64_t bytes) const;
  void remember(uint64_t index);
  void recall(uint64_t index);
  void push_tuple(size_t count);
  void push_long();
  void push_name(std::string_view module, std::string_view name);
  void push_stacked_name();
  void append(const std::vector<uint32_t>& items);
  void set_items(const std::vector<uint32_t>& items);
  void reduce();
  void build();
  void build_array(uint32_t array, const PickleNode& state);
  void make_array(uint32_t array, const std::array<uint32_t, 3>& parts, bool column_major);
  bool flag(uint32_t id) const;

  std::span<const uint8_t> content_;
  PickleStore& store_;
  size_t at_ = 0;
  size_t opcode_at_ = 0;
  std::vector<uint32_t> stack_;
  std::vector<size_t> marks_;  // sizes of the stack
  std::vector<uint32_t> memo_;
  uint32_t remembered_ = 0;
};

std::string_view as_text(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void Machine::refuse(uint8_t opcode) const {
  const char* name = refused_opcode_name(opcode);
  fail(name == nullptr ? "unknown opcode " : concat("opcode ", name, ", byte "),
       static_cast<int>(opcode), ", expected an opcode that numbers, text or numpy arrays use");
}

std::span<const uint8_t> Machine::take(uint64_t count) {
  const size_t left = content_.size() - at_;
  if (count > left) fail("truncated: expected ", count, " more bytes, got ", left);
  const auto taken = content_.subspan(at_, count);
  at_ += count;
  return taken;
}

uint64_t Machine::take_number(size_t bytes) {
  uint64_t value = 0;
  const auto taken = take(bytes);
  for (size_t b = bytes; b > 0; --b) value = value << 8 | taken[b - 1];
  return value;
}

std::span<const uint8_t> Machine::take_line() {
  const auto rest = content_.subspan(at_);
  const auto end = std::ranges::find(rest, uint8_t{'\n'});
  if (end == rest.end()) fail("truncated: a name has no end of line");
  const auto line = take(static_cast<uint64_t>(end - rest.begin()));
  take(1);
  return line;
}

PickleNode& Machine::push_new(PickleKind kind) {
  if (store_.nodes.size() == kMostValues) {
    fail("more than ", kMostValues, " values, expected the few of an archive of images");
  }
  push(static_cast<uint32_t>(store_.nodes.size()));
  PickleNode& node = store_.nodes.emplace_back();
  node.kind = kind;
  node.offset = opcode_at_;
  return node;
}

void Machine::push_integer(int64_t value, PickleKind kind) { push_new(kind).integer = value; }

void Machine::push_bytes(PickleKind kind, size_t length_bytes) {
  const auto bytes = take(take_number(length_bytes));
  push_new(kind).bytes = bytes;
}

uint32_t Machine::top() const {
  if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) {
    fail("the opcode needs a value, but there is none on the stack");
  }
  return stack_.back();
}

uint32_t Machine::pop() {
  const uint32_t id = top();
  stack_.pop_back();
  return id;
}

std::vector<uint32_t> Machine::pop_to_mark() {
  if (marks_.empty()) fail("the opcode needs a mark, but there is none on the stack");
  const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<uint32_t> items(first, stack_.end());
  stack_.erase(first, stack_.end());
  marks_.pop_back();
  return items;
}

void Machine::start() {
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
void Machine::check_frame(uint64_t bytes) const {
  const size_t left = content_.size() - at_;
  if (bytes > left) fail("truncated: expected a frame of ", bytes, " bytes, got ", left);
}

uint32_t Machine::run() {
  start();
  while (true) {
    opcode_at_ = at_;
    const uint8_t opcode = take(1)[0];
    if (opcode == '.') break;
    if (!step(opcode) && !step_structure(opcode)) refuse(opcode);
  }
  const uint32_t result = pop();
  if (at_ != content_.size()) {
    fail("the pickle ends here, but ", content_.size() - at_, " bytes follow");
  }
  return result;
}

bool Machine::step(uint8_t opcode) {
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

bool Machine::step_structure(uint8_t opcode) {
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
void Machine::remember(uint64_t index) {
  if (index > content_.size()) {  // the table costs no more than the file
    fail("remembers a value as number ", index, ", expected at most ", content_.size());
  }
  if (memo_.size() <= index) memo_.resize(index + 1, kNothing);
  memo_[index] = top();
  ++remembered_;
}

void Machine::recall(uint64_t index) {
  if (index >= memo_.size() || memo_[index] == kNothing) {
    fail("recalls value ", index, ", which was never remembered");
  }
  push(memo_[index]);
}

void Machine::push_tuple(size_t count) {
  std::vector<uint32_t> items(count);
  for (size_t i = count; i > 0; --i) items[i - 1] = pop();
  push_new(PickleKind::tuple).items = std::move(items);
}

void Machine::push_long() {
  const uint64_t bytes = take_number(1);
  if (bytes > 8) fail("an integer of ", bytes, " bytes, expected at most 8");
  const uint64_t value = take_number(bytes);
  if (bytes == 0) return push_integer(0);
  const auto unused = static_cast<int>(64 - 8 * bytes);
  push_integer(static_cast<int64_t>(value << unused) >> unused);
}

void Machine::push_name(std::string_view module, std::string_view name) {
  const std::optional<PickleName> known = known_pickle_name(module, name);
  if (!known) {
    fail("asks for '", module.substr(0, 100), ".", name.substr(0, 100),
         "', expected only the arrays of numpy; such a file can run any code, so it is refused");
  }
  push_new(PickleKind::name).name = *known;
}

void Machine::push_stacked_name() {
  const std::string_view name = as_text(store_.expect(pop(), PickleKind::text).bytes);
  const std::string_view module = as_text(store_.expect(pop(), PickleKind::text).bytes);
  push_name(module, name);
}

void Machine::append(const std::vector<uint32_t>& items) {
  store_.expect(top(), PickleKind::list);
  std::vector<uint32_t>& list = store_.nodes[top()].items;
  list.insert(list.end(), items.begin(), items.end());
}

void Machine::set_items(const std::vector<uint32_t>& items) {
  store_.expect(top(), PickleKind::dict);
  if (items.size() % 2 != 0) fail(items.size(), " keys and values, expected an even number");
  std::vector<uint32_t>& dict = store_.nodes[top()].items;
  dict.insert(dict.end(), items.begin(), items.end());
}

bool Machine::flag(uint32_t id) const {
  if (store_.at(id).kind == PickleKind::boolean) return store_.at(id).integer != 0;
  return store_.expect(id, PickleKind::integer).integer != 0;
}

void Machine::make_array(uint32_t array, const std::array<uint32_t, 3>& parts, bool column_major) {
  store_.expect(parts[0], PickleKind::tuple);
  store_.expect(parts[1], PickleKind::dtype);
  if (store_.at(parts[2]).kind != PickleKind::text) store_.expect(parts[2], PickleKind::bytes);
  PickleNode& node = store_.nodes[array];
  node.items.assign(parts.begin(), parts.end());
  node.integer = column_major ? 1 : 0;
  node.built = true;
}

// callable, arguments -> what numpy would make of them
void Machine::reduce() {
  const uint32_t arguments = pop();
  const uint32_t callable = pop();
  const PickleName name = store_.expect(callable, PickleKind::name).name;
  const size_t count_given = store_.expect(arguments, PickleKind::tuple).items.size();
  if (count_given > kMostArguments) {
    fail("a call with ", count_given, " arguments, expected at most ", kMostArguments);
  }
  const std::vector<uint32_t> given = store_.at(arguments).items;
  const auto want = [&](size_t count, const char* what) {
    if (given.size() != count) {
      fail(what, " with ", given.size(), " arguments, expected ", count);
    }
  };
  switch (name) {
    case PickleName::reconstruct:
      want(3, "an array");
      push_new(PickleKind::array);
      return;
    case PickleName::frombuffer: {
      want(4, "an array");
      const auto order = as_text(store_.expect(given[3], PickleKind::text).bytes);
      if (order != "C" && order != "F") {
        fail("an array in order '", order.substr(0, 9), "', expected C or F");
      }
      push_new(PickleKind::array);
      return make_array(top(), {given[2], given[1], given[0]}, order == "F");
    }
    case PickleName::dtype: {
      want(3, "a dtype");
      const auto bytes = store_.expect(given[0], PickleKind::text).bytes;
      push_new(PickleKind::dtype).bytes = bytes;
      return;
    }
    case PickleName::encode:
      want(2, "encoded text");
      store_.expect(given[0], PickleKind::text);
      if (as_text(store_.expect(given[1], PickleKind::text).bytes) != "latin1") {
        fail("text in another encoding, expected latin1");
      }
      push_new(PickleKind::bytes).items = {given[0]};
      return;
    case PickleName::ndarray: fail("calls numpy.ndarray, expected numpy's _reconstruct");
  }
}

// object, state -> the object with its contents
void Machine::build() {
  const uint32_t state_id = pop();
  const uint32_t object = top();
  const PickleNode& state = store_.expect(state_id, PickleKind::tuple);
  if (store_.at(object).kind == PickleKind::array) return build_array(object, state);
  store_.expect(object, PickleKind::dtype);
  if (state.items.size() < 2) {
    fail("a dtype with ", state.items.size(), " parts, expected at least 2");
  }
  const auto order = as_text(store_.expect(state.items[1], PickleKind::text).bytes);
  if (order != "|" && order != "<" && order != "=" && order != ">") {
    fail("a dtype in byte order '", order.substr(0, 9), "', expected one of | < = >");
  }
  store_.nodes[object].integer = order == ">" ? 1 : 0;
}

void Machine::build_array(uint32_t array, const PickleNode& state) {
  if (state.items.size() != 5) {
    fail("an array with ", state.items.size(),
         " parts, expected 5: version, shape, dtype, order, bytes");
  }
  const int64_t version = store_.expect(state.items[0], PickleKind::integer).integer;
  if (version != 1) fail("an array of version ", version, ", expected 1");
  const bool column_major = flag(state.items[3]);
  make_array(array, {state.items[1], state.items[2], state.items[4]}, column_major);
}

}  // namespace

uint32_t run_pickle(std::span<const uint8_t> content, PickleStore& store) {
  return Machine(content, store).run();
}

}  // namespace pando::data
