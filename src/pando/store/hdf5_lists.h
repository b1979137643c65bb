// Lists of names in attributes, in parts where they are long, as Keras writes them.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/store/hdf5_reader.h"
#include "pando/store/hdf5_writer.h"

namespace pando::store {

// A list that is too long for one attribute is in name0, name1, ...
void write_list(Hdf5Writer& hdf5, const std::string& object, const std::string& name,
                const std::vector<std::string>& values);
bool has_list(Hdf5Reader& hdf5, const std::string& object, const std::string& name);
std::vector<std::string> read_list(Hdf5Reader& hdf5, const std::string& object,
                                   const std::string& name);

}  // namespace pando::store
