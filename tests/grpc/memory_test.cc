// A separate program, because it replaces operator new: the server lives on when our own code and
// protobuf find no memory anywhere on its threads. malloc itself never fails here, since nghttp2
// 1.52 frees memory twice when its own runs out.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <cstdlib>
#include <new>
#include <set>

#include <gtest/gtest.h>
#include <open_inference.pb.h>
#include <poll.h>

#include "pando/grpc/framing_impl.h"
#include "tests/grpc/grpc_fixture.h"
#include "tests/http/h2_client.h"

namespace {

std::atomic<uint32_t> one_in = 0;  // allocations that fail; 0: none
std::atomic<int64_t> failed = 0;
thread_local bool is_spared = false;
thread_local uint32_t random_state = 1;

bool count_one() {
  const uint32_t each = one_in.load(std::memory_order_relaxed);
  if (each == 0 || is_spared) return true;
  random_state = random_state * 1'664'525 + 1'013'904'223;
  if ((random_state >> 8) % each != 0) return true;
  ++failed;
  return false;
}

}  // namespace

void* operator new(size_t size) {
  void* const memory = count_one() ? std::malloc(size) : nullptr;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace pando::grpc {
namespace {

using http::H2Client;
using http::H2Frame;

std::string infer_message(int64_t samples) {
  inference::ModelInferRequest message;
  message.set_model_name("m");
  auto& input = *message.add_inputs();
  input.set_name("x");
  input.set_datatype("FP32");
  for (const int64_t size : {samples, int64_t{4}}) input.add_shape(size);
  message.add_raw_input_contents(std::string(static_cast<size_t>(samples) * 16, '\0'));
  const std::string bytes = message.SerializeAsString();
  std::string frame(kPrefixBytes, '\0');
  write_prefix(frame.data(), static_cast<uint32_t>(bytes.size()));
  return frame + bytes;
}

void send_call(H2Client& client, uint32_t stream, const std::string& message) {
  client.call(stream, "/inference.GRPCInferenceService/ModelInfer");
  constexpr size_t kPart = 16'384;
  for (size_t place = 0; place < message.size(); place += kPart) {
    const bool is_last = place + kPart >= message.size();
    client.send(H2Frame::data, is_last ? H2Frame::kEnd : 0, stream,
                std::string_view(message).substr(place, kPart));
  }
}

// Waits until so many calls have ended, or the connection; returns how many were answered well.
int answered(H2Client& client, size_t calls) {
  std::set<uint32_t> ended;
  std::set<uint32_t> well;
  while (ended.size() < calls) {
    const H2Frame frame = client.receive();
    if (frame.type == H2Frame::none) break;
    const bool has_ended = (frame.flags & H2Frame::kEnd) != 0 || frame.type == H2Frame::reset;
    if (frame.type == H2Frame::data) well.insert(frame.stream);
    if (has_ended && frame.stream != 0) ended.insert(frame.stream);
    if (frame.type == H2Frame::reset) well.erase(frame.stream);
  }
  std::erase_if(well, [&](uint32_t stream) { return !ended.contains(stream); });
  return static_cast<int>(well.size());
}

TEST(GrpcMemory, RunsOutAnywhere) {
  is_spared = true;
  SmallServer small({.io_threads = 2});
  const std::vector<std::string> messages = {infer_message(1), infer_message(3),
                                             infer_message(1024)};
  // All threads work once: glibc ends the process if it cannot note a destructor of a thread.
  for (int i = 0; i < 40; ++i) {
    H2Client client(small.server->port());
    send_call(client, 1, messages[static_cast<size_t>(i) % 3]);
    answered(client, 1);
  }
  int well = 0;
  for (const uint32_t each : {3U, 10U, 30U, 100U, 300U, 1000U, 10'000U}) {
    for (int i = 0; i < 150; ++i) {
      H2Client client(small.server->port());
      client.open_windows();
      one_in = each;
      for (uint32_t k = 0; k < 6; ++k) send_call(client, 2 * k + 1, messages[k % 3]);
      well += answered(client, 6);
      one_in = 0;
    }
  }
  EXPECT_GT(failed, 1000);
  EXPECT_GT(well, 100);
  H2Client good(small.server->port());
  send_call(good, 1, messages[0]);
  EXPECT_EQ(answered(good, 1), 1);
  for (int i = 0; i < 500 && small.server->connections() > 1; ++i) ::poll(nullptr, 0, 10);
  EXPECT_EQ(small.server->connections(), 1);
  EXPECT_EQ(small.server->open_calls(), 0);
  EXPECT_EQ(small.models->in_flight(), 0);
}

}  // namespace
}  // namespace pando::grpc
