// All of Pando that its users need: describe a network, train, evaluate, use and keep it.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/base/error.h"
#include "pando/data/dataset.h"
#include "pando/data/sources/arrays.h"
#include "pando/data/sources/cifar.h"
#include "pando/data/sources/cosmoflow.h"
#include "pando/data/sources/idx.h"
#include "pando/data/sources/mnist.h"
#include "pando/data/sources/synthetic.h"
#include "pando/data/sources/tfrecord_source.h"
#include "pando/nn/initializers.h"
#include "pando/nn/layers.h"
#include "pando/nn/losses.h"
#include "pando/nn/network.h"
#include "pando/nn/pipeline_stage.h"
#include "pando/optim/optimizer.h"
#include "pando/tensor/tensor.h"
#include "pando/train/callbacks.h"
#include "pando/train/model.h"
#include "pando/zoo/zoo.h"
