#pragma once

#include <ostream>
#include <span>
#include <vector>

#include "sim/fabric/check.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/summary.h"
#include "sim/report/setup.h"

namespace lockstep::report {

/// What is in a topology. What it refers to must outlive it.
struct TopologyReport {
    const fabric::Fabric& fabric;
    const fabric::Summary& summary;
    std::span<const ParameterInForce> parameters = {};
};

/// What looks wrong in a topology. What it refers to must outlive it.
struct CheckReport {
    const fabric::Fabric& fabric;
    std::span<const fabric::Finding> findings = {};
};

/// Devices, links, what a GPU can send, the tiers of switches and the bisection; at most 100 characters wide.
void write_text(std::ostream& out, const TopologyReport& report);
/// A line per finding, worst first, and one that counts them.
void write_text(std::ostream& out, const CheckReport& report);

/// `lockstep.topology/1` and `lockstep.check/1`, as docs/json.md describes them.
void write_json(std::ostream& out, const TopologyReport& report);
void write_json(std::ostream& out, const CheckReport& report);

}  // namespace lockstep::report
