// Work on many independent items by several threads.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>

namespace pando::data {

// Calls work(item) for 0 <= item < count, on the calling thread and workers - 1 more. Items are
// begun in ascending order. After an exception no further item is begun, and the exception of the
// lowest failed item comes out when all threads have ended: the same one for any number of workers,
// since all lower items were begun before. Requires: workers >= 1.
void for_each_item(size_t count, int workers, const std::function<void(size_t item)>& work);

}  // namespace pando::data
