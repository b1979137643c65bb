// SPDX-License-Identifier: MIT
#include "pando/comm/all_reduce.h"

#include <algorithm>
#include <cstring>

#include "pando/base/error.h"

namespace pando::comm {

namespace {

// Up to this many bytes from an instance to all others, the number of messages determines the cost.
constexpr size_t kAtOnce = 64 << 10;

std::span<std::byte> bytes_of(std::span<float> values) { return std::as_writable_bytes(values); }

}  // namespace

AllReduce::AllReduce(Communicator& communicator, std::span<float> values, AllReduceOptions options)
    : communicator_(communicator), values_(values), wire_(options.wire), tag_(options.tag) {
  PANDO_CHECK(tag_ >= 0 && tag_ + 1 < Communicator::kHostTags, "tag ", tag_);
  const auto others = static_cast<size_t>(communicator.size() - 1);
  if (others == 0) return;
  at_once_ = others * values.size_bytes() <= kAtOnce;
  if (at_once_) {
    prepare_at_once();
  } else {
    prepare_shares();
  }
}

// A share is made of whole cache lines, so that two instances never write into the same one.
std::span<float> AllReduce::share_of(int instance) const {
  constexpr size_t kLine = 16;
  const auto size = static_cast<size_t>(communicator_.size());
  const size_t each = ((values_.size() + size - 1) / size + kLine - 1) / kLine * kLine;
  const size_t begin = std::min(values_.size(), static_cast<size_t>(instance) * each);
  return values_.subspan(begin, std::min(each, values_.size() - begin));
}

void AllReduce::prepare_at_once() {
  const size_t bytes = wire_bytes(wire_, values_.size());
  sent_.emplace_back(bytes);
  received_.assign(static_cast<size_t>(communicator_.size()), {});
  std::vector<Outgoing> sent;
  std::vector<Incoming> received;
  for (int other = 0; other < communicator_.size(); ++other) {
    if (other == communicator_.rank()) continue;
    std::vector<std::byte>& from = received_[static_cast<size_t>(other)];
    from.resize(bytes);
    sent.push_back({other, tag_, sent_[0]});
    received.push_back({other, tag_, from});
    bytes_sent_ += static_cast<int64_t>(bytes);
  }
  collecting_ = communicator_.prepare(std::move(sent), std::move(received));
}

void AllReduce::prepare_shares() {
  const int rank = communicator_.rank();
  const auto size = static_cast<size_t>(communicator_.size());
  const size_t own_bytes = wire_bytes(wire_, share_of(rank).size());
  const bool encoded = wire_ != WireFormat::f32;
  sent_.resize(size);
  received_.resize(size);
  shares_.resize(size);
  if (encoded) own_share_.resize(own_bytes);
  std::vector<Outgoing> sent;
  std::vector<Incoming> received;
  std::vector<Outgoing> handed_out;
  std::vector<Incoming> taken;
  for (int other = 0; other < communicator_.size(); ++other) {
    if (other == rank) continue;
    const auto i = static_cast<size_t>(other);
    const std::span<float> share = share_of(other);
    received_[i].resize(own_bytes);
    received.push_back({other, tag_, received_[i]});
    if (encoded) {
      sent_[i].resize(wire_bytes(wire_, share.size()));
      shares_[i].resize(sent_[i].size());
    }
    const std::span<std::byte> in_place = bytes_of(share);
    sent.push_back({other, tag_, encoded ? std::span<const std::byte>(sent_[i]) : in_place});
    taken.push_back({other, tag_ + 1, encoded ? std::span<std::byte>(shares_[i]) : in_place});
    handed_out.push_back({other, tag_ + 1,
                          encoded ? std::span<const std::byte>(own_share_)
                                  : std::span<const std::byte>(bytes_of(share_of(rank)))});
    bytes_sent_ += static_cast<int64_t>(sent.back().bytes.size() + handed_out.back().bytes.size());
  }
  collecting_ = communicator_.prepare(std::move(sent), std::move(received));
  handing_out_ = communicator_.prepare(std::move(handed_out), std::move(taken));
}

void AllReduce::start() {
  PANDO_CHECK(phase_ == Phase::idle, "a sum is under way");
  if (communicator_.size() == 1) return;
  if (at_once_) {
    encode(wire_, values_, sent_[0].data());
  } else if (wire_ != WireFormat::f32) {
    for (int other = 0; other < communicator_.size(); ++other) {
      if (other == communicator_.rank()) continue;
      encode(wire_, share_of(other), sent_[static_cast<size_t>(other)].data());
    }
  }
  collecting_->start();
  phase_ = Phase::collecting;
}

bool AllReduce::advance() {
  if (phase_ == Phase::collecting && collecting_->done()) {
    if (at_once_) {
      sum_at_once();
      phase_ = Phase::idle;
    } else {
      sum_share();
      handing_out_->start();
      phase_ = Phase::handing_out;
    }
  }
  if (phase_ == Phase::handing_out && handing_out_->done()) {
    if (wire_ != WireFormat::f32) take_shares();
    phase_ = Phase::idle;
  }
  return phase_ == Phase::idle;
}

void AllReduce::sum_at_once() {
  for (int instance = 0; instance < communicator_.size(); ++instance) {
    const bool own = instance == communicator_.rank();
    const std::vector<std::byte>& from = own ? sent_[0] : received_[static_cast<size_t>(instance)];
    if (instance == 0) {
      decode(wire_, from.data(), values_);
    } else {
      decode_and_add(wire_, from.data(), values_);
    }
  }
}

// The numbers of this instance are added without encoding.
void AllReduce::sum_share() {
  const int rank = communicator_.rank();
  const std::span<float> share = share_of(rank);
  if (rank > 0) own_values_.assign(share.begin(), share.end());
  for (int instance = 0; instance < communicator_.size(); ++instance) {
    const std::byte* from = received_[static_cast<size_t>(instance)].data();
    if (instance == rank) {
      if (rank > 0) {
        decode_and_add(WireFormat::f32, reinterpret_cast<const std::byte*>(own_values_.data()),
                       share);
      }
    } else if (instance == 0) {
      decode(wire_, from, share);
    } else {
      decode_and_add(wire_, from, share);
    }
  }
  if (wire_ == WireFormat::f32) return;
  encode(wire_, share, own_share_.data());
  decode(wire_, own_share_.data(), share);  // the same rounded sums that the others get
}

void AllReduce::take_shares() {
  for (int other = 0; other < communicator_.size(); ++other) {
    if (other == communicator_.rank()) continue;
    decode(wire_, shares_[static_cast<size_t>(other)].data(), share_of(other));
  }
}

}  // namespace pando::comm
