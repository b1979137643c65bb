// Any bytes as a pickle and as a batch of CIFAR: a value or an IoError.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/data/sources/cifar_batch.h"
#include "pando/data/sources/pickle.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace pando::data;
  try {
    const PickleValue value = parse_pickle({bytes, size}, "fuzz");
    static_cast<void>(value.describe());
    if (value.kind() == PickleKind::array) static_cast<void>(value.array());
    if (value.kind() == PickleKind::dict) static_cast<void>(value.keys());
    if (value.kind() == PickleKind::bytes) static_cast<void>(value.text());
  } catch (const pando::IoError&) {
  }
  for (const CifarKind kind : {CifarKind::cifar10, CifarKind::cifar100}) {
    try {
      parse_cifar_python({bytes, size}, "fuzz", kind);
    } catch (const pando::IoError&) {
    }
  }
  return 0;
}
