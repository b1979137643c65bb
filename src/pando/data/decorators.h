// The decorators behind the methods of Dataset: each is a source over a source.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/data/dataset.h"

namespace pando::data {

SourcePtr shuffled(SourcePtr inner, ShuffleOptions options);
// Samples first, first + step, ...: `size` of them. Requires: all of them exist.
SourcePtr strided(SourcePtr inner, int64_t first, int64_t step, int64_t size);
// Requires: all of the samples exist.
SourcePtr selected(SourcePtr inner, std::vector<int64_t> chosen);
SourcePtr repeated(SourcePtr inner, int64_t times);
SourcePtr concatenated(SourcePtr first, SourcePtr second);
// Keeps samples in memory once they are gathered.
SourcePtr cached(SourcePtr inner, CacheOptions options);

SourcePtr mapped(SourcePtr inner, std::function<Sample(Sample)> change);
SourcePtr mapped_in_place(SourcePtr inner, std::function<void(const SampleView&)> change);
SourcePtr field_mapped(SourcePtr inner, size_t position, Field field, Dataset::FieldChange change);
SourcePtr field_added(SourcePtr inner, Field field, std::function<void(const SampleView&)> fill);

// The fields of a sample made by a user's function, under the usual names or those of `like`.
std::vector<Field> fields_of(const Sample& sample, const std::vector<Field>& like);
// Copies a sample into row `row`. Throws InvalidArgument when it does not have these fields.
void store_sample(const Sample& sample, const std::vector<Field>& fields, const Rows& rows,
                  int64_t row);
Sample load_sample(const DataSource& source, int64_t epoch, int64_t index);

}  // namespace pando::data
