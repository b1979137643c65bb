// The only file that includes hdf5.h.
// SPDX-License-Identifier: MIT
#include "pando/store/hdf5_writer.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include <hdf5.h>

#include "pando/base/error.h"

namespace pando::store {

namespace {

// HDF5 has global state. Builds without thread support need this lock; it does no harm in others.
std::recursive_mutex& hdf5_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

// Holds the lock and keeps HDF5 from printing its error stack; afterwards restores the setting for
// other users of HDF5 in this process.
class Session {
 public:
  Session() : lock_(hdf5_mutex()) {
    H5Eget_auto2(H5E_DEFAULT, &report_, &report_data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { H5Eset_auto2(H5E_DEFAULT, report_, report_data_); }

 private:
  std::lock_guard<std::recursive_mutex> lock_;
  H5E_auto2_t report_ = nullptr;
  void* report_data_ = nullptr;
};

// An identifier of HDF5 and the function that releases it.
class Handle {
 public:
  Handle() = default;
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    Handle old(std::exchange(id_, std::exchange(other.id_, -1)), close_);
    close_ = other.close_;
    return *this;
  }
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  hid_t get() const { return id_; }

 private:
  hid_t id_ = -1;
  herr_t (*close_)(hid_t) = nullptr;
};

herr_t keep_innermost(unsigned n, const H5E_error2_t* entry, void* out) {
  if (n == 0 && entry->desc != nullptr) *static_cast<std::string*>(out) = entry->desc;
  return 0;
}

std::string last_cause() {
  std::string cause;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, &cause);
  H5Eclear2(H5E_DEFAULT);
  return cause.empty() ? "HDF5 gives no cause" : cause;
}

// The memory of a new file. HDF5 allocates it through these functions and passes the complete file
// to release() at the end; H5Fget_file_image would copy it, and in 1.10 breaks its first checksum.
struct Image {
  std::byte* memory = nullptr;
  size_t allocated = 0;

  Image() = default;
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;
  ~Image() { std::free(memory); }

  static void* resize(void* memory, size_t size, H5FD_file_image_op_t, void* image) {
    static_cast<Image*>(image)->allocated = size;
    return std::realloc(memory, size);
  }
  static void* allocate(size_t size, H5FD_file_image_op_t op, void* image) {
    return resize(nullptr, size, op, image);
  }
  static herr_t release(void* memory, H5FD_file_image_op_t, void* image) {
    std::free(std::exchange(static_cast<Image*>(image)->memory, static_cast<std::byte*>(memory)));
    return 0;
  }
  H5FD_file_image_callbacks_t callbacks() {
    return {.image_malloc = allocate,
            .image_memcpy = nullptr,
            .image_realloc = resize,
            .image_free = release,
            .udata_copy = [](void* image) { return image; },
            .udata_free = [](void*) -> herr_t { return 0; },
            .udata = this};
  }
};

std::vector<std::string> path_components(const std::string& path) {
  std::vector<std::string> components = split(path, '/');
  std::erase(components, "");
  return components;
}

}  // namespace

struct Hdf5Writer::State {
  Session session;  // first, so that it outlives all handles
  Image image;      // of a new file
  std::string name;
  Handle create_properties;  // of groups and the file: no times, so equal content gives equal bytes
  Handle link_properties;    // for making links: UTF-8
  Handle half;  // IEEE binary16; HDF5 1.10 has no name for it, h5py builds it like this
  Handle file;

  explicit State(std::string file_name) : name(std::move(file_name)) {
    link_properties = own(H5Pcreate(H5P_LINK_CREATE), H5Pclose, "prepare");
    check(H5Pset_char_encoding(link_properties.get(), H5T_CSET_UTF8), "prepare");
    half = own(H5Tcopy(H5T_IEEE_F32LE), H5Tclose, "prepare");
    check(H5Tset_fields(half.get(), 15, 10, 5, 0, 10), "prepare");
    check(H5Tset_size(half.get(), 2), "prepare");
    check(H5Tset_ebias(half.get(), 15), "prepare");
  }

  template <typename... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    throw IoError("HDF5 file '", name, "': ", parts...);
  }
  template <typename... Parts>
  void check(int64_t status, const Parts&... doing) const {
    if (status < 0) fail("cannot ", doing..., ": ", last_cause());
  }
  template <typename... Parts>
  Handle own(hid_t id, herr_t (*close)(hid_t), const Parts&... doing) const {
    check(id, doing...);
    return Handle(id, close);
  }

  Handle no_times(hid_t property_class) const {
    Handle properties = own(H5Pcreate(property_class), H5Pclose, "prepare");
    check(H5Pset_obj_track_times(properties.get(), false), "prepare");
    return properties;
  }
  void write_attribute(const std::string& object, const std::string& attribute, hid_t space,
                       const std::string& bytes, size_t width) const;
  hid_t file_type(DType dtype) const {
    if (dtype == DType::f16) return half.get();
    return dtype == DType::f32   ? H5T_IEEE_F32LE
           : dtype == DType::i32 ? H5T_STD_I32LE
                                 : H5T_STD_U8LE;
  }
  hid_t memory_type(DType dtype) const {
    if (dtype == DType::f16) return half.get();
    return dtype == DType::f32   ? H5T_NATIVE_FLOAT
           : dtype == DType::i32 ? H5T_NATIVE_INT32
                                 : H5T_NATIVE_UINT8;
  }
};

Hdf5Writer::Hdf5Writer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Hdf5Writer::Hdf5Writer(Hdf5Writer&&) noexcept = default;
Hdf5Writer& Hdf5Writer::operator=(Hdf5Writer&&) noexcept = default;
Hdf5Writer::~Hdf5Writer() = default;

Hdf5Writer Hdf5Writer::create(const std::string& name, size_t expected_bytes) {
  auto state = std::make_unique<State>(name);
  const Handle access = state->own(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "prepare");
  // Writes to memory, because HDF5 cannot clean up after a failed write to the disk; replace_file()
  // can.
  state->check(H5Pset_fapl_core(access.get(), expected_bytes + (size_t{1} << 16), false),
               "prepare");
  H5FD_file_image_callbacks_t callbacks = state->image.callbacks();
  state->check(H5Pset_file_image_callbacks(access.get(), &callbacks), "prepare");
  state->check(H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG), "prepare");
  // Version 1.8 has checksums of the metadata, and all current readers support it. One fixed
  // version gives equal bytes.
  state->check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_V18), "prepare");
  const Handle creation = state->no_times(H5P_FILE_CREATE);
  // Not the real name, because HDF5 would look for that file on the disk.
  state->file = state->own(H5Fcreate("(memory)", H5F_ACC_TRUNC, creation.get(), access.get()),
                           H5Fclose, "create");
  state->create_properties = state->no_times(H5P_GROUP_CREATE);
  return Hdf5Writer(std::move(state));
}

void Hdf5Writer::make_group(const std::string& path) {
  std::string at;
  // Creates the groups one by one: HDF5 would store a time in groups that it creates implicitly.
  for (const std::string& component : path_components(path)) {
    at += "/" + component;
    const htri_t found = H5Lexists(state_->file.get(), at.c_str(), H5P_DEFAULT);
    state_->check(found, "look up the group '", at, "'");
    if (found > 0) continue;
    state_->own(H5Gcreate2(state_->file.get(), at.c_str(), state_->link_properties.get(),
                           state_->create_properties.get(), H5P_DEFAULT),
                H5Gclose, "create the group '", at, "'");
  }
}

void Hdf5Writer::write_tensor(const std::string& path, const Tensor& tensor) {
  const DType dtype = tensor.dtype();
  if (dtype == DType::bf16) return write_tensor(path, cast(tensor, DType::f32));
  make_group(path.substr(0, path.rfind('/')));
  const Shape& shape = tensor.shape();
  const std::vector<hsize_t> dims(shape.begin(), shape.end());
  const Handle space = state_->own(
      dims.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(shape.rank(), dims.data(), nullptr),
      H5Sclose, "describe the shape ", shape, " of '", path, "'");
  const Handle properties = state_->no_times(H5P_DATASET_CREATE);
  state_->check(H5Pset_fill_time(properties.get(), H5D_FILL_TIME_NEVER), "prepare");
  const Handle dataset = state_->own(
      H5Dcreate2(state_->file.get(), path.c_str(), state_->file_type(dtype), space.get(),
                 state_->link_properties.get(), properties.get(), H5P_DEFAULT),
      H5Dclose, "create the dataset '", path, "'");
  if (tensor.empty()) return;
  state_->check(H5Dwrite(dataset.get(), state_->memory_type(dtype), H5S_ALL, H5S_ALL, H5P_DEFAULT,
                         tensor.data()),
                "write the dataset '", path, "'");
}

void Hdf5Writer::State::write_attribute(const std::string& object, const std::string& attribute,
                                        hid_t space, const std::string& bytes, size_t width) const {
  const Handle type = own(H5Tcopy(H5T_C_S1), H5Tclose, "prepare");
  check(H5Tset_size(type.get(), width), "prepare");
  check(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), "prepare");
  const Handle created =
      own(H5Acreate_by_name(file.get(), object.c_str(), attribute.c_str(), type.get(), space,
                            H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
          H5Aclose, "create the attribute '", attribute, "' of '", object, "'");
  check(H5Awrite(created.get(), type.get(), bytes.data()), "write the attribute '", attribute,
        "' of '", object, "'");
}

void Hdf5Writer::write_string(const std::string& object, const std::string& name,
                              const std::string& value) {
  const Handle space = state_->own(H5Screate(H5S_SCALAR), H5Sclose, "prepare");
  const size_t width = std::max<size_t>(value.size(), 1);
  state_->write_attribute(object, name, space.get(), value, width);
}

void Hdf5Writer::write_strings(const std::string& object, const std::string& name,
                               const std::vector<std::string>& values) {
  size_t width = 1;
  for (const std::string& value : values) width = std::max(width, value.size());
  std::string bytes(std::max<size_t>(width * values.size(), 1), '\0');
  for (size_t i = 0; i < values.size(); ++i) values[i].copy(bytes.data() + i * width, width);
  const hsize_t count = values.size();
  const Handle space = state_->own(H5Screate_simple(1, &count, nullptr), H5Sclose, "prepare");
  state_->write_attribute(object, name, space.get(), bytes, width);
}

std::span<const std::byte> Hdf5Writer::finish() {
  constexpr size_t kEndOfFile = 28;  // offset of this 64-bit number in a version 2 superblock
  Image& image = state_->image;
  state_->check(H5Fflush(state_->file.get(), H5F_SCOPE_GLOBAL), "flush");
  state_->file = Handle();
  PANDO_CHECK(image.memory != nullptr && image.allocated > kEndOfFile + 8, state_->name);
  uint64_t size = 0;
  std::memcpy(&size, image.memory + kEndOfFile, sizeof(size));
  PANDO_CHECK(size <= image.allocated, state_->name);
  return {image.memory, static_cast<size_t>(size)};
}

}  // namespace pando::store
