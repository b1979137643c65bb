// One oneDNN primitive with its arguments, ready to run from several threads, each of which runs it
// alone: the library's own threads stay out of it. For oneDNN 2.x.
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

// The library freezes its count of threads when a primitive is created and asks again when it
// runs; both must find one thread.
void use_one_thread();

// What all primitive descriptors here have: memory for work comes from the caller.
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

// The library's word for f32, f16 or bf16.
dnnl::memory::data_type data_type(DType dtype);

// "onednn:jit:avx2" out of a primitive descriptor, and whether it is a plain reference loop.
std::string kernel_name(const char* implementation);
bool is_reference(const char* implementation);

// Packs input `input` from `plain` into `packed`, of one type; nothing when they are the same.
std::vector<Packing> packings(int input, const dnnl::memory::desc& plain,
                              const dnnl::memory::desc& packed);

// Copies between layouts, with its memory from the caller.
std::shared_ptr<const Primitive> make_reorder(const dnnl::memory::desc& from,
                                              const dnnl::memory::desc& to);

}  // namespace pando::kernels::onednn
