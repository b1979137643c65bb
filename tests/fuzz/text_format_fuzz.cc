// Reads any bytes as the text format of protocol buffers. Expects a message or InvalidArgument.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/wire/text_format.h"
#include "tests/fuzz/targets.h"

namespace {

int64_t count_fields(const pando::wire::TextMessage& message) {
  int64_t count = 0;
  for (const pando::wire::TextField& field : message.fields) {
    PANDO_CHECK(!field.name.empty());
    PANDO_CHECK(field.is_message == (field.message.size() == 1));
    count += 1 + (field.is_message ? count_fields(field.message.front()) : 0);
  }
  return count;
}

}  // namespace

void pando::fuzz::text_format(Input input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  try {
    const wire::TextMessage message = wire::parse_text_format(text, "input");
    PANDO_CHECK(count_fields(message) <= static_cast<int64_t>(text.size()));
    for (const wire::TextField& field : message.fields) wire::int_of(field, "input");
  } catch (const InvalidArgument&) {
  }
}
