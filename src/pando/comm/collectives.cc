// SPDX-License-Identifier: MIT
#include "pando/comm/collectives.h"

#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>

#include "pando/base/error.h"

namespace pando::comm {

namespace {

// The tags of the collectives.
constexpr int kGatherSizes = Communicator::kHostTags;
constexpr int kGather = kGatherSizes + 1;
constexpr int kBroadcast = kGather + 1;

std::span<std::byte> bytes_of(std::string& text) {
  return std::as_writable_bytes(std::span<char>(text));
}

}  // namespace

void wait_for(Messages& messages) {
  constexpr int kLooks = 2000;
  for (int i = 0; i < kLooks; ++i) {
    if (messages.done()) return;
    if (i > kLooks / 2) std::this_thread::yield();
  }
  auto pause = std::chrono::microseconds(20);
  while (!messages.done()) {
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds(1000));
  }
}

std::unique_ptr<Messages> prepare_all_gather(Communicator& communicator,
                                             std::span<std::byte> blocks, int tag) {
  const auto size = static_cast<size_t>(communicator.size());
  PANDO_CHECK(blocks.size() % size == 0, blocks.size(), " bytes of ", size, " instances");
  const size_t each = blocks.size() / size;
  const std::span<std::byte> own =
      blocks.subspan(static_cast<size_t>(communicator.rank()) * each, each);
  std::vector<Outgoing> sent;
  std::vector<Incoming> received;
  for (int other = 0; other < communicator.size(); ++other) {
    if (other == communicator.rank()) continue;
    sent.push_back({other, tag, own});
    received.push_back({other, tag, blocks.subspan(static_cast<size_t>(other) * each, each)});
  }
  return communicator.prepare(std::move(sent), std::move(received));
}

std::vector<std::string> all_gather(Communicator& communicator, std::string_view own) {
  const auto size = static_cast<size_t>(communicator.size());
  const auto rank = static_cast<size_t>(communicator.rank());
  std::vector<uint64_t> sizes(size, own.size());
  const auto exchange = [](Messages& messages) {
    messages.start();
    wait_for(messages);
  };
  exchange(
      *prepare_all_gather(communicator, std::as_writable_bytes(std::span(sizes)), kGatherSizes));
  std::vector<std::string> texts(size);
  std::vector<Outgoing> sent;
  std::vector<Incoming> received;
  for (size_t i = 0; i < size; ++i) {
    texts[i] = i == rank ? std::string(own) : std::string(sizes[i], '\0');
  }
  for (size_t i = 0; i < size; ++i) {
    if (i == rank) continue;
    sent.push_back({static_cast<int>(i), kGather, bytes_of(texts[rank])});
    received.push_back({static_cast<int>(i), kGather, bytes_of(texts[i])});
  }
  exchange(*communicator.prepare(std::move(sent), std::move(received)));
  return texts;
}

void barrier(Communicator& communicator) { all_gather(communicator, ""); }

// Sends down a binary tree: an instance forwards what it received.
void broadcast(Communicator& communicator, std::span<std::byte> bytes, int root) {
  const int size = communicator.size();
  const int place = (communicator.rank() - root + size) % size;
  const auto instance_at = [&](int at) { return (at + root) % size; };
  if (place > 0) {
    const auto messages =
        communicator.prepare({}, {{instance_at((place - 1) / 2), kBroadcast, bytes}});
    messages->start();
    wait_for(*messages);
  }
  std::vector<Outgoing> sent;
  for (const int child : {2 * place + 1, 2 * place + 2}) {
    if (child < size) sent.push_back({instance_at(child), kBroadcast, bytes});
  }
  if (sent.empty()) return;
  const auto messages = communicator.prepare(std::move(sent), {});
  messages->start();
  wait_for(*messages);
}

std::string broadcast_text(Communicator& communicator, std::string_view own, int root) {
  uint64_t size = own.size();
  broadcast(communicator, std::as_writable_bytes(std::span(&size, 1)), root);
  std::string text = communicator.rank() == root ? std::string(own) : std::string(size, '\0');
  broadcast(communicator, bytes_of(text), root);
  return text;
}

std::vector<double> all_reduce(Communicator& communicator, std::span<const double> own) {
  const std::string_view bytes(reinterpret_cast<const char*>(own.data()), own.size_bytes());
  std::vector<double> sums(own.size(), 0);
  std::vector<double> more(own.size());
  for (const std::string& text : all_gather(communicator, bytes)) {
    if (text.size() != bytes.size()) {
      throw InvalidArgument("all_reduce: this instance gives ", own.size(),
                            " numbers, another gives ", text.size() / sizeof(double));
    }
    if (!text.empty()) std::memcpy(more.data(), text.data(), text.size());
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += more[i];
  }
  return sums;
}

bool any(Communicator& communicator, bool own) {
  bool found = false;
  for (const std::string& text : all_gather(communicator, own ? "1" : "0")) {
    found = found || text == "1";
  }
  return found;
}

void expect_same(Communicator& communicator, const char* place, const std::string& own) {
  const std::vector<std::string> all = all_gather(communicator, own);
  for (size_t i = 1; i < all.size(); ++i) {
    if (all[i] == all[0]) continue;
    throw InvalidArgument(place, ": instance 0 gives ", all[0], ", instance ", i, " gives ",
                          all[i]);
  }
}

}  // namespace pando::comm
