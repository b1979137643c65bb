// One pass of a convolution by oneDNN in its own blocked layouts, for comparison.
// SPDX-License-Identifier: MIT
#include "bench/micro/onednn_conv.h"

#include <cstring>
#include <memory>
#include <unordered_map>

#include <dnnl.hpp>

namespace pando::bench {
namespace {

using dnnl::memory;
using kernels::ConvGeometry;
using Dims = memory::dims;

struct Descriptor {
  explicit Descriptor(const ConvGeometry& g) : flat(g.in[0] == 1 && g.filter[0] == 1) {
    x = {g.batch, g.in_channels};
    y = {g.batch, g.out_channels};
    kernel = {g.out_channels, g.in_channels};
    for (size_t i = flat ? 1 : 0; i < 3; ++i) {
      x.push_back(g.in[i]);
      y.push_back(g.out[i]);
      kernel.push_back(g.filter[i]);
      stride.push_back(g.stride[i]);
      low.push_back(g.pad_low[i]);
      high.push_back(g.pad_high[i]);
    }
  }

  static memory::desc any(const Dims& dims) {
    return {dims, memory::data_type::f32, memory::format_tag::any};
  }
  memory::desc bias() const { return {{y[1]}, memory::data_type::f32, memory::format_tag::x}; }

  bool flat;
  Dims x, y, kernel, stride, low, high;
};

constexpr auto kDirect = dnnl::algorithm::convolution_direct;

dnnl::convolution_forward::primitive_desc forward_desc(const Descriptor& d,
                                                       const dnnl::engine& engine) {
  dnnl::post_ops relu;
  relu.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(relu);
  const dnnl::convolution_forward::desc desc(
      dnnl::prop_kind::forward_training, kDirect, Descriptor::any(d.x), Descriptor::any(d.kernel),
      d.bias(), Descriptor::any(d.y), d.stride, d.low, d.high);
  return {desc, attributes, engine};
}

memory zeroed(const memory::desc& desc, const dnnl::engine& engine) {
  memory result(desc, engine);
  std::memset(result.get_data_handle(), 0, desc.get_size());
  return result;
}

template <typename Primitive>
OneDnnPass bound(const Primitive& primitive, std::unordered_map<int, memory> arguments,
                 const dnnl::engine& engine, std::string implementation) {
  auto stream = std::make_shared<dnnl::stream>(engine);
  auto run = [primitive, stream, arguments = std::move(arguments)] {
    primitive.execute(*stream, arguments);
    stream->wait();
  };
  return {run, std::move(implementation)};
}

}  // namespace

OneDnnPass onednn_pass(const ConvGeometry& g, Pass pass) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const Descriptor d(g);
  const auto forward = forward_desc(d, engine);
  const memory bias = zeroed(d.bias(), engine);
  if (pass == Pass::forward) {
    return bound(dnnl::convolution_forward(forward),
                 {{DNNL_ARG_SRC, zeroed(forward.src_desc(), engine)},
                  {DNNL_ARG_WEIGHTS, zeroed(forward.weights_desc(), engine)},
                  {DNNL_ARG_BIAS, bias},
                  {DNNL_ARG_DST, zeroed(forward.dst_desc(), engine)}},
                 engine, forward.impl_info_str());
  }
  if (pass == Pass::backward_input) {
    const dnnl::convolution_backward_data::desc desc(kDirect, Descriptor::any(d.x),
                                                     Descriptor::any(d.kernel),
                                                     Descriptor::any(d.y), d.stride, d.low, d.high);
    const dnnl::convolution_backward_data::primitive_desc chosen(desc, engine, forward);
    return bound(dnnl::convolution_backward_data(chosen),
                 {{DNNL_ARG_DIFF_DST, zeroed(chosen.diff_dst_desc(), engine)},
                  {DNNL_ARG_WEIGHTS, zeroed(chosen.weights_desc(), engine)},
                  {DNNL_ARG_DIFF_SRC, zeroed(chosen.diff_src_desc(), engine)}},
                 engine, chosen.impl_info_str());
  }
  const dnnl::convolution_backward_weights::desc desc(
      kDirect, Descriptor::any(d.x), Descriptor::any(d.kernel), d.bias(), Descriptor::any(d.y),
      d.stride, d.low, d.high);
  const dnnl::convolution_backward_weights::primitive_desc chosen(desc, engine, forward);
  return bound(dnnl::convolution_backward_weights(chosen),
               {{DNNL_ARG_SRC, zeroed(chosen.src_desc(), engine)},
                {DNNL_ARG_DIFF_DST, zeroed(chosen.diff_dst_desc(), engine)},
                {DNNL_ARG_DIFF_WEIGHTS, zeroed(chosen.diff_weights_desc(), engine)},
                {DNNL_ARG_DIFF_BIAS, bias}},
               engine, chosen.impl_info_str());
}

}  // namespace pando::bench
