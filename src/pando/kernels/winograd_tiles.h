// How large the tiles of Winograd's convolutions may be: larger ones multiply less and round more.
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace pando {

// 3x3 convolutions with stride 1 compute 2x2 or 4x4 outputs at a time. Against a direct sum in f32,
// the rounding error is about two thirds with tiles of 2x2 and twice with tiles of 4x4.
enum class WinogradTiles { off, up_to_2, up_to_4 };

namespace kernels {

inline bool allows(WinogradTiles most, std::string_view candidate) {
  if (candidate == "winograd4") return most == WinogradTiles::up_to_4;
  if (candidate == "winograd") return most != WinogradTiles::off;
  return true;
}

}  // namespace kernels
}  // namespace pando
