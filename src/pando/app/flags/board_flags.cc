// SPDX-License-Identifier: MIT
#include "pando/app/flags/board_flags.h"

namespace pando::app {

const char* const kBoardHelpHead = R"(usage: pando board [DIR] [flags]

Shows the runs of a folder (runs, if none is given) in a browser: what runs, what is done and how
well, curves that grow while a run goes on, several runs over each other, the report of each. Open
the address that it prints. It writes nothing, and runs need not know of it: start it before, during
or after them.

examples:
  pando board
  pando board /data/experiments --port 9000
  ssh -L 8088:localhost:8088 HOST    # then 'pando board' on HOST, and http://localhost:8088 here

SIGTERM and SIGINT end it.
exit codes: 0 ended by a signal, 1 failed, 2 wrong flag or no such folder.

)";

void add_board_flags(OptionTable& table, BoardFlags& flags) {
  table.add_positional("DIR", flags.folder, "the folder of the runs, or of folders of runs", false);
  table.begin_group("Network", Effect::none);
  table
      .add("port", flags.port, "the port; 0: any free one; if not given, 8088 or the next free one")
      .with_hint("N")
      .at_least(0)
      .at_most(65535);
  table
      .add("address", flags.address,
           "the address to listen on; 0.0.0.0: all networks, whose users then see the runs")
      .with_hint("IP");
  table
      .add("allow-host", flags.allow_host,
           "names by which browsers may ask, beside localhost and numeric addresses")
      .with_hint("NAME");
  table.add("quiet", flags.quiet, "print errors only");
}

}  // namespace pando::app
