// Work on many independent items by several threads.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>

namespace pando::data {

// Calls work(item) for 0 <= item < count, on the calling thread and workers - 1 more. Items are
// started in ascending order. After an exception no further item is started, and the exception of
// the lowest failed item is rethrown when all threads have ended. It is the same for any number of
// workers, since all lower items were started before it. Requires: workers >= 1.
void for_each_item(size_t count, int workers, const std::function<void(size_t item)>& work);

}  // namespace pando::data
