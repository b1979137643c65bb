// Where fetched data sets are.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "pando/fetch/remote_dataset.h"

namespace pando::fetch {

// $PANDO_DATA, else $XDG_DATA_HOME/pando, else $HOME/.local/share/pando. Throws InvalidArgument
// when none of them is set.
std::string default_folder();

// The folder of one data set; `folder` as for find_fetched.
std::string dataset_folder(const RemoteDataset& entry, const std::string& folder);

// What the readers of the data set take, when all its files are there with their sizes. `folder`
// holds a folder for each data set; empty is default_folder().
std::optional<std::string> find_fetched(const RemoteDataset& entry, const std::string& folder = "");

// Where the data set is that a Debian package brings, when it is installed.
std::optional<std::string> find_packaged(const RemoteDataset& entry);

// One of the two, what was fetched first.
std::optional<std::string> find_here(const RemoteDataset& entry, const std::string& folder = "");

// Gives the folder `made` the name `target`. The folder that had it becomes `aside`, on the same
// disk, or stays when renaming fails. Throws IoError.
void replace_folder(const std::string& made, const std::string& target, const std::string& aside);

}  // namespace pando::fetch
