// The records, each made by the source of its data set. Private to the folder.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/datasets/dataset_record.h"

namespace pando::datasets {

DatasetRecord cifar10();
DatasetRecord cifar100();
DatasetRecord cosmoflow();
DatasetRecord fashion_mnist();
DatasetRecord image_folder();
DatasetRecord imagenet();
DatasetRecord mnist();
DatasetRecord numpy();
DatasetRecord tfrecord();

}  // namespace pando::datasets
