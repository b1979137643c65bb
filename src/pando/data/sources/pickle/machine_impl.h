// The stack machine of the pickle format. Private to the reader.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include "pando/data/sources/pickle/store.h"

namespace pando::data {

inline std::string_view as_text(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class PickleMachine {
 public:
  // `cut`: as for run_pickle().
  PickleMachine(std::span<const uint8_t> content, PickleStore& store, std::string* cut)
      : content_(content), store_(store), cut_(cut) {}

  uint32_t run();

 private:
  template <typename... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    store_.fail(opcode_at_, parts...);
  }
  [[noreturn]] void refuse(uint8_t opcode) const;
  [[noreturn]] void fail_at_end(uint64_t count);  // that many bytes are missing

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

  void run_opcodes();
  bool step(uint8_t opcode);  // whether the opcode is one that makes values
  bool step_structure(uint8_t opcode);
  void start();
  void check_frame(uint64_t bytes);
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
  uint32_t close_values();
  void close_array(std::vector<uint32_t> parts);

  std::span<const uint8_t> content_;
  PickleStore& store_;
  std::string* cut_;
  bool ended_ = false;            // the content ended in the middle
  bool has_short_frame_ = false;  // with cut_
  size_t at_ = 0;
  size_t opcode_at_ = 0;
  std::vector<uint32_t> stack_;
  std::vector<size_t> marks_;  // sizes of the stack
  std::vector<uint32_t> memo_;
  uint32_t remembered_ = 0;
};

}  // namespace pando::data
