// SPDX-License-Identifier: MIT
#include "pando/comm/mpi.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>
#include <utility>

#include <mpi.h>

#include "pando/base/error.h"

namespace pando::comm {

namespace {

using std::chrono::milliseconds;

void check_mpi(int code, const std::string& place) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw CommError("MPI, ", place, ": ", std::string(text, static_cast<size_t>(length)));
}

// State that the instance and its messages share. MPI is started with MPI_THREAD_SERIALIZED, so
// every call holds the mutex; no call waits for other instances.
struct Library {
  std::mutex mutex;
  MPI_Comm world = MPI_COMM_NULL;  // our own, so that messages of the program do not mix with ours
  bool over = false;               // MPI must not be called any more
  std::atomic<int64_t> calls{0};   // of functions that send to others or wait for them

  // A program that started MPI itself may have ended it. Requires: the mutex is held.
  bool is_over() {
    int finalized = 0;
    if (!over) MPI_Finalized(&finalized);
    over = over || finalized != 0;
    return over;
  }
};

// One piece of a message; `peer` is the other end.
struct Piece {
  bool sent = false;
  int peer = 0;
  int bytes = 0;
};

// Uses persistent requests: a start costs no more than the messages themselves.
class MpiMessages : public Messages {
 public:
  MpiMessages(const Communicator& owner, std::shared_ptr<Library> library)
      : owner_(owner), library_(std::move(library)) {}
  MpiMessages(const MpiMessages&) = delete;
  MpiMessages& operator=(const MpiMessages&) = delete;

  // A peer may still be about to send or to receive. Receives without a match are cancelled;
  // messages in transit are left to MPI, since waiting for a lost peer would never end.
  ~MpiMessages() override {
    const std::lock_guard lock(library_->mutex);
    if (library_->is_over()) return;
    int all = 1;
    if (under_way_) {
      MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &all, MPI_STATUSES_IGNORE);
    }
    for (size_t i = 0; i < requests_.size(); ++i) {
      if (requests_[i] == MPI_REQUEST_NULL) continue;
      if (all == 0 && !pieces_[i].sent) MPI_Cancel(&requests_[i]);
      MPI_Request_free(&requests_[i]);
    }
  }

  // Requires: the mutex of the library is held.
  void add(const Outgoing& message, size_t largest) {
    each_piece(message.bytes, largest, [&](const std::byte* data, int bytes) {
      MPI_Request request = MPI_REQUEST_NULL;
      check_mpi(
          MPI_Send_init(data, bytes, MPI_BYTE, message.to, message.tag, library_->world, &request),
          concat("a message to instance ", message.to));
      keep(request, {true, message.to, bytes});
    });
  }
  void add(const Incoming& message, size_t largest) {
    each_piece(message.bytes, largest, [&](std::byte* data, int bytes) {
      MPI_Request request = MPI_REQUEST_NULL;
      check_mpi(MPI_Recv_init(data, bytes, MPI_BYTE, message.from, message.tag, library_->world,
                              &request),
                concat("a message from instance ", message.from));
      keep(request, {false, message.from, bytes});
    });
  }

  void start() override {
    owner_.check();
    const std::lock_guard lock(library_->mutex);
    check_going_on();
    PANDO_CHECK(!under_way_, "messages are started that have not arrived yet");
    library_->calls.fetch_add(1, std::memory_order_relaxed);
    check_mpi(MPI_Startall(static_cast<int>(requests_.size()), requests_.data()),
              "starting messages");
    under_way_ = true;
  }

  // The thread that has the mutex makes progress for all.
  bool done() override {
    owner_.check();
    if (!under_way_) return true;
    library_->calls.fetch_add(1, std::memory_order_relaxed);
    const std::unique_lock lock(library_->mutex, std::try_to_lock);
    if (!lock) return false;
    check_going_on();
    int all = 0;
    const int code =
        MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &all, statuses_.data());
    if (code == MPI_ERR_IN_STATUS) explain_statuses();
    check_mpi(code, "messages under way");
    if (all == 0) return false;
    under_way_ = false;
    check_sizes();
    return true;
  }

 private:
  template <typename Byte, typename Take>
  static void each_piece(std::span<Byte> bytes, size_t largest, const Take& take) {
    do {
      const size_t size = std::min(bytes.size(), largest);
      take(bytes.data(), static_cast<int>(size));
      bytes = bytes.subspan(size);
    } while (!bytes.empty());
  }

  void keep(MPI_Request request, Piece piece) {
    requests_.push_back(request);
    statuses_.emplace_back();
    pieces_.push_back(piece);
  }

  void check_going_on() const {
    if (library_->is_over()) throw CommError("cannot send a message after the end of the job");
  }

  void explain_statuses() const {
    for (size_t i = 0; i < statuses_.size(); ++i) {
      const int code = statuses_[i].MPI_ERROR;
      if (code == MPI_ERR_PENDING) continue;
      check_mpi(code, concat("a message of ", pieces_[i].bytes, " bytes ",
                             pieces_[i].sent ? "to" : "from", " instance ", pieces_[i].peer));
    }
  }

  // MPI reports messages that are too long, but not those that are too short.
  void check_sizes() const {
    for (size_t i = 0; i < pieces_.size(); ++i) {
      if (pieces_[i].sent) continue;
      int bytes = 0;
      MPI_Get_count(&statuses_[i], MPI_BYTE, &bytes);
      if (bytes == pieces_[i].bytes) continue;
      throw CommError("instance ", pieces_[i].peer, " sent ", bytes, " bytes, instance ",
                      owner_.rank(), " expects ", pieces_[i].bytes,
                      "; all instances must make the same calls in the same order");
    }
  }

  const Communicator& owner_;
  std::shared_ptr<Library> library_;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
  std::vector<Piece> pieces_;
  bool under_way_ = false;
};

const char* name_of_thread_level(int level) {
  switch (level) {
    case MPI_THREAD_SINGLE: return "MPI_THREAD_SINGLE";
    case MPI_THREAD_FUNNELED: return "MPI_THREAD_FUNNELED";
    case MPI_THREAD_SERIALIZED: return "MPI_THREAD_SERIALIZED";
    default: return "MPI_THREAD_MULTIPLE";
  }
}

class Instance : public MpiInstance {
 public:
  explicit Instance(const MpiOptions& options) : largest_piece_(options.largest_piece) {
    start_mpi();
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &library_->world), "joining the job");
    MPI_Comm_set_errhandler(library_->world, MPI_ERRORS_RETURN);
    MPI_Comm_rank(library_->world, &rank_);
    MPI_Comm_size(library_->world, &size_);
    MPI_Comm local = MPI_COMM_NULL;
    check_mpi(
        MPI_Comm_split_type(library_->world, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &local),
        "finding the instances of this machine");
    MPI_Comm_rank(local, &local_index_);
    MPI_Comm_size(local, &local_count_);
    MPI_Comm_free(&local);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_index() const override { return local_index_; }
  int local_count() const override { return local_count_; }
  int64_t activity() const override { return library_->calls; }

  std::unique_ptr<Messages> prepare(std::vector<Outgoing> sent,
                                    std::vector<Incoming> received) override {
    auto messages = std::make_unique<MpiMessages>(*this, library_);
    const std::lock_guard lock(library_->mutex);
    if (library_->is_over()) return messages;
    // Receives come first, so that incoming messages find their buffers.
    for (const Incoming& message : received) messages->add(message, largest_piece_);
    for (const Outgoing& message : sent) messages->add(message, largest_piece_);
    return messages;
  }

  void progress() override {
    const std::lock_guard lock(library_->mutex);
    if (library_->is_over()) return;
    library_->calls.fetch_add(1, std::memory_order_relaxed);
    int found = 0;  // ignored: the probe itself makes progress
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, library_->world, &found, MPI_STATUS_IGNORE);
  }

  bool finalize(std::optional<milliseconds> patience) override {
    if (!all_have_come(patience)) return false;
    const std::lock_guard lock(library_->mutex);
    if (library_->is_over()) return true;
    library_->over = true;
    MPI_Comm_free(&library_->world);
    if (started_) MPI_Finalize();
    return true;
  }

  [[noreturn]] void abort(int code) override {
    // Gives the launcher time to read our output, such as the reason: it drops what it has not
    // read.
    std::this_thread::sleep_for(milliseconds(200));
    // Another thread may be stuck inside MPI; then this continues without the mutex.
    for (int i = 0; i < 100 && !library_->mutex.try_lock(); ++i) {
      std::this_thread::sleep_for(milliseconds(10));
    }
    if (!library_->is_over()) MPI_Abort(MPI_COMM_WORLD, code);
    std::_Exit(code);
  }

 private:
  void start_mpi() {
    int running = 0;
    MPI_Initialized(&running);
    started_ = running == 0;
    int level = MPI_THREAD_SINGLE;
    if (started_) {
      check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "starting");
      // For calls without a communicator.
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    } else {
      check_mpi(MPI_Query_thread(&level), "asking for its thread level");
    }
    if (level >= MPI_THREAD_SERIALIZED) return;
    throw CommError("MPI: expected MPI_THREAD_SERIALIZED, got ", name_of_thread_level(level),
                    started_ ? "; use a library that supports it, not "
                             : "; start MPI with MPI_Init_thread, or let Pando start it: ",
                    mpi_library());
  }

  // Does not wait inside MPI, which would not return if an instance is lost.
  bool all_have_come(std::optional<milliseconds> patience) {
    check();
    MPI_Request barrier = MPI_REQUEST_NULL;
    {
      const std::lock_guard lock(library_->mutex);
      if (library_->is_over()) return true;
      check_mpi(MPI_Ibarrier(library_->world, &barrier), "ending the job");
    }
    const auto begin = std::chrono::steady_clock::now();
    while (true) {
      check();
      {
        const std::lock_guard lock(library_->mutex);
        int come = 0;
        check_mpi(MPI_Test(&barrier, &come, MPI_STATUS_IGNORE), "ending the job");
        if (come != 0) return true;
      }
      if (patience && std::chrono::steady_clock::now() - begin > *patience) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
  }

  size_t largest_piece_;
  std::shared_ptr<Library> library_ = std::make_shared<Library>();
  bool started_ = false;  // by us
  int rank_ = 0;
  int size_ = 1;
  int local_index_ = 0;
  int local_count_ = 1;
};

}  // namespace

std::shared_ptr<MpiInstance> join_mpi(const MpiOptions& options) {
  return std::make_shared<Instance>(options);
}

std::string mpi_library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  // "Open MPI v4.1.4, package: ...", "MPICH Version:\t4.0.2\n..."
  std::string first = std::string(text, static_cast<size_t>(length));
  first.resize(std::min(first.size(), first.find_first_of(",\n")));
  std::replace(first.begin(), first.end(), '\t', ' ');
  return first;
}

}  // namespace pando::comm
