// SPDX-License-Identifier: MIT
#include "pando/http/io_thread_impl.h"

namespace pando::http {
namespace {

constexpr std::chrono::milliseconds kSweepInterval{200};

// Whether the client, not the server, decides how long this phase takes.
bool waits_for_client(Phase phase) {
  switch (phase) {
    case Phase::handshake:
    case Phase::idle:
    case Phase::head:
    case Phase::body:
    case Phase::lingering: return true;
    default: return false;
  }
}

}  // namespace

IoThread::IoThread(std::shared_ptr<Shared> shared, int64_t most_connections)
    : shared_(std::move(shared)),
      most_connections_(most_connections),
      work_(context_.get_executor()) {}

IoThread::~IoThread() { join(); }

void IoThread::start() {
  wait_to_sweep();
  thread_ = std::thread([this] { context_.run(); });
}

void IoThread::join() {
  if (!thread_.joinable()) return;
  dispatch([this] {
    timer_.cancel();
    for (const auto& connection : all_connections()) connection->close();
    context_.stop();
  });
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  thread_.join();
  // What was posted in the meantime holds connections, which hold this object.
  context_.restart();
  context_.poll();
}

std::vector<std::shared_ptr<Connection>> IoThread::all_connections() const {
  std::vector<std::shared_ptr<Connection>> all;
  all.reserve(connections_.size());
  for (const auto& [key, connection] : connections_) all.push_back(connection);
  return all;
}

void IoThread::adopt(Socket socket, std::string peer, boost::asio::ssl::context* tls) {
  dispatch([this, socket = std::move(socket), peer = std::move(peer), tls]() mutable {
    const bool has_room = make_room();
    auto connection =
        tls == nullptr
            ? make_plain_connection(shared_from_this(), std::move(peer), std::move(socket))
            : make_tls_connection(shared_from_this(), std::move(peer), std::move(socket), *tls);
    connections_.emplace(connection.get(), connection);
    if (has_room) return connection->start();
    if (tls == nullptr) return connection->refuse();
    connection->close();  // before the handshake no answer can be sent
  });
}

void IoThread::stop_idle() {
  dispatch([this] {
    for (const auto& connection : all_connections()) connection->stop_if_idle();
  });
}

void IoThread::forget(Connection* connection) { connections_.erase(connection); }

// Below the limit, or by closing the client that has kept the server waiting for longest.
bool IoThread::make_room() {
  if (static_cast<int64_t>(connections_.size()) < most_connections_) return true;
  std::shared_ptr<Connection> slowest;
  for (const auto& [key, connection] : connections_) {
    if (!waits_for_client(connection->phase())) continue;
    if (slowest == nullptr || connection->since() < slowest->since()) slowest = connection;
  }
  if (slowest == nullptr) return false;
  slowest->close();
  return true;
}

void IoThread::sweep() {
  const Clock::time_point now = Clock::now();
  for (const auto& connection : all_connections()) connection->check_time(now);
  wait_to_sweep();
}

void IoThread::wait_to_sweep() {
  timer_.expires_after(kSweepInterval);
  timer_.async_wait([this](ErrorCode error) {
    if (!error) sweep();
  });
}

}  // namespace pando::http
