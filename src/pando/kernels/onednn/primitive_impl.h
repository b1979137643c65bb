// One oneDNN primitive with its arguments. Several threads may run it at once; each run uses only
// the calling thread and none of oneDNN's own. For oneDNN 2.x.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <dnnl.hpp>

#include "pando/kernels/kernel.h"

namespace pando::kernels::onednn {

const dnnl::engine& cpu_engine();

// Makes oneDNN use one thread in calls from this thread. oneDNN reads the number of threads when a
// primitive is created and again when it runs; both must see 1.
void use_one_thread();

// The attributes of all primitive descriptors here: the caller provides the scratch memory.
dnnl::primitive_attr primitive_attributes();

struct Argument {
  int id = 0;  // DNNL_ARG_...
  dnnl::memory::desc desc;
};

// Thread-safe: each run takes a set of memory handles that no other run is using.
class Primitive {
 public:
  // `scratchpad` may be of size zero.
  Primitive(const dnnl::primitive& primitive, std::vector<Argument> arguments,
            const dnnl::memory::desc& scratchpad);
  ~Primitive();
  size_t scratch_bytes() const { return scratch_bytes_; }
  // Addresses in the order of the arguments.
  void run(const void* const* addresses, std::byte* scratch) const;

 private:
  struct Handles;
  dnnl::primitive primitive_;
  size_t scratch_bytes_ = 0;
  int count_ = 0;
  std::unique_ptr<Handles[]> handles_;
};

// oneDNN's type for f32, f16 or bf16.
dnnl::memory::data_type data_type(DType dtype);

// kernel_name() makes a name such as "onednn:jit:avx2" from a primitive descriptor's
// implementation; is_reference() tells whether that is a plain reference loop.
std::string kernel_name(const char* implementation);
bool is_reference(const char* implementation);

// Packs input `input` from layout `plain` to `packed`; both have the same type. Empty if the
// layouts are equal.
std::vector<Packing> packings(int input, const dnnl::memory::desc& plain,
                              const dnnl::memory::desc& packed);

// Copies between layouts; the caller provides the scratch memory.
std::shared_ptr<const Primitive> make_reorder(const dnnl::memory::desc& from,
                                              const dnnl::memory::desc& to);

}  // namespace pando::kernels::onednn
