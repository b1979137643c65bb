// Reads any bytes as JSON, or, if the first byte is odd, as MessagePack. What was read is written
// and read again. Expects the same value or an IoError.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/base/json.h"
#include "tests/fuzz/targets.h"

void pando::fuzz::json(Input input) {
  if (input.empty()) return;
  const std::string_view text(reinterpret_cast<const char*>(input.data()) + 1, input.size() - 1);
  try {
    const Json value = input[0] % 2 == 0 ? Json::parse(text) : Json::from_bytes(text);
    const std::string written = value.dump(2);
    PANDO_CHECK(Json::parse(written).dump(2) == written);
    const std::string bytes = value.to_bytes();
    PANDO_CHECK(Json::from_bytes(bytes).to_bytes() == bytes);
  } catch (const IoError&) {
  }
}
