// SPDX-License-Identifier: MIT
#include "pando/comm/core_share.h"

#include <array>
#include <fstream>

#include <sched.h>
#include <unistd.h>

#include "pando/base/strings.h"
#include "pando/comm/collectives.h"

namespace pando::comm {

std::string usable_cores_text() {
  // Containers on different machines may have the same host name; the boot id tells machines apart.
  std::array<char, 256> host = {};
  gethostname(host.data(), host.size() - 1);
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  std::string text = concat(host.data(), " ", boot, ":");
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return text + "?";
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &cores)) text += concat(" ", core);
  }
  return text;
}

CoreShare core_share(Communicator& communicator, const std::string& usable_cores) {
  CoreShare share{0, 0};
  int instance = 0;
  for (const std::string& text : all_gather(communicator, usable_cores)) {
    if (text == usable_cores) {
      if (instance < communicator.rank()) ++share.index;
      ++share.count;
    }
    ++instance;
  }
  return share;
}

}  // namespace pando::comm
