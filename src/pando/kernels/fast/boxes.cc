// Boxes of tensors: zero-padding, strided slices and their gradients, and concatenation, row by
// row. Parts divide the rows of the result.
// SPDX-License-Identifier: MIT
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/support.h"

namespace pando::kernels {
namespace {

using fast::Range;

constexpr int kRank = 5;
constexpr int kOuter = kRank - 1;

// A box inside a whole tensor: element i of the box along an axis is at begin + i * stride.
struct Box {
  std::vector<int64_t> whole;
  std::vector<int64_t> begin;
  std::vector<int64_t> stride;
  std::vector<int64_t> size;
};

Box make_box(const Shape& whole, ir::Ints begin, ir::Ints stride, const Shape& size) {
  if (stride.empty()) stride.assign(begin.size(), 1);
  return {whole.dims(), std::move(begin), std::move(stride), size.dims()};
}

// Joins the last axis with the one before it while the box takes all of the last axis, which makes
// rows longer. Then adds leading axes of one element.
Box with_long_rows(Box box) {
  while (box.whole.size() > 1) {
    const size_t last = box.whole.size() - 1;
    if (box.size[last] != box.whole[last] || box.stride[last - 1] != 1) break;
    for (auto* list : {&box.whole, &box.begin, &box.size}) {
      (*list)[last - 1] *= box.whole[last];
      list->pop_back();
    }
    box.stride.pop_back();
  }
  const auto missing = static_cast<size_t>(kRank) - box.whole.size();
  box.whole.insert(box.whole.begin(), missing, 1);
  box.begin.insert(box.begin.begin(), missing, 0);
  box.stride.insert(box.stride.begin(), missing, 1);
  box.size.insert(box.size.begin(), missing, 1);
  return box;
}

// Counts through the outer coordinates of consecutive rows.
class RowCounter {
 public:
  RowCounter(const std::vector<int64_t>& extents, int64_t row) : extents_(extents) {
    for (int axis = kOuter - 1; axis >= 0; --axis) {
      at_[static_cast<size_t>(axis)] = row % extents_[static_cast<size_t>(axis)];
      row /= extents_[static_cast<size_t>(axis)];
    }
  }
  int64_t operator[](size_t axis) const { return at_[axis]; }
  void next() {
    for (size_t axis = kOuter; axis-- > 0;) {
      if (++at_[axis] < extents_[axis]) return;
      at_[axis] = 0;
    }
  }

 private:
  const std::vector<int64_t>& extents_;
  std::array<int64_t, kOuter> at_{};
};

int64_t outer_rows(const std::vector<int64_t>& extents) {
  return extents[0] * extents[1] * extents[2] * extents[3];
}

// Copies the box from the whole tensor.
void extract(const Box& box, const float* x, float* y, Range rows) {
  const int64_t length = box.size[kOuter];
  const int64_t step = box.stride[kOuter];
  RowCounter at(box.size, rows.begin);
  for (int64_t row = rows.begin; row < rows.end; ++row, at.next()) {
    int64_t from = 0;
    for (size_t axis = 0; axis < kOuter; ++axis) {
      from = from * box.whole[axis] + box.begin[axis] + at[axis] * box.stride[axis];
    }
    const float* source = x + from * box.whole[kOuter] + box.begin[kOuter];
    float* to = y + row * length;
    if (step == 1) {
      std::memcpy(to, source, static_cast<size_t>(length) * sizeof(float));
    } else {
      for (int64_t i = 0; i < length; ++i) to[i] = source[i * step];
    }
  }
}

// For each outer axis and each position of the whole tensor: the position in the box, or -1 outside
// of it.
struct Embedding {
  explicit Embedding(Box the_box) : box(std::move(the_box)) {
    for (size_t axis = 0; axis < kOuter; ++axis) {
      places[axis].assign(static_cast<size_t>(box.whole[axis]), -1);
      for (int64_t i = 0; i < box.size[axis]; ++i) {
        places[axis][static_cast<size_t>(box.begin[axis] + i * box.stride[axis])] = i;
      }
    }
  }
  Box box;
  std::array<std::vector<int64_t>, kOuter> places;
};

// Writes one row of the whole tensor from one row of the box.
void embed_row(const Box& box, const float* from, float* to) {
  const int64_t length = box.whole[kOuter];
  const int64_t begin = box.begin[kOuter];
  const int64_t size = box.size[kOuter];
  const int64_t step = box.stride[kOuter];
  if (step == 1) {
    std::fill_n(to, begin, 0.0f);
    std::memcpy(to + begin, from, static_cast<size_t>(size) * sizeof(float));
    std::fill(to + begin + size, to + length, 0.0f);
  } else {
    std::fill_n(to, length, 0.0f);
    for (int64_t i = 0; i < size; ++i) to[begin + i * step] = from[i];
  }
}

// Writes the whole tensor: the box at its position and zeros around it.
void embed(const Embedding& embedding, const float* x, float* y, Range rows) {
  const Box& box = embedding.box;
  const int64_t length = box.whole[kOuter];
  RowCounter at(box.whole, rows.begin);
  for (int64_t row = rows.begin; row < rows.end; ++row, at.next()) {
    int64_t from = 0;
    bool inside = true;
    for (size_t axis = 0; axis < kOuter; ++axis) {
      const int64_t place = embedding.places[axis][static_cast<size_t>(at[axis])];
      inside = inside && place >= 0;
      from = from * box.size[axis] + place;
    }
    if (inside) {
      embed_row(box, x + from * box.size[kOuter], y + row * length);
    } else {
      std::fill_n(y + row * length, length, 0.0f);
    }
  }
}

KernelOffer offer_embed(Box box) {
  const auto embedding = std::make_shared<const Embedding>(with_long_rows(std::move(box)));
  const int64_t rows = outer_rows(embedding->box.whole);
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    embed(*embedding, args.in(0), args.out(), fast::share(step.part, rows));
  };
  return offer_function("fast", run, fast::kSplits);
}

}  // namespace

KernelOffer fast_pad(const ir::Node& node) {
  return offer_embed(make_box(node.output()->shape(), ops::ints_attribute(node, "low"), {},
                              node.input(0)->shape()));
}

KernelOffer fast_slice_grad(const ir::Node& node) {
  return offer_embed(make_box(node.output()->shape(), ops::ints_attribute(node, "begin"),
                              ops::ints_attribute(node, "strides"), node.input(0)->shape()));
}

KernelOffer fast_slice(const ir::Node& node) {
  const auto box = std::make_shared<const Box>(
      with_long_rows(make_box(node.input(0)->shape(), ops::ints_attribute(node, "begin"),
                              ops::ints_attribute(node, "strides"), node.output()->shape())));
  const int64_t rows = outer_rows(box->size);
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    extract(*box, args.in(0), args.out(), fast::share(step.part, rows));
  };
  return offer_function("fast", run, fast::kSplits);
}

KernelOffer fast_concat(const ir::Node& node) {
  const auto axis = static_cast<int>(ops::int_attribute(node, "axis"));
  const Shape& y = node.output()->shape();
  const int first = axis < 0 ? axis + y.rank() : axis;
  const size_t element = size_of(node.output()->type().dtype);
  std::vector<size_t> lengths;  // bytes of each input in a row
  for (const ir::Value* input : node.inputs()) {
    lengths.push_back(static_cast<size_t>(input->shape().elements_from(first)) * element);
  }
  const size_t whole = static_cast<size_t>(y.elements_from(first)) * element;
  const int64_t rows = y.elements() / std::max<int64_t>(y.elements_from(first), 1);
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    const Range mine = fast::share(step.part, rows);
    for (int64_t row = mine.begin; row < mine.end; ++row) {
      std::byte* to = args.outputs[0] + static_cast<size_t>(row) * whole;
      for (size_t i = 0; i < lengths.size(); ++i) {
        std::memcpy(to, args.inputs[i] + static_cast<size_t>(row) * lengths[i], lengths[i]);
        to += lengths[i];
      }
    }
  };
  return offer_function("fast", run, fast::kSplits);
}

}  // namespace pando::kernels
