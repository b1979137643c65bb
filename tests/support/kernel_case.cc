// SPDX-License-Identifier: MIT
#include "tests/support/kernel_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "pando/base/random.h"
#include "pando/base/strings.h"
#include "pando/ops/builder.h"
#include "pando/tensor/half_rounding.h"

namespace pando::test {

namespace {

constexpr size_t kLine = 64;
constexpr auto kGuard = std::byte{0xA5};

bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

float widened(DType dtype, uint16_t bits) {
  float value = 0;
  widen_halves(dtype, &bits, &value, 1);
  return value;
}

// Values of an output as double, whatever its type.
std::vector<double> numbers(const Buffer& buffer, const ir::TensorType& type) {
  const auto count = static_cast<size_t>(type.shape.elements());
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i) {
    switch (size_of(type.dtype)) {
      case 1: values[i] = static_cast<double>(std::to_integer<int>(buffer.data()[i])); break;
      case 2: values[i] = static_cast<double>(widened(type.dtype, halves(buffer)[i])); break;
      default:
        values[i] = type.dtype == DType::i32 ? reinterpret_cast<const int32_t*>(buffer.data())[i]
                                             : static_cast<double>(buffer.floats()[i]);
    }
  }
  return values;
}

// moments += more, by the formula for two sets of values.
void add_moments(float* moments, const float* more, int64_t channels) {
  const double a = moments[2 * channels];
  const double b = more[2 * channels];
  if (b == 0) return;
  for (int64_t c = 0; c < channels; ++c) {
    const double apart = static_cast<double>(more[c]) - moments[c];
    moments[c] = static_cast<float>(moments[c] + apart * b / (a + b));
    moments[channels + c] =
        static_cast<float>(static_cast<double>(moments[channels + c]) + more[channels + c] +
                           apart * apart * a * b / (a + b));
  }
  moments[2 * channels] = static_cast<float>(a + b);
}

}  // namespace

Buffer::Buffer(size_t bytes) : bytes_(bytes), lines_(bytes / kLine + 2) {
  std::memset(data(), static_cast<int>(kGuard), lines_.size() * kLine);
}

bool Buffer::guard_intact() const {
  return std::all_of(data() + bytes_, data() + lines_.size() * kLine,
                     [](std::byte b) { return b == kGuard; });
}

BoundCase::BoundCase(const KernelCase& kernel_case, uint64_t seed) : case_(kernel_case) {
  std::vector<ir::Value*> values;
  for (size_t i = 0; i < kernel_case.inputs.size(); ++i) {
    values.push_back(graph_.add_input(concat("in", i), ir::InputRole::feed, kernel_case.inputs[i]));
    Buffer& buffer = inputs_.emplace_back(values.back()->bytes());
    RandomStream random(mix_keys(seed, i));
    const ir::TensorType& type = kernel_case.inputs[i];
    for (int64_t e = 0; e < type.shape.elements(); ++e) {
      const auto bits = static_cast<uint16_t>(0x3800 + random.next_below(0x800));  // f16 and bf16
      switch (type.dtype) {
        case DType::f32: buffer.floats()[e] = random.next_normal(); break;
        case DType::i32:
          reinterpret_cast<int32_t*>(buffer.data())[e] = static_cast<int32_t>(random.next_below(5));
          break;
        case DType::u8: buffer.data()[e] = static_cast<std::byte>(random.next_below(256)); break;
        default: reinterpret_cast<uint16_t*>(buffer.data())[e] = bits;
      }
    }
  }
  node_ = ops::append(graph_, {.op = kernel_case.op,
                               .inputs = values,
                               .outputs = kernel_case.outputs,
                               .attributes = kernel_case.attributes});
}

BoundCase BoundCase::lowered(DType half, const ir::Attributes& marks) const {
  BoundCase result(case_);
  for (const auto& [name, value] : marks.values()) result.node_->attributes().set(name, value);
  for (int i = 0; i < node_->num_inputs(); ++i) {
    Buffer& buffer = result.input(i);
    buffer = inputs_[static_cast<size_t>(i)];
    ir::Value* value = result.node_->input(i);
    if (value->type().dtype != DType::f32 || ops::is_exact_input(*node_, i)) continue;
    const Buffer wide = buffer;
    value->set_type({half, value->shape()});
    buffer = Buffer(value->bytes());
    round_halves(half, wide.floats(), halves(buffer), value->shape().elements(), {});
  }
  for (int i = 0; i < node_->num_outputs(); ++i) {
    ir::Value* value = result.node_->output(i);
    if (value->type().dtype != DType::f32 || ops::is_exact_output(*node_, i)) continue;
    value->set_type({half, value->shape()});
  }
  return result;
}

void BoundCase::map_input(int index, const std::function<float(float)>& function) {
  Buffer& buffer = input(index);
  const size_t count = buffer.size() / sizeof(float);
  for (size_t i = 0; i < count; ++i) buffer.floats()[i] = function(buffer.floats()[i]);
}

kernels::KernelOffer BoundCase::offer(const std::string& candidate) const {
  for (const kernels::Candidate& one : kernels::candidates(node_->op())) {
    if (one.name == candidate) return kernels::offer_kernel(one, *node_);
  }
  return kernels::refuse(concat("no candidate '", candidate, "'"));
}

std::vector<Buffer> BoundCase::packed_inputs(const kernels::KernelOffer& offer) const {
  std::vector<Buffer> inputs = inputs_;
  for (const kernels::Packing& packing : offer.packings) {
    Buffer packed(static_cast<size_t>(packing.layout.elements) * size_of(packing.dtype));
    Buffer scratch(packing.packer->scratch_bytes());
    const std::byte* in[] = {inputs_[static_cast<size_t>(packing.input)].data()};
    std::byte* out[] = {packed.data()};
    const int parts = packing.packer->splits() ? 3 : 1;
    for (int part = 0; part < parts; ++part) {
      packing.packer->run({in, out, scratch.data(), 1}, {.part = {part, parts}});
    }
    EXPECT_TRUE(packed.guard_intact()) << "packing of " << node_->label();
    inputs[static_cast<size_t>(packing.input)] = std::move(packed);
  }
  return inputs;
}

std::vector<Buffer> BoundCase::make_outputs() const {
  std::vector<Buffer> outputs;
  for (const ir::Value* value : node_->outputs()) outputs.emplace_back(value->bytes());
  return outputs;
}

std::vector<Buffer> BoundCase::run(const kernels::KernelOffer& offer,
                                   kernels::StepArgs step) const {
  const std::vector<Buffer> inputs = packed_inputs(offer);
  std::vector<Buffer> outputs = make_outputs();
  Buffer scratch(offer.kernel->scratch_bytes());
  std::vector<const std::byte*> in;
  std::vector<std::byte*> out;
  for (const Buffer& buffer : inputs) in.push_back(buffer.data());
  for (Buffer& buffer : outputs) out.push_back(buffer.data());
  offer.kernel->run({in.data(), out.data(), scratch.data(), static_cast<int>(in.size())}, step);
  for (const Buffer& buffer : outputs) EXPECT_TRUE(buffer.guard_intact()) << node_->label();
  EXPECT_TRUE(scratch.guard_intact()) << "scratch of " << node_->label();
  return outputs;
}

std::vector<Buffer> BoundCase::run_parts(const kernels::KernelOffer& offer, kernels::StepArgs step,
                                         int parts) const {
  const bool sums = ops::has_trait(*node_, ops::Trait::batch_sum);
  std::vector<Buffer> whole = make_outputs();
  for (int part = 0; part < parts; ++part) {
    step.part = {part, parts};
    if (!sums) {
      const std::vector<Buffer> inputs = packed_inputs(offer);
      Buffer scratch(offer.kernel->scratch_bytes());
      std::vector<const std::byte*> in;
      std::vector<std::byte*> out;
      for (const Buffer& buffer : inputs) in.push_back(buffer.data());
      for (Buffer& buffer : whole) out.push_back(buffer.data());
      offer.kernel->run({in.data(), out.data(), scratch.data(), static_cast<int>(in.size())}, step);
      continue;
    }
    const std::vector<Buffer> own = run(offer, step);
    for (size_t i = 0; i < own.size(); ++i) {
      if (part == 0) {
        whole[i] = own[i];
      } else if (node_->op() == "batch_moments") {
        add_moments(whole[i].floats(), own[i].floats(), node_->input(0)->shape().back());
      } else {
        const ir::TensorType& type = node_->output(static_cast<int>(i))->type();
        const auto count = static_cast<size_t>(type.shape.elements());
        for (size_t e = 0; e < count; ++e) {
          if (is_half(type.dtype)) {
            const float sum =
                widened(type.dtype, halves(whole[i])[e]) + widened(type.dtype, halves(own[i])[e]);
            round_halves(type.dtype, &sum, &halves(whole[i])[e], 1, {});
          } else {
            whole[i].floats()[e] += own[i].floats()[e];
          }
        }
      }
    }
  }
  for (const Buffer& buffer : whole) EXPECT_TRUE(buffer.guard_intact()) << node_->label();
  return whole;
}

std::vector<Buffer> BoundCase::run_in_place(const kernels::KernelOffer& offer,
                                            kernels::StepArgs step) const {
  std::vector<Buffer> inputs = inputs_;
  std::vector<const std::byte*> in;
  for (const Buffer& buffer : inputs) in.push_back(buffer.data());
  std::byte* out[] = {inputs[0].data()};
  Buffer scratch(offer.kernel->scratch_bytes());
  offer.kernel->run({in.data(), out, scratch.data(), static_cast<int>(in.size())}, step);
  return {inputs[0]};
}

kernels::StepArgs BoundCase::step(const Agreement& agreement) const {
  const Shape& shape =
      node_->inputs().empty() ? node_->output()->shape() : node_->input(0)->shape();
  const int64_t batch = shape.rank() > 0 ? shape.front() : 1;
  const int64_t valid = agreement.valid < 0 ? batch : agreement.valid;
  return {.valid = valid,
          .batch_valid = valid,
          .loss_scale = 0.25f,
          .seed = 7,
          .first_sample = agreement.first_sample};
}

int BoundCase::expect_agreement(const Agreement& agreement) const {
  const kernels::StepArgs args = step(agreement);
  const kernels::KernelOffer reference = offer("reference");
  const std::vector<Buffer> wanted = run(reference, args);
  int offered = 0;
  for (const kernels::Candidate& candidate : kernels::candidates(node_->op())) {
    if (candidate.name == "reference") continue;
    if (!kernels::is_for(candidate, *node_)) continue;
    const kernels::KernelOffer one = kernels::offer_kernel(candidate, *node_);
    if (one.kernel == nullptr) {
      EXPECT_FALSE(one.refusal.empty());
      EXPECT_TRUE(agreement.may_refuse || candidate.native() || candidate.name == "onednn" ||
                  candidate.name.starts_with("winograd") || candidate.name == "depthwise")
          << node_->label() << ", " << candidate.name << ": " << one.refusal;
      continue;
    }
    ++offered;
    const std::string what = concat(candidate.name, " (", one.kernel->name(), ")");
    expect_close(*node_, run(one, args), wanted, agreement.tolerance, what);
    if (one.kernel->splits()) {
      expect_close(*node_, run_parts(one, args, 3), wanted, agreement.tolerance,
                   what + " in parts");
    }
    const bool same_size = inputs_[0].size() == wanted[0].size();
    if (ops::has_trait(*node_, ops::Trait::in_place) && same_size) {
      expect_close(*node_, run_in_place(one, args), wanted, agreement.tolerance,
                   what + " in place");
    }
  }
  if (agreement.half) expect_half_agreement(agreement);
  return offered;
}

// Both kernels round results in f32, so they may give neighbouring halves; sums of several rounded
// parts differ a little more.
void BoundCase::expect_half_agreement(const Agreement& agreement) const {
  Agreement rounded = agreement;
  rounded.half = false;
  rounded.tolerance = std::max(agreement.tolerance, 0x1p-10);
  if (node_->op() == "cast") return;
  lowered(DType::f16).expect_agreement(rounded);
}

void expect_close(const ir::Node& node, const std::vector<Buffer>& got,
                  const std::vector<Buffer>& wanted, double tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const ir::TensorType& type = node.output(static_cast<int>(i))->type();
    const std::vector<double> a = numbers(got[i], type);
    const std::vector<double> b = numbers(wanted[i], type);
    double largest = 0;
    for (const double value : b) {
      if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
    }
    for (size_t e = 0; e < a.size(); ++e) {
      if (std::isnan(a[e]) && std::isnan(b[e])) continue;
      if (a[e] == b[e]) continue;
      const double bound = tolerance * (std::abs(b[e]) + largest);
      if (std::abs(a[e] - b[e]) <= bound) continue;
      ADD_FAILURE() << node.label() << " of " << to_string(node.input(0)->type()) << ", " << what
                    << ": output " << i << " element " << e << " is " << a[e] << ", expected "
                    << b[e];
      return;
    }
  }
}

}  // namespace pando::test
