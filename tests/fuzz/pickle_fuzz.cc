// Reads any bytes as a pickle and as a batch of CIFAR. Expects a value or an IoError.
// SPDX-License-Identifier: MIT
#include <vector>

#include "pando/base/error.h"
#include "pando/data/sources/cifar/batch.h"
#include "pando/data/sources/pickle/pickle.h"
#include "tests/fuzz/targets.h"

namespace pando {
namespace {

using data::CifarKind;
using data::PickleKind;

void read_value(fuzz::Input input) {
  const data::PickleValue value = data::parse_pickle(input, "fuzz");
  static_cast<void>(value.describe());
  if (value.kind() == PickleKind::array) static_cast<void>(value.array());
  if (value.kind() == PickleKind::dict) static_cast<void>(value.keys());
  if (value.kind() == PickleKind::bytes) static_cast<void>(value.text());
}

}  // namespace
}  // namespace pando

void pando::fuzz::pickle(Input input) {
  try {
    read_value(input);
  } catch (const IoError&) {
  }
  for (const CifarKind kind : {CifarKind::cifar10, CifarKind::cifar100}) {
    try {
      data::parse_cifar_python(input, "fuzz", kind);
    } catch (const IoError&) {
    }
    try {
      std::vector<data::CifarFlaw> flaws;
      data::parse_cifar_python(input, "fuzz", kind, &flaws);
    } catch (const IoError&) {
    }
  }
}
