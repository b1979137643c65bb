// Where fetched data sets are.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "pando/fetch/remote_dataset.h"

namespace pando::fetch {

// $PANDO_DATA, else $XDG_DATA_HOME/pando, else $HOME/.local/share/pando; nothing if none of them is
// set.
std::optional<std::string> find_default_folder();
// The same; throws InvalidArgument if none of them is set.
std::string default_folder();
// What to do when files cannot be stored in `folder`; as for find_fetched.
std::string other_folder_advice(const std::string& folder);

// The folder of one data set; `folder` as for find_fetched.
std::string dataset_folder(const RemoteDataset& entry, const std::string& folder);

// The folder that the readers of the data set take, if all its files are there with the right
// sizes. `folder` holds a folder for each data set; empty: default_folder().
std::optional<std::string> find_fetched(const RemoteDataset& entry, const std::string& folder = "");

// The folder of the data set from a Debian package, if the package is installed.
std::optional<std::string> find_packaged(const RemoteDataset& entry);

// Renames the folder `made` to `target`. An existing folder `target` is renamed to `aside`, on the
// same disk, or stays if renaming fails. Throws IoError.
void replace_folder(const std::string& made, const std::string& target, const std::string& aside);

}  // namespace pando::fetch
