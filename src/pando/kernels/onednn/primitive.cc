// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>
#include <dnnl_debug.h>

#include "pando/base/random.h"
#include "pando/base/strings.h"
#include "pando/kernels/function_kernel.h"
#include "pando/kernels/onednn/primitive_impl.h"

namespace pando::kernels::onednn {

namespace {

using dnnl::memory;

constexpr int kSets = 16;  // usually more than the threads that run one primitive at the same time

// After a failure the output would still hold the results of an earlier step, and training would
// continue with them unnoticed. A worker cannot throw out of its thread, so the process ends.
void check(dnnl_status_t status, const char* doing, const dnnl::primitive& primitive) {
  if (status == dnnl_success) return;
  const char* name = nullptr;
  const_dnnl_primitive_desc_t desc = nullptr;
  if (dnnl_primitive_get_primitive_desc(primitive.get(), &desc) == dnnl_success)
    dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &name);
  std::fprintf(stderr, "pando: %s oneDNN's primitive %s failed with status %d (%s)\n", doing,
               name == nullptr ? "of unknown name" : name, static_cast<int>(status),
               dnnl_status2str(status));
  std::abort();
}

// oneDNN 2.6.3 runs some of its AMX code without configuring the tiles first, which ends the
// process by SIGILL. It uses the instructions of AVX512-BF16 instead, unless a user chose by
// oneDNN's own variables. The library takes a choice only before it is first asked for anything.
void avoid_amx() {
  for (const char* name : {"DNNL_MAX_CPU_ISA", "ONEDNN_MAX_CPU_ISA"}) {
    if (std::getenv(name) != nullptr) return;
  }
  dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core_bf16);
}

}  // namespace

const dnnl::engine& cpu_engine() {
  static const dnnl::engine engine = [] {
    avoid_amx();
    return dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return engine;
}

void use_one_thread() {
  // The function is looked up at run time because Pando itself is not built with OpenMP. The
  // setting is per thread.
  using Set = void (*)(int);
  static const Set set = reinterpret_cast<Set>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  thread_local bool done = false;
  if (done) return;
  if (set != nullptr) set(1);
  done = true;
}

dnnl::primitive_attr primitive_attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

// One set of memory objects; `busy` is set while a run uses it.
struct Primitive::Handles {
  std::atomic_flag busy;
  std::vector<dnnl::memory> memories;
  std::vector<dnnl_exec_arg_t> arguments;
  std::vector<const void*> addresses;
  dnnl::stream stream;

  // Binds only a changed address, because setting a handle clears the padding of a blocked layout.
  void bind(const dnnl::primitive& primitive, size_t argument, const void* address) {
    if (addresses[argument] == address) return;
    check(dnnl_memory_set_data_handle(arguments[argument].memory, const_cast<void*>(address)),
          "binding an argument of", primitive);
    addresses[argument] = address;
  }
};

Primitive::Primitive(const dnnl::primitive& primitive, std::vector<Argument> arguments,
                     const dnnl::memory::desc& scratchpad)
    : primitive_(primitive),
      scratch_bytes_(scratchpad.get_size()),
      count_(static_cast<int>(arguments.size())),
      handles_(std::make_unique<Handles[]>(kSets)) {
  arguments.push_back({DNNL_ARG_SCRATCHPAD, scratchpad});
  for (int i = 0; i < kSets; ++i) {
    Handles& set = handles_[static_cast<size_t>(i)];
    set.stream = dnnl::stream(cpu_engine());
    set.addresses.assign(arguments.size(), nullptr);
    for (const Argument& argument : arguments) {
      set.memories.emplace_back(argument.desc, cpu_engine(), nullptr);
      set.arguments.push_back({argument.id, set.memories.back().get()});
    }
  }
}

Primitive::~Primitive() = default;

void Primitive::run(const void* const* addresses, std::byte* scratch) const {
  use_one_thread();
  size_t i = 0;
  while (handles_[i].busy.test_and_set(std::memory_order_acquire)) i = (i + 1) % kSets;
  Handles& set = handles_[i];
  for (int a = 0; a < count_; ++a) set.bind(primitive_, static_cast<size_t>(a), addresses[a]);
  set.bind(primitive_, static_cast<size_t>(count_), scratch);
  check(dnnl_primitive_execute(primitive_.get(), set.stream.get(),
                               static_cast<int>(set.arguments.size()), set.arguments.data()),
        "executing", primitive_);
  set.busy.clear(std::memory_order_release);
}

memory::data_type data_type(DType dtype) {
  switch (dtype) {
    case DType::f16: return memory::data_type::f16;
    case DType::bf16: return memory::data_type::bf16;
    default: return memory::data_type::f32;
  }
}

std::string kernel_name(const char* implementation) { return concat("onednn:", implementation); }

bool is_reference(const char* implementation) {
  const std::string_view name(implementation);
  return name.find("ref") != std::string_view::npos;
}

namespace {

// A short name made from the fields that determine where elements lie.
std::string layout_name(const dnnl::memory::desc& desc) {
  const dnnl_memory_desc_t& d = desc.data;
  std::string text = concat(d.data_type, "/", d.ndims, "/", d.format_kind);
  for (int i = 0; i < d.ndims; ++i) {
    text += concat("/", d.dims[i], ",", d.padded_dims[i], ",", d.format_desc.blocking.strides[i]);
  }
  for (int i = 0; i < d.format_desc.blocking.inner_nblks; ++i) {
    text += concat("/", d.format_desc.blocking.inner_blks[i], "@",
                   d.format_desc.blocking.inner_idxs[i]);
  }
  char name[32];
  std::snprintf(name, sizeof(name), "onednn-%016llx",
                static_cast<unsigned long long>(hash_name(text)));
  return name;
}

DType dtype_of(const memory::desc& desc) {
  switch (desc.data_type()) {
    case memory::data_type::f16: return DType::f16;
    case memory::data_type::bf16: return DType::bf16;
    default: return DType::f32;
  }
}

}  // namespace

std::shared_ptr<const Primitive> make_reorder(const dnnl::memory::desc& from,
                                              const dnnl::memory::desc& to) {
  const dnnl::reorder::primitive_desc pd(cpu_engine(), from, cpu_engine(), to,
                                         primitive_attributes());
  return std::make_shared<Primitive>(
      dnnl::reorder(pd), std::vector<Argument>{{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}},
      pd.scratchpad_desc());
}

std::vector<Packing> packings(int input, const dnnl::memory::desc& plain,
                              const dnnl::memory::desc& packed) {
  if (plain == packed) return {};
  const auto reorder = make_reorder(plain, packed);
  const auto pack = [reorder](const KernelArgs& args, const StepArgs&) {
    const void* addresses[] = {args.inputs[0], args.outputs[0]};
    reorder->run(addresses, args.scratch);
  };
  const DType dtype = dtype_of(packed);
  const auto elements = static_cast<int64_t>(packed.get_size() / size_of(dtype));
  return {{.input = input,
           .layout = {layout_name(packed), elements},
           .packer = std::make_shared<FunctionKernel>(
               "onednn:reorder", pack, FunctionTraits{.scratch_bytes = reorder->scratch_bytes()}),
           .dtype = dtype}};
}

}  // namespace pando::kernels::onednn
