// Stands for the tests that gRPC's C++ runs as a client, where it is not installed.
// SPDX-License-Identifier: MIT
#include "tests/support/external.h"

namespace pando::grpc {
namespace {

TEST(GrpcServer, IsAskedByGrpcsOwnClient) {
  SKIP_WITHOUT("gRPC's C++ (libgrpc++-dev and protobuf-compiler-grpc when the tests are built)");
}

}  // namespace
}  // namespace pando::grpc
