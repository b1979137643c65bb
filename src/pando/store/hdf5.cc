// The only file that includes hdf5.h, hence its length.
// SPDX-License-Identifier: MIT
#include "pando/store/hdf5.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include <hdf5.h>

#include "pando/base/error.h"

namespace pando::store {

namespace {

// HDF5 has global state; builds without thread support need this lock, the others lose nothing.
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

herr_t refuse_external_link(const char*, const char*, const char*, const char*, unsigned*, hid_t,
                            void*) {
  return -1;
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

std::string unpad(const char* bytes, size_t size, H5T_str_t padding) {
  std::string text(bytes, padding == H5T_STR_SPACEPAD ? size : strnlen(bytes, size));
  if (padding == H5T_STR_SPACEPAD) text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace

struct Hdf5File::State {
  Session session;  // first, so that it outlives all handles
  Image image;      // of a new file
  std::string name;
  Handle create_properties;  // of groups and the file: no times, so equal content gives equal bytes
  Handle link_properties;    // for making links: UTF-8
  Handle access;             // for following links: never into other files
  Handle half;  // IEEE binary16; HDF5 1.10 has no name for it, h5py builds it like this
  Handle file;
  hsize_t file_bytes = 0;

  explicit State(std::string file_name) : name(std::move(file_name)) {
    link_properties = own(H5Pcreate(H5P_LINK_CREATE), H5Pclose, "prepare");
    check(H5Pset_char_encoding(link_properties.get(), H5T_CSET_UTF8), "prepare");
    access = own(H5Pcreate(H5P_LINK_ACCESS), H5Pclose, "prepare");
    check(H5Pset_elink_cb(access.get(), refuse_external_link, nullptr), "prepare");
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
  Handle open_dataset(const std::string& path) const {
    // The access properties of datasets have no link settings: open the object first.
    Handle object = own(H5Oopen(file.get(), path.c_str(), access.get()), H5Oclose,
                        "open the dataset '", path, "'");
    if (H5Iget_type(object.get()) != H5I_DATASET) fail("'", path, "' is not a dataset");
    return object;
  }
  Handle open_attribute(const std::string& object, const std::string& attribute) const {
    return own(
        H5Aopen_by_name(file.get(), object.c_str(), attribute.c_str(), H5P_DEFAULT, access.get()),
        H5Aclose, "open the attribute '", attribute, "' of '", object, "'");
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
  bool is_half(hid_t type) const;
  Shape shape_of(hid_t space, const std::string& path) const;
  DType dtype_of(hid_t type, const std::string& path) const;
  void check_storage(hid_t dataset, const std::string& path, const Shape& shape) const;
  std::vector<std::string> read_fixed(hid_t attribute, hid_t type, size_t count) const;
  std::vector<std::string> read_variable(hid_t attribute, hid_t type, size_t count) const;
};

Hdf5File::Hdf5File(std::unique_ptr<State> state) : state_(std::move(state)) {}
Hdf5File::Hdf5File(Hdf5File&&) noexcept = default;
Hdf5File& Hdf5File::operator=(Hdf5File&&) noexcept = default;
Hdf5File::~Hdf5File() = default;

Hdf5File Hdf5File::create(const std::string& name, size_t expected_bytes) {
  auto state = std::make_unique<State>(name);
  const Handle access = state->own(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "prepare");
  // In memory: HDF5 cannot clean up after a failed write to the disk, replace_file() can.
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
  return Hdf5File(std::move(state));
}

Hdf5File Hdf5File::open(const std::string& path) {
  auto state = std::make_unique<State>(path);
  const Handle access = state->own(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "prepare");
  state->check(H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG), "prepare");
  state->file = state->own(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose, "open");
  state->check(H5Fget_filesize(state->file.get(), &state->file_bytes), "find the size");
  return Hdf5File(std::move(state));
}

void Hdf5File::make_group(const std::string& path) {
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

void Hdf5File::write_tensor(const std::string& path, const Tensor& tensor) {
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

void Hdf5File::State::write_attribute(const std::string& object, const std::string& attribute,
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

void Hdf5File::write_string(const std::string& object, const std::string& name,
                            const std::string& value) {
  const Handle space = state_->own(H5Screate(H5S_SCALAR), H5Sclose, "prepare");
  const size_t width = std::max<size_t>(value.size(), 1);
  state_->write_attribute(object, name, space.get(), value, width);
}

void Hdf5File::write_strings(const std::string& object, const std::string& name,
                             const std::vector<std::string>& values) {
  size_t width = 1;
  for (const std::string& value : values) width = std::max(width, value.size());
  std::string bytes(std::max<size_t>(width * values.size(), 1), '\0');
  for (size_t i = 0; i < values.size(); ++i) values[i].copy(bytes.data() + i * width, width);
  const hsize_t count = values.size();
  const Handle space = state_->own(H5Screate_simple(1, &count, nullptr), H5Sclose, "prepare");
  state_->write_attribute(object, name, space.get(), bytes, width);
}

std::span<const std::byte> Hdf5File::finish() {
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

bool Hdf5File::exists(const std::string& path) {
  std::string at;
  for (const std::string& component : path_components(path)) {
    at += "/" + component;
    const htri_t found = H5Lexists(state_->file.get(), at.c_str(), state_->access.get());
    state_->check(found, "look up '", at, "'");
    if (found == 0) return false;
  }
  return true;
}

bool Hdf5File::has_attribute(const std::string& object, const std::string& name) {
  const htri_t found =
      H5Aexists_by_name(state_->file.get(), object.c_str(), name.c_str(), state_->access.get());
  state_->check(found, "look up the attribute '", name, "' of '", object, "'");
  return found > 0;
}

Shape Hdf5File::State::shape_of(hid_t space, const std::string& path) const {
  if (H5Sget_simple_extent_type(space) == H5S_NULL) fail("the dataset '", path, "' holds no data");
  const int rank = H5Sget_simple_extent_ndims(space);
  check(rank, "read the shape of '", path, "'");
  std::vector<hsize_t> dims(static_cast<size_t>(rank));
  check(H5Sget_simple_extent_dims(space, dims.data(), nullptr), "read the shape of '", path, "'");
  uint64_t elements = 1;
  for (const hsize_t extent : dims) {
    if (extent > uint64_t{1} << 48 || __builtin_mul_overflow(elements, extent, &elements) ||
        elements > uint64_t{1} << 48) {
      fail("the dataset '", path, "' has an extent of ", extent,
           ", which is too large for a weight");
    }
  }
  return Shape(std::vector<int64_t>(dims.begin(), dims.end()));
}

// True for either byte order.
bool Hdf5File::State::is_half(hid_t type) const {
  const Handle copy = own(H5Tcopy(type), H5Tclose, "inspect a type");
  check(H5Tset_order(copy.get(), H5T_ORDER_LE), "inspect a type");
  const htri_t equal = H5Tequal(copy.get(), half.get());
  check(equal, "inspect a type");
  return equal > 0;
}

DType Hdf5File::State::dtype_of(hid_t type, const std::string& path) const {
  const size_t size = H5Tget_size(type);
  const H5T_class_t kind = H5Tget_class(type);
  if (kind == H5T_FLOAT) return is_half(type) ? DType::f16 : DType::f32;
  if (kind == H5T_INTEGER && size == 4 && H5Tget_sign(type) == H5T_SGN_2) return DType::i32;
  if (kind == H5T_INTEGER && size == 1 && H5Tget_sign(type) == H5T_SGN_NONE) return DType::u8;
  fail("the dataset '", path, "': expected floating point, int32 or uint8, got elements of ", size,
       " bytes of HDF5 class ", static_cast<int>(kind));
}

// A damaged or malicious file may claim more elements than it holds; checks this before allocating.
void Hdf5File::State::check_storage(hid_t dataset, const std::string& path,
                                    const Shape& shape) const {
  constexpr uint64_t kLargestRatio = 2048;  // deflate shrinks at most 1032 times
  const Handle properties = own(H5Dget_create_plist(dataset), H5Pclose, "inspect '", path, "'");
  const H5D_layout_t layout = H5Pget_layout(properties.get());
  if (layout == H5D_VIRTUAL || H5Pget_external_count(properties.get()) > 0) {
    fail("the dataset '", path, "' takes its data from other files; copy them into one file");
  }
  const Handle type = own(H5Dget_type(dataset), H5Tclose, "inspect '", path, "'");
  const uint64_t wanted = static_cast<uint64_t>(shape.elements()) * H5Tget_size(type.get());
  const uint64_t stored = H5Dget_storage_size(dataset);
  const uint64_t ratio = layout == H5D_CHUNKED ? kLargestRatio : 1;
  if (stored > file_bytes || wanted / ratio > stored) {
    fail("the dataset '", path, "' of shape ", shape, " needs ", wanted, " bytes, but ", stored,
         " are stored");
  }
}

Tensor Hdf5File::read_tensor(const std::string& path) {
  const Handle dataset = state_->open_dataset(path);
  const Handle type =
      state_->own(H5Dget_type(dataset.get()), H5Tclose, "read the type of '", path, "'");
  const DType dtype = state_->dtype_of(type.get(), path);
  const Handle space =
      state_->own(H5Dget_space(dataset.get()), H5Sclose, "read the shape of '", path, "'");
  const Shape shape = state_->shape_of(space.get(), path);
  state_->check_storage(dataset.get(), path, shape);
  Tensor tensor(dtype, shape);
  if (tensor.empty()) return tensor;
  state_->check(H5Dread(dataset.get(), state_->memory_type(dtype), H5S_ALL, H5S_ALL, H5P_DEFAULT,
                        tensor.data()),
                "read the dataset '", path, "'");
  return tensor;
}

std::vector<std::string> Hdf5File::State::read_fixed(hid_t attribute, hid_t type,
                                                     size_t count) const {
  const size_t width = H5Tget_size(type);
  const H5T_str_t padding = H5Tget_strpad(type);
  if (width == 0 || count > file_bytes / width) fail("a list of names exceeds the file");
  std::string bytes(width * count, '\0');
  check(H5Aread(attribute, type, bytes.data()), "read an attribute");
  std::vector<std::string> values;
  for (size_t i = 0; i < count; ++i) values.push_back(unpad(&bytes[i * width], width, padding));
  return values;
}

std::vector<std::string> Hdf5File::State::read_variable(hid_t attribute, hid_t type,
                                                        size_t count) const {
  if (count > file_bytes) fail("a list of names exceeds the file");
  const Handle space = own(H5Aget_space(attribute), H5Sclose, "inspect an attribute");
  std::vector<char*> pointers(count, nullptr);
  check(H5Aread(attribute, type, pointers.data()), "read an attribute");
  std::vector<std::string> values;
  for (const char* text : pointers) values.emplace_back(text == nullptr ? "" : text);
  H5Dvlen_reclaim(type, space.get(), H5P_DEFAULT, pointers.data());
  return values;
}

std::vector<std::string> Hdf5File::read_strings(const std::string& object,
                                                const std::string& name) {
  const Handle attribute = state_->open_attribute(object, name);
  const Handle space = state_->own(H5Aget_space(attribute.get()), H5Sclose, "inspect '", name, "'");
  const Handle type = state_->own(H5Aget_type(attribute.get()), H5Tclose, "inspect '", name, "'");
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  state_->check(count, "count the strings of '", name, "'");
  if (count == 0) return {};
  if (H5Tget_class(type.get()) != H5T_STRING) {
    state_->fail("the attribute '", name, "' of '", object, "' does not hold strings");
  }
  return H5Tis_variable_str(type.get()) > 0
             ? state_->read_variable(attribute.get(), type.get(), static_cast<size_t>(count))
             : state_->read_fixed(attribute.get(), type.get(), static_cast<size_t>(count));
}

std::map<std::string, std::string> Hdf5File::string_attributes(const std::string& object) {
  std::vector<std::string> names;
  const auto keep_name = [](hid_t, const char* name, const H5A_info_t*, void* out) -> herr_t {
    static_cast<std::vector<std::string>*>(out)->emplace_back(name);
    return 0;
  };
  state_->check(H5Aiterate_by_name(state_->file.get(), object.c_str(), H5_INDEX_NAME, H5_ITER_INC,
                                   nullptr, keep_name, &names, state_->access.get()),
                "list the attributes of '", object, "'");
  std::map<std::string, std::string> values;
  for (const std::string& name : names) {
    const Handle attribute = state_->open_attribute(object, name);
    const Handle space =
        state_->own(H5Aget_space(attribute.get()), H5Sclose, "inspect '", name, "'");
    const Handle type = state_->own(H5Aget_type(attribute.get()), H5Tclose, "inspect '", name, "'");
    if (H5Tget_class(type.get()) != H5T_STRING) continue;
    if (H5Sget_simple_extent_type(space.get()) != H5S_SCALAR) continue;
    values[name] = read_strings(object, name).front();
  }
  return values;
}

}  // namespace pando::store
