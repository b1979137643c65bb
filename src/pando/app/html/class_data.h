// What a page shows of the classes of a validation and of the pictures that training got.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/app/html/run_record.h"
#include "pando/base/json.h"

namespace pando::app {

// What the validation of a run recorded, by its task: class_report.json (app/report/class_record.h,
// label_report.h), target_report.json or segmentation_report.json, with `task`, and with its sheet
// of pictures as a data URL in `shown.sheet`. Null without the file; a damaged file becomes a
// problem of the run.
Json class_data(RunRecord& run);

// input.json (app/report/input_record.h) in the same way, with the names of the classes in `names`.
Json input_data(RunRecord& run);

}  // namespace pando::app
