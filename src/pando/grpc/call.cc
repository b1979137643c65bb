// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>
#include <new>

#include "pando/base/error.h"
#include "pando/grpc/call_impl.h"
#include "pando/http/inflate.h"

namespace pando::grpc {
namespace {

using serve::Code;
using serve::failure;
using serve::Status;

constexpr double kMostRatio = 100;            // of an unpacked message to a packed one
constexpr int64_t kAnyRatioBytes = 16 << 20;  // packed by any ratio: batches of zeros
constexpr std::string_view kTooMuchHeld =
    "the server holds too many large requests at once; try again later";

// Messages may repeat what the client sent. nghttp2 sends no more than 64 KiB of trailers, and
// clients accept less.
constexpr size_t kMostStatusText = 1024;

thread_local HeldBytes* counting = nullptr;

void* allocate_counted(size_t bytes) {
  if (counting != nullptr) counting->hold(static_cast<int64_t>(bytes));
  return ::operator new(bytes);
}

void deallocate_counted(void* memory, size_t) { ::operator delete(memory); }

Status too_large(const CallStart& start, int64_t length) {
  return failure(Code::resource_exhausted, "Received message larger than max (", length, " vs. ",
                 start.max_message_bytes, ")");
}

// The beginning of the text, cut between two characters of UTF-8.
std::string_view shortened(std::string_view text) {
  if (text.size() <= kMostStatusText) return text;
  size_t length = kMostStatusText;
  while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) --length;
  return text.substr(0, length);
}

http::CallPart last_part(const Status& status) {
  http::CallPart part{.is_last = true};
  part.trailers.push_back({"grpc-status", std::to_string(static_cast<int>(status.code))});
  if (!status.message.empty()) {
    part.trailers.push_back({"grpc-message", percent_encoded(shortened(status.message))});
  }
  if (status.retry_after_sec > 0) {  // what gRPC's own retries understand
    const auto wait = static_cast<int64_t>(std::ceil(status.retry_after_sec * 1e3));
    part.trailers.push_back({"grpc-retry-pushback-ms", std::to_string(wait)});
  }
  return part;
}

std::string framed(const google::protobuf::MessageLite& message) {
  const size_t bytes = message.ByteSizeLong();
  if (bytes > static_cast<size_t>(std::numeric_limits<int>::max())) {
    throw InvalidArgument("the answer has ", bytes, " bytes, more than a message can have");
  }
  std::string frame(kPrefixBytes + bytes, '\0');
  write_prefix(frame.data(), static_cast<uint32_t>(bytes));
  message.SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t*>(frame.data() + kPrefixBytes));
  return frame;
}

}  // namespace

void refuse(http::CallSink& sink, const Status& status) { sink.send(last_part(status)); }

Status status_of(const std::exception& error) {
  const auto* own = dynamic_cast<const Error*>(&error);
  if (own != nullptr && own->kind() == ErrorKind::invalid_argument) {
    return failure(Code::invalid_argument, error.what());
  }
  if (dynamic_cast<const TooMuchHeld*>(&error) != nullptr) {
    return failure(Code::resource_exhausted, kTooMuchHeld);
  }
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return failure(
        Code::resource_exhausted,
        "the server has not enough memory for this request; send fewer samples, or try later");
  }
  return failure(Code::internal, "the request could not be answered");
}

CountingScope::CountingScope(HeldBytes& held) { counting = &held; }
CountingScope::~CountingScope() { counting = nullptr; }

google::protobuf::ArenaOptions counting_arena(char* block, size_t bytes) {
  google::protobuf::ArenaOptions options;
  options.initial_block = block;
  options.initial_block_size = bytes;
  options.block_alloc = allocate_counted;
  options.block_dealloc = deallocate_counted;
  return options;
}

void Call::count_received() {
  const int64_t more = splitter_.held() - received_;
  if (more == 0) return;
  if (more > 0) {
    held_.hold(more);
  } else {
    held_.give_back(-more);
  }
  received_ += more;
}

void Call::on_data(std::string_view bytes) {
  try {
    read(bytes);
  } catch (const std::exception& error) {
    end_for(error);
  }
  forget_if_ended();
}

void Call::read(std::string_view bytes) {
  using Found = MessageSplitter::Found;
  MessageSplitter::Message message;
  while (!has_ended_) {
    switch (splitter_.next(bytes, message)) {
      case Found::nothing: return count_received();
      case Found::message: take(message); break;
      case Found::too_large: return end(too_large(start_, splitter_.length()));
      case Found::broken: return end(failure(Code::internal, "expected a message of gRPC"));
    }
  }
}

// A call that is refused has little to wait for: what it holds must not wait for its client.
void Call::forget_if_ended() {
  if (!has_ended_) return;
  splitter_.drop();
  forget();
}

void Call::take(const MessageSplitter::Message& message) {
  if (!message.is_packed) return on_message(message.bytes);
  if (start_.packing == Packing::none) {
    return end(failure(Code::internal, "the message is packed, but grpc-encoding says it is not"));
  }
  const http::InflateLimits limits = {
      .bytes = start_.max_message_bytes, .ratio = kMostRatio, .any_ratio_bytes = kAnyRatioBytes};
  std::string unpacked;
  switch (http::inflate_body(message.bytes, limits, unpacked)) {
    case http::InflateResult::done: return on_message(unpacked);
    case http::InflateResult::broken:
      return end(
          failure(Code::invalid_argument,
                  "expected a complete gzip or deflate stream, got a truncated or damaged one"));
    case http::InflateResult::too_large:
      return end(failure(Code::resource_exhausted, "expected a message that unpacks to at most ",
                         limits.bytes, " bytes and to ", kMostRatio, " times its size"));
  }
}

void Call::on_end() {
  if (has_ended_) return;
  try {
    if (splitter_.is_between()) {
      on_complete();
    } else {
      end(failure(Code::internal, "the call ended within a message"));
    }
  } catch (const std::exception& error) {
    end_for(error);
  }
  forget_if_ended();
}

void Call::on_late(http::Clock::time_point now) {
  if (now < start_.deadline) return;
  *cancelled_ = true;
  end(failure(Code::deadline_exceeded, "Deadline Exceeded"));
  forget_if_ended();
}

void Call::send(const google::protobuf::MessageLite& message) {
  if (!has_ended_) start_.sink->send({.data = framed(message)});
}

void Call::end(const Status& status, const google::protobuf::MessageLite* message) {
  http::CallPart part = last_part(status);
  if (status.ok() && message != nullptr) part.data = framed(*message);
  if (!has_ended_.exchange(true)) start_.sink->send(std::move(part));
}

void Call::end_for(const std::exception& error) noexcept {
  try {
    end(status_of(error));
  } catch (const std::exception&) {
    if (!has_ended_.exchange(true)) start_.sink->fail();  // there is no memory for a status
  }
}

bool Call::parse(std::string_view bytes, google::protobuf::MessageLite& message) {
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return true;
  end(failure(Code::invalid_argument, "expected a message of type ", message.GetTypeName()));
  return false;
}

void UnaryCall::on_message(std::string_view message) {
  if (has_message_) return end(failure(Code::invalid_argument, "expected one message, got two"));
  held().hold(static_cast<int64_t>(message.size()));  // its texts are not in the arena
  const CountingScope scope(held());
  has_message_ = parse(message, request());
}

void UnaryCall::on_complete() {
  if (!has_message_) return end(failure(Code::invalid_argument, "expected a message, got none"));
  run();
}

void UnaryCall::forget() {
  arena_.Reset();
  held().release();
}

void ModelCall::run() {
  auto request = prepare(memory_);
  if (!request) return end(request.status());
  request->deadline = start().deadline;
  request->received = began();
  request->cancelled = cancelled();
  request->after_answers = start().sink->waker();
  request->caller_helps = shared().helps;
  // The callback keeps this call, whose messages the request reads.
  auto self = std::static_pointer_cast<ModelCall>(shared_from_this());
  is_at_model_ = true;
  shared().models.submit(
      std::move(*request),
      [self](const serve::Result<serve::InferResponse>& result) { self->answer(result); });
}

void ModelCall::answer(const serve::Result<serve::InferResponse>& result) {
  try {
    if (!result) {
      end(result.status());
    } else if (!has_ended()) {
      const CountingScope scope(held());
      end({}, &write(*result));
    }
  } catch (const std::exception& error) {
    end_for(error);
  }
  memory_.clear();
  UnaryCall::forget();
}

void ModelCall::forget() {
  if (is_at_model_) return;  // answer() does so
  memory_.clear();
  UnaryCall::forget();
}

}  // namespace pando::grpc
