#pragma once

#include <cstddef>
#include <ostream>

#include "sim/report/setup.h"

namespace lockstep::report {

/// How much of a step went into a trace.
struct TraceExtent {
    std::size_t ranks_written = 0;
    std::size_t ranks = 0;
};

/// The reported step as Chrome trace-event JSON, which Perfetto and chrome://tracing open: a process per GPU, a thread
/// per stream, a complete event per kernel and collective; times in microseconds from the earliest start of a task of
/// the step. Collectives carry operation, algorithm, bytes and group size. Written event by event. most_events: viewers
/// cannot open traces of any size; the ranks that would take it past this are left out (the first is always written),
/// and `otherData` says so.
TraceExtent write_trace(std::ostream& out, const StepReport& report, std::size_t most_events);

}  // namespace lockstep::report
