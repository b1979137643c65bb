// One request for the rest of a file, over http, https or from a file: address.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace pando::fetch {

struct TransferRequest {
  std::string url;
  int64_t offset = 0;  // bytes that are here already
  int64_t total = 0;   // bytes of the whole file
  int64_t connect_seconds = 10;
  int64_t stall_seconds = 30;  // slower than 1,000 bytes per second for this long: broken
};

// Takes the bytes. An exception from its methods ends the transfer and reaches the caller.
class Receiver {
 public:
  virtual ~Receiver() = default;
  // Called before the first bytes with their position: `offset` of the request, or 0.
  virtual void begin(int64_t offset) = 0;
  virtual void receive(std::span<const std::byte> bytes) = 0;
  // Called at least once per second.
  virtual bool wants_stop() = 0;
};

enum class Outcome {
  whole,        // all bytes up to `total` have arrived
  broken,       // may work when tried again
  unreachable,  // broken before the server answered: no network, name or connection
  bad_range,    // the server has no bytes after `offset`; without an offset it may work
  refused,      // this address does not have the file
  stopped,
};

struct TransferResult {
  Outcome outcome = Outcome::whole;
  std::string reason;        // empty when whole
  int64_t wait_seconds = 0;  // the wait before the next try that the server asks for
};

// Follows redirections to http and https, uses the proxies of the environment (http_proxy,
// https_proxy, no_proxy) as curl does. Never gives the receiver more than `total` bytes, and none
// if the server says that the file has another size.
TransferResult transfer(const TransferRequest& request, Receiver& receiver);

// Whether transfer() supports the scheme of the address.
bool is_address(const std::string& url);

}  // namespace pando::fetch
