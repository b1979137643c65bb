// Uses the installed library: fails unless its headers and its code agree.
// SPDX-License-Identifier: MIT
#include <pando/tensor/shape.h>

int main() {
  const pando::Shape shape{2, 3};
  return shape.elements() == 6 ? 0 : 1;
}
