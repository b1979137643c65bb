// SPDX-License-Identifier: MIT
#include "pando/fetch/download.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "pando/base/strings.h"
#include "pando/fetch/digest.h"
#include "pando/fetch/part_file.h"
#include "pando/fetch/transfer.h"

namespace pando::fetch {

namespace {

// A round with this many new bytes shows that trying again helps.
constexpr int64_t kMuch = int64_t{1} << 20;

bool is_set(const std::atomic<bool>* flag) { return flag != nullptr && flag->load(); }

class IntoPart : public Receiver {
 public:
  IntoPart(PartFile& part, const DownloadContext& context) : part_(part), context_(context) {}
  void begin(int64_t offset) override {
    if (offset == part_.bytes()) return;
    part_.restart();
    context_.progress->restart();
  }
  void receive(std::span<const std::byte> bytes) override {
    part_.append(bytes);
    context_.progress->update(part_.bytes());
  }
  bool wants_stop() override { return is_set(context_.stop); }

 private:
  PartFile& part_;
  const DownloadContext& context_;
};

struct Address {
  std::string url;
  bool refuses = false;
  bool answers = false;  // has been reached, now or before
  std::string reason;    // of the last failure
};

// The download of one file.
class Download {
 public:
  Download(const RemoteFile& file, const std::string& folder, const DownloadContext& context)
      : file_(file), context_(context), part_(folder + "/" + file.name) {
    for (const std::string& url : file.addresses) addresses_.push_back({.url = url});
  }

  void run() {
    if (part_.bytes() > file_.bytes) part_.restart();
    context_.progress->begin(file_.name, part_.bytes(), file_.bytes);
    if (part_.bytes() == file_.bytes && finish().empty()) return;
    int retries = 0;
    while (!try_all()) {
      if (std::ranges::all_of(addresses_, &Address::refuses)) fail();
      if (std::ranges::none_of(addresses_, &Address::answers)) fail();  // there is no network
      retries = most_ - counted_ >= kMuch ? 1 : retries + 1;
      counted_ = most_;
      if (retries > context_.retry.retries) fail();
      wait(retries);
    }
  }

 private:
  // Returns true when the file is complete and correct.
  bool try_all() {
    asked_wait_ = 0;
    for (Address& address : addresses_) {
      if (address.refuses) continue;
      if (try_one(address)) return true;
      context_.progress->note(concat("  ", address.url, ": ", address.reason));
    }
    return false;
  }

  // Tries once more from the first byte if earlier bytes do not match the server's file, because
  // another address may have sent them.
  bool try_one(Address& address) {
    while (true) {
      const bool resumes = part_.bytes() > 0;
      const TransferResult result = request(address);
      most_ = std::max(most_, part_.bytes());
      asked_wait_ = std::max(asked_wait_, result.wait_seconds);
      address.reason = result.reason;
      address.refuses = result.outcome == Outcome::refused || result.outcome == Outcome::bad_range;
      address.answers = address.answers || result.outcome != Outcome::unreachable;
      if (result.outcome == Outcome::whole) {
        address.reason = finish();
        if (address.reason.empty()) {
          context_.progress->end();
          return true;
        }
        address.refuses = true;
      } else if (result.outcome == Outcome::bad_range) {
        restart();
      } else {
        return false;
      }
      if (!resumes) return false;
    }
  }

  TransferResult request(const Address& address) {
    IntoPart into(part_, context_);
    TransferResult result = transfer({.url = address.url,
                                      .offset = part_.bytes(),
                                      .total = file_.bytes,
                                      .connect_seconds = context_.retry.connect_seconds,
                                      .stall_seconds = context_.retry.stall_seconds},
                                     into);
    if (result.outcome == Outcome::stopped) stop();
    return result;
  }

  // Verifies all bytes and renames the file, or empties it and returns what is wrong.
  std::string finish() {
    std::string fault = find_fault(file_, part_.path());
    if (fault.empty()) {
      part_.commit();
    } else {
      restart();
    }
    return fault;
  }

  void restart() {
    part_.restart();
    context_.progress->restart();
  }

  void wait(int round) {
    const RetryLimits& retry = context_.retry;
    double seconds = retry.first_wait;
    for (int i = 1; i < round && seconds < retry.longest_wait; ++i) seconds *= 2;
    seconds = std::max(seconds, static_cast<double>(asked_wait_));
    seconds = std::min(seconds, retry.longest_wait);
    context_.progress->note(concat("  ", file_.name, ": trying again in ", duration_text(seconds)));
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    while (Clock::now() < end) {
      if (is_set(context_.stop)) stop();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  [[noreturn]] void stop() {
    throw FetchStopped(file_.name, ": stopped; ", part_.bytes(), " of ", file_.bytes,
                       " bytes are in ", part_.path(), "; fetch again to resume");
  }

  [[noreturn]] void fail() {
    std::vector<std::string> reasons;
    for (const Address& address : addresses_) {
      reasons.push_back(concat(address.url, ": ", address.reason));
    }
    if (part_.bytes() == 0) part_.discard();
    throw NotFetched("cannot fetch ", file_.name, ": ", join(reasons, "; "));
  }

  const RemoteFile& file_;
  const DownloadContext& context_;
  PartFile part_;
  std::vector<Address> addresses_;
  int64_t most_ = 0;     // the largest size of the file so far
  int64_t counted_ = 0;  // most_ when the last round ended
  int64_t asked_wait_ = 0;
};

}  // namespace

void download(const RemoteFile& file, const std::string& folder, const DownloadContext& context) {
  PANDO_CHECK(context.progress != nullptr && !file.addresses.empty());
  Download(file, folder, context).run();
}

std::string find_fault(const RemoteFile& file, const std::string& path) {
  std::error_code error;
  const auto bytes = static_cast<int64_t>(std::filesystem::file_size(path, error));
  if (error) return error.message();
  if (bytes != file.bytes) return concat("has ", bytes, " bytes, expected ", file.bytes);
  for (const DigestKind kind : {DigestKind::sha256, DigestKind::md5}) {
    const std::string& wanted = kind == DigestKind::sha256 ? file.sha256 : file.md5;
    if (wanted.empty()) continue;
    const std::string found = digest_of_file(path, kind);
    if (found != wanted) {
      return concat("its ", to_string(kind), " is ", found, ", expected ", wanted);
    }
  }
  return "";
}

}  // namespace pando::fetch
