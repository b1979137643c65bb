// Any bytes as a batch of CIFAR in the binary version: images or an IoError.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/data/sources/cifar_batch.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace pando::data;
  for (const CifarKind kind : {CifarKind::cifar10, CifarKind::cifar100}) {
    try {
      parse_cifar_binary({bytes, size}, "fuzz", kind);
    } catch (const pando::IoError&) {
    }
  }
  return 0;
}
