// The part of HDF5 that weight files need: groups, string attributes and tensors, by path.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pando/tensor/tensor.h"

namespace pando::store {

// One HDF5 file: a new one in memory, or an existing one for reading. Owns the process-wide lock of
// HDF5 while it lives (HDF5 keeps global state), so use it in one thread and briefly. Every failure
// is an IoError that names the file and the cause that HDF5 gives; HDF5 prints nothing.
class Hdf5File {
 public:
  // An empty file in memory; `name` is for messages. The same calls give the same bytes.
  static Hdf5File create(const std::string& name, size_t expected_bytes);
  // Refuses files that refer to other files: external links, external or virtual data.
  static Hdf5File open(const std::string& path);
  Hdf5File(Hdf5File&&) noexcept;
  Hdf5File& operator=(Hdf5File&&) noexcept;
  ~Hdf5File();

  // Paths are absolute, "/" is the root group. Missing groups of the path are created.
  void make_group(const std::string& path);
  // bf16, which HDF5 does not have, becomes f32.
  void write_tensor(const std::string& path, const Tensor& tensor);
  void write_string(const std::string& object, const std::string& name, const std::string& value);
  // Writes the values as fixed-length byte strings.
  void write_strings(const std::string& object, const std::string& name,
                     const std::vector<std::string>& values);
  // Ends the writing and returns the bytes of the file, which live as long as this object.
  std::span<const std::byte> finish();

  bool exists(const std::string& path);
  bool has_attribute(const std::string& object, const std::string& name);
  // Keeps IEEE half, 32-bit signed and 8-bit unsigned integers; other floating point becomes f32.
  Tensor read_tensor(const std::string& path);
  // Strings of fixed or variable length; an empty attribute of any type gives no strings.
  std::vector<std::string> read_strings(const std::string& object, const std::string& name);
  // All attributes of the object that are a single string.
  std::map<std::string, std::string> string_attributes(const std::string& object);

 private:
  struct State;
  explicit Hdf5File(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace pando::store
