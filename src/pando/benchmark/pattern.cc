// SPDX-License-Identifier: MIT
#include "pando/benchmark/pattern.h"

#include <algorithm>
#include <array>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "pando/benchmark/valid_text.h"
#include "pando/options/usage_error.h"

namespace pando::benchmark {
namespace {

// A line of megabytes and a regular expression with nested repetitions must not stop the program.
constexpr uint32_t kMostSteps = 1'000'000;
constexpr uint32_t kMostHeapKibibytes = 64 << 10;

std::string error_text(int code) {
  std::array<PCRE2_UCHAR, 200> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

PCRE2_SPTR bytes_of(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

}  // namespace

struct Pattern::Compiled {
  pcre2_code* code = nullptr;
  pcre2_match_context* context = nullptr;
  pcre2_match_data* data = nullptr;
  uint32_t groups = 0;
};

void Pattern::Deleter::operator()(Compiled* compiled) const {
  pcre2_match_data_free(compiled->data);
  pcre2_match_context_free(compiled->context);
  pcre2_code_free(compiled->code);
  delete compiled;
}

Pattern::Pattern(const std::string& text, const std::string& place) : compiled_(new Compiled) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  const uint32_t options = PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C;
  compiled_->code = pcre2_compile(bytes_of(text), text.size(), options, &error, &offset, nullptr);
  if (compiled_->code == nullptr) {
    throw UsageError(place, ": regexp '", text, "': ", error_text(error), " (at character ",
                     offset + 1, ")");
  }
  pcre2_pattern_info(compiled_->code, PCRE2_INFO_CAPTURECOUNT, &compiled_->groups);
  if (compiled_->groups > 1) {
    throw UsageError(place, ": regexp '", text, "': expected one group, the value, got ",
                     compiled_->groups, "; write (?:...) for the others");
  }
  compiled_->context = pcre2_match_context_create(nullptr);
  compiled_->data = pcre2_match_data_create_from_pattern(compiled_->code, nullptr);
  if (compiled_->context == nullptr || compiled_->data == nullptr) {
    throw ResourceError("benchmark: no memory for a regular expression");
  }
  pcre2_set_match_limit(compiled_->context, kMostSteps);
  pcre2_set_heap_limit(compiled_->context, kMostHeapKibibytes);
}

bool Pattern::find_all(std::string_view bytes,
                       const std::function<void(std::string_view)>& take) const {
  // Checked once per line, not once per match.
  const bool is_ascii = std::all_of(bytes.begin(), bytes.end(),
                                    [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  const std::string valid = is_ascii ? std::string() : valid_utf8(std::string(bytes));
  const std::string_view line = is_ascii ? bytes : std::string_view(valid);
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(compiled_->data);
  for (PCRE2_SIZE from = 0; from <= line.size();) {
    const int found = pcre2_match(compiled_->code, bytes_of(line), line.size(), from,
                                  PCRE2_NO_UTF_CHECK, compiled_->data, compiled_->context);
    if (found == PCRE2_ERROR_NOMATCH) return true;
    if (found < 0) return false;
    const PCRE2_SIZE end = ends[1];
    // A group that took no part is empty, as in findall.
    const bool has_group = compiled_->groups == 1 && ends[2] != PCRE2_UNSET;
    const size_t first = has_group ? 2 : 0;
    if (compiled_->groups == 1 && !has_group) {
      take({});
    } else if (ends[first] <= ends[first + 1]) {  // \K in a look-ahead can turn them round
      take(line.substr(ends[first], ends[first + 1] - ends[first]));
    }
    from = end > from ? end : from + 1;
    if (end == ends[0] && from == end) ++from;  // goes on behind an empty match
    while (from < line.size() && (static_cast<unsigned char>(line[from]) & 0xc0) == 0x80) ++from;
  }
  return true;
}

}  // namespace pando::benchmark
