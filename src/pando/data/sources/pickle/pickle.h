// Reads the part of Python's pickle format that data files of numbers, text and numpy arrays use
// (protocols 2 to 5). A pickle is a program that may call anything; here nothing is ever called:
// the few names of numpy that stand for arrays are recognised, every other name and every other
// opcode is refused with its offset.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pando::data {

enum class PickleKind {
  none,
  boolean,
  integer,
  text,   // str, or the byte strings of Python 2
  bytes,  // also bytes that Python 3 wrote for protocol 2, as text to encode
  list,
  tuple,
  dict,
  name,  // a recognised name such as numpy.ndarray
  dtype,
  array,
};

// A numpy array as it lies in the file.
struct PickleArray {
  PickleArray() = default;
  PickleArray(PickleArray&&) = default;  // no copies: `bytes` may be a view of `decoded`
  PickleArray& operator=(PickleArray&&) = default;

  char type = 'u';  // as in numpy: u unsigned, i signed, f float, b boolean
  size_t item_bytes = 1;
  bool big_endian = false;
  bool column_major = false;
  std::vector<int64_t> shape;
  std::span<const uint8_t> bytes;  // a view of the file or of `decoded`
  std::vector<uint8_t> decoded;

  int64_t elements() const;
  // Element `index` in the order of the bytes. Requires: type u, i or b.
  int64_t integer_at(size_t index) const;
};

struct PickleStore;

// One value; a handle that shares the whole pickle. Values may contain themselves. Spans that it
// returns are views of the file's content. All errors are IoError with place and offset.
class PickleValue {
 public:
  PickleValue(std::shared_ptr<const PickleStore> store, uint32_t id);

  PickleKind kind() const;
  size_t offset() const;         // where in the file the value begins
  std::string describe() const;  // "a list of 3 items"

  size_t size() const;                // of a list, a tuple or a dict
  PickleValue at(size_t item) const;  // of a list or a tuple
  // The last entry of a dict under a key of text or bytes.
  std::optional<PickleValue> find(std::string_view key) const;
  // The first keys of a dict that are text or bytes, shortened for messages.
  std::vector<std::string> keys() const;

  int64_t integer() const;
  std::string text() const;  // of text or bytes
  PickleArray array() const;

 private:
  std::shared_ptr<const PickleStore> store_;
  uint32_t id_;
};

// The value of a whole pickle. `content` must outlive it; `place` names the file in errors. Memory
// and time are proportional to the size of the content. Throws IoError.
//
// With `cut`, content that ends too early gives the values up to its end, and the error goes to
// `cut`: lists and dicts are shorter, and arrays may have fewer bytes than their shapes need.
PickleValue parse_pickle(std::span<const uint8_t> content, const std::string& place,
                         std::string* cut = nullptr);

}  // namespace pando::data
