// Reads any bytes as a JSON tensor, of whole numbers if the first byte is odd, of an
// expected shape for others, and as any JSON
// value. What was read is written and read again. Expects the same numbers or InvalidArgument.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstring>

#include "pando/base/error.h"
#include "pando/wire/json_tensor.h"
#include "tests/fuzz/targets.h"

namespace {

using pando::wire::JsonCursor;
using pando::wire::TensorBuilder;

void check_again(TensorBuilder& builder) {
  const auto bytes = std::as_bytes(std::span(builder.f32()));
  std::string text;
  pando::wire::append_tensor(text, builder.shape(), pando::DType::f32, bytes);
  TensorBuilder again;
  JsonCursor cursor(text);
  again.add(cursor);
  PANDO_CHECK(again.shape() == builder.shape());
  for (size_t i = 0; i < builder.f32().size(); ++i) {
    const float before = builder.f32()[i];
    PANDO_CHECK(before == again.f32()[i] || (std::isnan(before) && std::isnan(again.f32()[i])));
  }
}

}  // namespace

void pando::fuzz::json_tensor(Input input) {
  if (input.empty()) return;
  const std::string_view text(reinterpret_cast<const char*>(input.data()) + 1, input.size() - 1);
  const bool whole = input[0] % 2 != 0;
  try {
    JsonCursor(text).skip();
  } catch (const InvalidArgument&) {
  }
  try {
    TensorBuilder builder(whole ? TensorBuilder::Numbers::i32 : TensorBuilder::Numbers::f32);
    if (input[0] % 4 >= 2) builder.expect({2, 3});
    JsonCursor cursor(text);
    builder.add(cursor);
    if (!whole && !builder.has_bytes()) check_again(builder);
  } catch (const InvalidArgument&) {
  }
}
