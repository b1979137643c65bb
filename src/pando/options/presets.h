// The presets that ship with the program.
// SPDX-License-Identifier: MIT
#pragma once

namespace pando {

// Where the presets come from, for messages and origins.
inline constexpr const char* kPresetsSource = "presets.yml";

// configs/presets.yml as it was when the program was built, so that it finds them from anywhere.
extern const char* const kPresetsText;

}  // namespace pando
