#include "sim/base/diagnostics.h"
#include "sim/cli/commands.h"

namespace lockstep::cli {

int topology_show_command(const TopologyOptions& /*options*/) { throw InputError("topology show: not there yet"); }

int topology_check_command(const TopologyOptions& /*options*/) { throw InputError("topology check: not there yet"); }

}  // namespace lockstep::cli
