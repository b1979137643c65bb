// Writes HDF5 files by libhdf5: groups, string attributes and tensors, by path.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pando/tensor/tensor.h"

namespace pando::store {

// A new HDF5 file in memory. Owns the process-wide lock of HDF5 while it lives (HDF5 keeps global
// state), so use it in one thread and briefly. Every failure is an IoError that names the file and
// the cause that HDF5 gives; HDF5 prints nothing. libhdf5 never reads a file: it crashes on damaged
// ones (hdf5_reader.h reads).
class Hdf5Writer {
 public:
  // An empty file in memory; `name` is for messages. The same calls give the same bytes.
  static Hdf5Writer create(const std::string& name, size_t expected_bytes);
  Hdf5Writer(Hdf5Writer&&) noexcept;
  Hdf5Writer& operator=(Hdf5Writer&&) noexcept;
  ~Hdf5Writer();

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

 private:
  struct State;
  explicit Hdf5Writer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace pando::store
