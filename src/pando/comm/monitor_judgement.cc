// How a watch finds instances that are silent, missing or hanging, and knows what all have said.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/base/strings.h"
#include "pando/comm/monitor_watch.h"

namespace pando::comm {

using std::chrono::milliseconds;

std::string in_seconds(milliseconds time) {
  return concat(std::chrono::duration<double>(time).count(), " s");
}

void Watch::judge_silence() {
  for (Peer& peer : peers_) {
    if (now_ - peer.heard_at < options_.timeout) continue;
    if (peer.standing != Standing::member) {
      peer.link.close();
    } else {
      settle(concat(peer.member.describe(), ": silent: no sign of life for ",
                    in_seconds(options_.timeout), " (it is stopped, or its network is cut)"),
             true);
    }
  }
  lose_closed_peers();
}

void Watch::judge_start() {
  if (now_ < start_until_ || all_joined()) return;
  const auto missing = std::find(joined_.begin(), joined_.end(), false) - joined_.begin();
  const std::string time = in_seconds(options_.start);
  settle(is_hub() ? concat("instance ", missing, ": has not joined the job within ", time)
                  : concat(self_.describe(), ": has not reached instance 0 within ", time),
         true);
}

milliseconds Watch::own_idle() {
  const int64_t activity = options_.activity ? options_.activity() : 0;
  if (activity != activity_) active_at_ = now_;
  activity_ = activity;
  return std::chrono::duration_cast<milliseconds>(now_ - active_at_);
}

// Only a comparison of all instances shows which ones hang. A beat reports the past: an instance
// has by now been idle for at least `idle` and at most `idle + since`. It hangs if it has surely
// reached the limit; others wait if one of them is surely below half the limit.
void Watch::judge_stall() {
  if (!is_hub() || options_.stall.count() == 0) return;
  std::string hanging;
  bool others_wait = false;
  const auto judge = [&](const Member& member, milliseconds idle, milliseconds since) {
    others_wait = others_wait || idle + since < options_.stall / 2;
    if (idle >= options_.stall && hanging.empty()) hanging = member.describe();
  };
  judge(self_, own_idle(), milliseconds(0));
  for (const Peer& peer : peers_) {
    if (peer.standing != Standing::member) continue;
    judge(peer.member, peer.idle, std::chrono::ceil<milliseconds>(now_ - peer.heard_at));
  }
  if (hanging.empty() || !others_wait) return;
  settle(concat(hanging, ": hangs: has not communicated for ", in_seconds(options_.stall),
                " while other instances wait for it"),
         true);
}

bool Watch::all_joined() const {
  return std::find(joined_.begin(), joined_.end(), false) == joined_.end();
}

bool Watch::all_said_goodbye() const {
  return all_joined() && std::all_of(peers_.begin(), peers_.end(), [](const Peer& peer) {
           return peer.standing != Standing::member || peer.said_goodbye;
         });
}

bool Watch::all_know_cause() const {
  return !is_hub() || std::all_of(peers_.begin(), peers_.end(), [](const Peer& peer) {
    return peer.standing != Standing::member || peer.knows_cause;
  });
}

}  // namespace pando::comm
