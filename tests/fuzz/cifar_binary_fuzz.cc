// Reads any bytes as a batch of CIFAR in the binary version. Expects images or an IoError.
// SPDX-License-Identifier: MIT
#include <vector>

#include "pando/base/error.h"
#include "pando/data/sources/cifar/batch.h"
#include "tests/fuzz/targets.h"

void pando::fuzz::cifar_binary(Input input) {
  using data::CifarKind;
  for (const CifarKind kind : {CifarKind::cifar10, CifarKind::cifar100}) {
    try {
      data::parse_cifar_binary(input, "fuzz", kind);
    } catch (const IoError&) {
    }
    try {
      std::vector<data::CifarFlaw> flaws;
      data::parse_cifar_binary(input, "fuzz", kind, &flaws);
    } catch (const IoError&) {
    }
  }
}
