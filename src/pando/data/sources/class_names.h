// The names of classes from a text file with one name per line.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pando::data {

// The names in labels.txt or classes.txt of a folder, in the order of the class numbers; none if
// the folder has neither. Throws IoError for a file that cannot be read, an empty line between
// names, no name at all, or a name that occurs twice.
std::vector<std::string> read_class_names(const std::string& folder);

// The same for the content of such a file; `place` names it in errors.
std::vector<std::string> parse_class_names(std::string_view content, const std::string& place);

}  // namespace pando::data
