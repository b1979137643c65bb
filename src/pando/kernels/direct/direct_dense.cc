// The three products of a dense layer.
// SPDX-License-Identifier: MIT
#include "pando/kernels/direct/direct_dense.h"

#include <algorithm>
#include <limits>

#include "pando/base/error.h"
#include "pando/base/multiversion.h"
#include "pando/kernels/direct/dense_plan.h"
#include "pando/kernels/direct/row_dots.h"
#include "pando/kernels/direct/scratch.h"

namespace pando::kernels {
namespace direct {
namespace {

// The rows of the weights that are used next.
struct NextRows {
  const float* first = nullptr;
  int64_t count = 0;
  int64_t stride = 0;
  int64_t columns = 0;
};

// Prefetches a share of the rows into the second-level cache. The block is later read panel by
// panel with a stride of one row, which hardware prefetchers do not follow; prefetched row by row
// it arrives at memory speed. Always inlined, because the compiler drops calls of functions that
// only prefetch.
PANDO_INLINE void fetch(const NextRows& rows, Part part) {
  constexpr int64_t kLine = kCacheLine / sizeof(float);
  for (int64_t r = part.begin(rows.count); r < part.end(rows.count); ++r) {
    const float* const row = rows.first + r * rows.stride;
    for (int64_t c = 0; c < rows.columns; c += kLine) __builtin_prefetch(row + c, 0, 2);
  }
}

// Features [k, k + count) of the forward product for some samples and columns.
struct ForwardBlock {
  int64_t k;
  int64_t count;
  Range samples;
  Range vectors;
};

void forward_block(const DensePlan& p, const DirectDense::Forward& call, const ForwardBlock& block,
                   float* copy) {
  const auto [batch, features, units] = p.g;
  const int64_t begin = block.vectors.begin * p.isa.lanes;
  const int64_t end = block.k + block.count;
  const NextRows next{call.filter + end * units + begin, std::min(block.count, features - end),
                      units, std::min(block.vectors.end * p.isa.lanes, units) - begin};
  PanelArgs args;
  args.x = call.x + block.samples.begin * features + block.k;
  args.row_offset = p.feature_rows.data();
  args.rows = block.samples.size();
  args.k_offset = p.counting.data();
  args.k_count = block.count;
  args.y_stride = units;
  args.accumulate = block.k > 0;
  args.finish = end == features;
  args.activation = call.epilogue.activation;
  args.alpha = call.epilogue.alpha;
  Part part{0, static_cast<int>(panel_count(p.isa, block.vectors))};
  for_each_panel(p.isa, block.vectors, units, [&, units = units](const Panel& panel) {
    fetch(next, part);
    ++part.index;
    args.w = call.filter + block.k * units + panel.first;
    args.w_stride = units;
    // Whole vectors may read into the next row, but not past the end of the weights.
    if ((end - 1) * units + panel.first + panel.width > p.g.features * units) {
      p.isa.copy_rows({args.w, nullptr, block.count, units, panel.columns, copy});
      args.w = copy;
      args.w_stride = panel.width;
    }
    args.y = call.y + block.samples.begin * units + panel.first;
    args.bias = call.epilogue.bias == nullptr ? nullptr : call.epilogue.bias + panel.first;
    args.last_lanes = panel.last_lanes;
    run_panel(p.isa, panel, args);
  });
}

void forward(const DensePlan& p, const DirectDense::Forward& call, float* copy, Part part) {
  const int64_t vectors = p.vectors(p.g.units);
  // When work is split by columns, every part reads only its own share of the weights.
  const bool by_columns = vectors >= 2 * part.count || vectors >= p.g.batch;
  const Range columns = by_columns ? share(part, vectors) : Range{0, vectors};
  const Range samples = by_columns ? Range{0, p.g.batch} : share(part, p.g.batch);
  if (samples.size() == 0) return;
  const int64_t row_bytes = p.g.units * int64_t{sizeof(float)};
  const int64_t block = std::clamp(kOuterBlockBytes / row_bytes, kFewestRows, p.block);
  for (int64_t k = 0; k < p.g.features; k += block) {
    forward_block(p, call, {k, std::min(block, p.g.features - k), samples, columns}, copy);
  }
}

void input_grad_by_dots(const DensePlan& p, const DirectDense::InputGrad& call, Part part) {
  const Range features = share(part, p.g.features);
  for (int64_t k = features.begin; k < features.end; k += kBlockFeatures) {
    RowDotsArgs args{.rows = call.filter + k * p.g.units,
                     .count = std::min(kBlockFeatures, features.end - k),
                     .length = p.g.units};
    for (int64_t n = 0; n < p.g.batch; ++n) {
      args.other = call.dy + n * p.g.units;
      args.y = call.dx + n * p.g.features + k;
      row_dots(args);
    }
  }
}

// dx transposed [K, N] = weights dy^T, computed one block of features at a time.
void input_grad_over_samples(const DensePlan& p, const DirectDense::InputGrad& call,
                             std::byte* memory, Part part) {
  const int64_t units = p.g.units;
  const int64_t width = p.batch_width();
  Scratch scratch(memory);
  float* const dy = scratch.take(units * width);
  float* const result = scratch.take(kBlockFeatures * width);
  if (width != p.g.batch) std::fill_n(dy, units * width, 0.0f);
  p.isa.transpose({call.dy, units, p.g.batch, units, dy, width});
  PanelArgs args;
  args.row_offset = p.unit_rows.data();
  args.k_offset = p.counting.data();
  args.w_stride = width;
  args.y_stride = width;
  args.last_lanes = p.isa.lanes;
  const Range features = share(part, p.g.features);
  for (int64_t k = features.begin; k < features.end; k += kBlockFeatures) {
    args.rows = std::min(kBlockFeatures, features.end - k);
    for_each_panel(p.isa, {0, p.vectors(width)}, width, [&](const Panel& panel) {
      args.y = result + panel.first;
      for (int64_t m = 0; m < units; m += p.block) {
        args.x = call.filter + k * units + m;
        args.w = dy + m * width + panel.first;
        args.k_count = std::min(p.block, units - m);
        args.accumulate = m > 0;
        run_panel(p.isa, panel, args);
      }
    });
    p.isa.transpose({result, width, args.rows, p.g.batch, call.dx + k, p.g.features});
  }
}

struct FilterBlock {
  int64_t feature;
  int64_t features;
  int64_t unit;
  int64_t units;
};

// Writes to[unit][feature], with rows of `stride` floats.
void transpose_block(const DensePlan& p, const float* filter, const FilterBlock& block, float* to,
                     int64_t stride) {
  // Whole squares are faster. They may read into the next row, but not past the end of the weights.
  const int64_t padded = round_up(block.units, p.isa.lanes);
  const int64_t read_end = (block.feature + block.features - 1) * p.g.units + block.unit + padded;
  const bool fits = read_end <= p.g.features * p.g.units;
  p.isa.transpose({filter + block.feature * p.g.units + block.unit, p.g.units, block.features,
                   fits ? padded : block.units, to, stride});
}

// dx [N, K] = dy weights^T, with the weights transposed block by block.
void input_grad_over_features(const DensePlan& p, const DirectDense::InputGrad& call, float* copy,
                              Part part) {
  const int64_t units = p.g.units;
  PanelArgs args;
  args.row_offset = p.unit_rows.data();
  args.rows = p.g.batch;
  args.k_offset = p.counting.data();
  args.w = copy;
  args.y_stride = p.g.features;
  const Range vectors = share(part, p.vectors(p.g.features));
  for_each_panel(p.isa, vectors, p.g.features, [&](const Panel& panel) {
    args.w_stride = panel.width;
    args.y = call.dx + panel.first;
    args.last_lanes = panel.last_lanes;
    for (int64_t m = 0; m < units; m += p.block) {
      args.k_count = std::min(p.block, units - m);
      args.x = call.dy + m;
      args.accumulate = m > 0;
      transpose_block(p, call.filter, {panel.first, panel.columns, m, args.k_count}, copy,
                      panel.width);
      run_panel(p.isa, panel, args);
    }
  });
}

// Computes the rows `features` of the gradient. `panels` holds dy; `x` is room for a block of x.
void grad_of_features(const DensePlan& p, const DirectDense::FilterGrad& call, Range features,
                      const float* panels, float* x) {
  const int64_t batch = p.g.batch;
  const int64_t first = std::min(features.begin, p.g.features - p.copied_features());
  p.isa.copy_rows({call.x + first, nullptr, batch, p.g.features, p.copied_features(), x});
  PanelArgs args;
  args.x = x + (features.begin - first);
  args.row_offset = p.counting.data();
  args.rows = features.size();
  args.y_stride = p.g.units;
  for_each_panel(p.isa, {0, p.vectors(p.g.units)}, p.g.units, [&](const Panel& panel) {
    args.w_stride = panel.width;
    args.y = call.filter + features.begin * p.g.units + panel.first;
    args.last_lanes = panel.last_lanes;
    for (int64_t n = 0; n < batch; n += kBlockSamples) {
      args.k_offset = p.sample_rows.data() + n;
      args.k_count = std::min(kBlockSamples, batch - n);
      args.w = panels + panel.first * batch + n * panel.width;
      args.accumulate = n > 0;
      run_panel(p.isa, panel, args);
    }
  });
}

// A part processes all samples for its share of the features, so no element of the gradient needs a
// sum over parts.
void filter_grad(const DensePlan& p, const DirectDense::FilterGrad& call, std::byte* memory,
                 Part part) {
  const int64_t units = p.g.units;
  const Range features = share(part, p.g.features);
  std::fill_n(call.filter, features.begin * units, 0.0f);
  std::fill_n(call.filter + features.end * units, (p.g.features - features.end) * units, 0.0f);
  if (call.bias != nullptr) {
    std::fill_n(call.bias, units, 0.0f);
    if (part.index == 0) p.isa.add_rows({call.dy, nullptr, p.g.batch, units, units, call.bias});
  }
  if (features.size() == 0) return;
  Scratch scratch(memory);
  float* const panels = scratch.take(p.g.batch * p.units_width());
  float* const x = scratch.take(p.g.batch * p.copied_width());
  for_each_panel(p.isa, {0, p.vectors(units)}, units, [&](const Panel& panel) {
    p.isa.copy_rows({call.dy + panel.first, nullptr, p.g.batch, units, panel.columns,
                     panels + panel.first * p.g.batch});
  });
  for (int64_t k = features.begin; k < features.end; k += kBlockFeatures) {
    grad_of_features(p, call, {k, std::min(k + kBlockFeatures, features.end)}, panels, x);
  }
}

std::string why_unsupported(const DenseGeometry& g) {
  if (g.batch < 1 || g.features < 1 || g.units < 1) {
    return concat("batch ", g.batch, ", features ", g.features, " and units ", g.units,
                  " must be at least 1");
  }
  const int64_t most = std::numeric_limits<int32_t>::max() / std::max(g.batch, kBlockFeatures);
  if (std::max(g.features, g.units) > most) return "an operand exceeds 2^31 elements";
  return "";
}

}  // namespace
}  // namespace direct

using Form = direct::DensePlan::InputGradForm;

bool DirectDense::supports(const DenseGeometry& geometry, std::string* why_not) {
  std::string reason = direct::why_unsupported(geometry);
  const bool supported = reason.empty();
  if (why_not != nullptr) *why_not = std::move(reason);
  return supported;
}

DirectDense::DirectDense(const DenseGeometry& geometry) {
  const std::string reason = direct::why_unsupported(geometry);
  if (!reason.empty()) throw Unsupported("direct dense layer: ", reason);
  plan_ = std::make_shared<const direct::DensePlan>(geometry);
}

std::string DirectDense::name() const {
  const int vectors = plan_->isa.preferred_vectors;
  return concat("direct:", plan_->isa.name, " ", plan_->isa.tile_rows[vectors - 1], "x", vectors);
}

size_t DirectDense::forward_scratch_bytes() const {
  const bool copies = plan_->g.units % plan_->isa.lanes != 0;
  return copies ? direct::scratch_bytes({plan_->block * plan_->width}) : 0;
}

size_t DirectDense::input_grad_scratch_bytes() const {
  const direct::DensePlan& p = *plan_;
  const int64_t width = p.batch_width();
  switch (p.input_grad_form()) {
    case Form::dots: return 0;
    case Form::over_features: return direct::scratch_bytes({p.block * p.width});
    case Form::over_samples: break;
  }
  return direct::scratch_bytes({p.g.units * width, direct::kBlockFeatures * width});
}

size_t DirectDense::filter_grad_scratch_bytes() const {
  const direct::DensePlan& p = *plan_;
  return direct::scratch_bytes({p.g.batch * p.units_width(), p.g.batch * p.copied_width()});
}

void DirectDense::forward(const Forward& call, std::byte* scratch, Part part) const {
  direct::forward(*plan_, call, direct::Scratch(scratch).take(0), part);
}

void DirectDense::input_grad(const InputGrad& call, std::byte* scratch, Part part) const {
  switch (plan_->input_grad_form()) {
    case Form::dots: return direct::input_grad_by_dots(*plan_, call, part);
    case Form::over_samples: return direct::input_grad_over_samples(*plan_, call, scratch, part);
    case Form::over_features:
      return direct::input_grad_over_features(*plan_, call, direct::Scratch(scratch).take(0), part);
  }
}

void DirectDense::filter_grad(const FilterGrad& call, std::byte* scratch, Part part) const {
  direct::filter_grad(*plan_, call, scratch, part);
}

}  // namespace pando::kernels
