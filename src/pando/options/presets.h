// The presets that ship with the program.
// SPDX-License-Identifier: MIT
#pragma once

namespace pando {

// The file name of the presets in messages and origins.
inline constexpr const char* kPresetsSource = "presets.yml";

// The content of configs/presets.yml when the program was built. Built in, so that the program has
// the presets in every working directory.
extern const char* const kPresetsText;

}  // namespace pando
