// Reads HDF5 files of any origin: groups, attributes and tensors, by path.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pando/tensor/tensor.h"

namespace pando::store {

// One HDF5 file for reading, in the forms that h5py, Keras and we write: superblocks 0 to 3, old
// and new groups, attributes of any number and size, compact, contiguous and chunked data with
// gzip, shuffle and fletcher32. Everything else is refused with an IoError that names file, object
// and feature, and so is every damage that shows: no file makes this crash, hang or take more
// memory than 64 times its size plus 1 GiB. Never opens a second file. One thread at a time.
//
// Paths are absolute or relative to the root, "/" is the root group. Soft links are followed.
class Hdf5Reader {
 public:
  struct Options {
    bool check_sums = true;            // of metadata; fuzzers cannot guess them
    uint64_t most_bytes = 1ULL << 30;  // of tensors, beyond 64 times the size of the file
  };

  explicit Hdf5Reader(const std::string& path);
  // A view of `content`, which must outlive it; `name` is for messages.
  Hdf5Reader(std::span<const uint8_t> content, const std::string& name, Options options);
  Hdf5Reader(Hdf5Reader&&) noexcept;
  Hdf5Reader& operator=(Hdf5Reader&&) noexcept;
  ~Hdf5Reader();

  // Tensors that are read from now on may take this many bytes together, if that is less than what
  // the options allow.
  void limit_tensors(uint64_t most_bytes);

  // True when there is a link of that name, even one that leads nowhere.
  bool exists(const std::string& path);
  bool is_group(const std::string& path);
  bool is_dataset(const std::string& path);
  // The names in a group, sorted.
  std::vector<std::string> children(const std::string& group);

  // IEEE half stays, other floating point becomes f32, uint8 stays, other integers and enumerations
  // become i32.
  Tensor read_tensor(const std::string& path);

  std::vector<std::string> attribute_names(const std::string& object);  // sorted
  bool has_attribute(const std::string& object, const std::string& name);
  // Strings of fixed or variable length; an empty attribute of any type gives no strings.
  std::vector<std::string> read_strings(const std::string& object, const std::string& name);
  std::vector<double> read_numbers(const std::string& object, const std::string& name);
  // All attributes of the object that are a single string.
  std::map<std::string, std::string> string_attributes(const std::string& object);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pando::store
