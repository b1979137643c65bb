// Kernels of half-precision nodes, made from the f32 candidates: each tile, which fits into the
// cache, is widened to f32, computed by the f32 kernel of a tile, and rounded. Native candidates
// multiply the 16-bit numbers themselves; their results are f32 and are rounded here too. No f32
// copy of a whole half tensor exists. The reference kernel, whose only tile is the whole slice,
// defines the result.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/kernels/kernel.h"

namespace pando::kernels::half {

// Whether an input or output is stored in 16 bits.
bool has_half_operands(const ir::Node& node);

// Why a native candidate should not be chosen for a node with half operands; empty if it should, or
// if the candidate is not native.
std::string why_not_native(const Candidate& candidate, const ir::Node& node, WinogradTiles most);

// The candidate's kernel for a node with half operands.
KernelOffer offer_tiled(const Candidate& candidate, const ir::Node& node);

}  // namespace pando::kernels::half
