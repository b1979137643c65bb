// The verbs of `pando data`, each a function in a file of its own group.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "pando/datasets/all_datasets.h"
#include "pando/options/options.h"

namespace pando::cli {

using Arguments = std::span<const std::string>;

int data_build_imagenet(Arguments args, std::ostream& out);
int data_fetch(Arguments args, std::ostream& out);
int data_list(Arguments args, std::ostream& out);
int data_make_cifar10(Arguments args, std::ostream& out);
int data_make_cosmoflow(Arguments args, std::ostream& out);
int data_make_imagenet(Arguments args, std::ostream& out);
int data_make_shapes(Arguments args, std::ostream& out);
int data_verify(Arguments args, std::ostream& out);
int data_benchmark(Arguments args, std::ostream& out);
int data_show(Arguments args, std::ostream& out);

// Parses the flags and words of a verb. Returns false after printing the help for --help, which
// begins with `usage`. Throws UsageError.
bool parse_verb(Arguments args, std::ostream& out, std::string_view usage,
                const std::function<void(OptionTable&)>& add_flags);

// The data sets that `verify`, `benchmark` and `show` know, for their help texts.
std::string dataset_list();
// Returns `path` or, if it is empty, the place where the data set was fetched to or a package put
// it. Throws InvalidArgument when there is none, or when `path` does not exist.
std::string place_of(const DatasetRecord& record, const std::string& path);
// The number of hardware threads of the machine.
int default_workers();

}  // namespace pando::cli
