// Uses the installed library: fails if its headers do not match its code.
// SPDX-License-Identifier: MIT
#include <pando/tensor/shape.h>

int main() {
  const pando::Shape shape{2, 3};
  return shape.elements() == 6 ? 0 : 1;
}
