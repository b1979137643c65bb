// SPDX-License-Identifier: MIT
#include "pando/data/sources/numpy/npy_header.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "pando/base/checked.h"
#include "pando/base/strings.h"

namespace pando::data {

namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr size_t kMostNpyAxes = 32;  // of NumPy
constexpr int64_t kMostNpyBytes = int64_t{1} << 46;

// Reads the dictionary from front to back.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& place) : rest_(text), place_(place) {}

  NpyHeader read() {
    NpyHeader header;
    std::set<std::string> keys;
    expect('{');
    while (!take('}')) {
      const std::string key = read_string();
      expect(':');
      if (key == "descr") {
        set_type(header);
      } else if (key == "fortran_order") {
        header.fortran_order = read_bool();
      } else if (key == "shape") {
        header.shape = read_shape();
      } else {
        fail(concat("has the key '", key, "', expected descr, fortran_order and shape"));
      }
      keys.insert(key);
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    if (keys.size() != 3) fail("lacks descr, fortran_order or shape");
    if (!trim(rest_).empty()) fail("has text after its dictionary");
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw IoError(place_, ": the header of the NumPy array ", why);
  }

  void skip_blanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n'))
      rest_.remove_prefix(1);
  }
  bool take(char wanted) {
    skip_blanks();
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char wanted) {
    if (take(wanted)) return;
    fail(concat("has '", rest_.substr(0, 12), "', expected ", wanted));
  }
  bool take_word(std::string_view word) {
    skip_blanks();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  std::string read_string() {
    skip_blanks();
    const char quote = rest_.empty() ? '\0' : rest_.front();
    if (quote != '\'' && quote != '"') fail("has a value that is not in quotes");
    const size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) fail("ends within quotes");
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }

  bool read_bool() {
    if (take_word("True")) return true;
    if (take_word("False")) return false;
    fail("has another fortran_order than True or False");
  }

  Shape read_shape() {
    std::vector<int64_t> dims;
    expect('(');
    while (!take(')')) {
      skip_blanks();
      const size_t end = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
      const std::optional<int64_t> extent = parse_int(rest_.substr(0, end));
      if (!extent || dims.size() == kMostNpyAxes) fail("has a shape that is not one of numbers");
      dims.push_back(*extent);
      rest_.remove_prefix(end);
      take('L');  // Python 2 writes long integers as 60000L
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    return Shape(std::move(dims));
  }

  void set_type(NpyHeader& header) {
    skip_blanks();
    if (!rest_.empty() && rest_.front() == '[') {
      fail("asks for records of several fields; save each field as an array of its own");
    }
    const std::string type = read_string();
    const std::string known = "; expected numbers (u1, i1 to i8, u2 to u8, f2, f4, f8) or b1";
    if (type.find('O') != std::string::npos) {
      fail(concat("asks for Python objects ('", type,
                  "'), which could run any program when they are read; save numbers: "
                  "array.astype('float32')"));
    }
    if (type.size() < 3 || std::string_view("<>|=").find(type[0]) == std::string_view::npos) {
      fail(concat("has the type '", type, "'", known));
    }
    header.big_endian = type[0] == '>';
    header.kind = type[1];
    header.size = parse_int(std::string_view(type).substr(2)).value_or(0);
    const auto is_size = [&](std::initializer_list<int64_t> sizes) {
      return std::ranges::find(sizes, header.size) != sizes.end();
    };
    const bool is_known = header.kind == 'b'                         ? is_size({1})
                          : header.kind == 'f'                       ? is_size({2, 4, 8})
                          : header.kind == 'i' || header.kind == 'u' ? is_size({1, 2, 4, 8})
                                                                     : false;
    if (!is_known) fail(concat("has the type '", type, "'", known));
  }

  std::string_view rest_;
  const std::string& place_;
};

void check_size(const NpyHeader& header, const std::string& place) {
  int64_t bytes = header.size;
  for (const int64_t extent : header.shape) {
    const std::optional<int64_t> product = product_of({bytes, std::max<int64_t>(extent, 1)});
    if (product && *product <= kMostNpyBytes) {
      bytes = *product;
      continue;
    }
    throw IoError(place, ": the header asks for an array ", header.shape,
                  ", more than any file holds");
  }
}

}  // namespace

NpyHeader parse_npy_header(std::span<const uint8_t> content, const std::string& place) {
  const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
  if (!text.starts_with(kNpyMagic) || text.size() < kNpyMagic.size() + 4) {
    throw IoError(place,
                  ": not a NumPy array: expected it to begin with \\x93NUMPY, a version and "
                  "a header");
  }
  const int version = content[kNpyMagic.size()];
  if (version < 1 || version > 3) {
    throw IoError(place, ": version ", version, " of NumPy's format, expected 1 to 3");
  }
  const size_t width = version == 1 ? 2 : 4;  // of the length
  const size_t begin = kNpyMagic.size() + 2 + width;
  size_t length = 0;
  for (size_t i = 0; i < width && begin <= content.size(); ++i) {
    length |= size_t{content[begin - width + i]} << (8 * i);
  }
  if (begin > content.size() || length > content.size() - begin) {
    throw IoError(place, ": truncated in the header of the NumPy array: ", content.size(),
                  " bytes, expected ", begin + length);
  }
  NpyHeader header = HeaderReader(text.substr(begin, length), place).read();
  header.bytes = begin + length;
  check_size(header, place);
  return header;
}

}  // namespace pando::data
