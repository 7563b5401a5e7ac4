#include "sim/interop/moment.h"

#include <algorithm>

namespace lockstep::interop {

using collective::Verb;

namespace {

bool is_local(Verb verb) { return verb == Verb::copy || verb == Verb::reduce; }

}  // namespace

Moment moment_of(const collective::Instruction& instruction, std::uint32_t iteration, std::uint32_t moved_on) {
    Moment made{.instruction = &instruction};
    if (instruction.verb == Verb::signal || instruction.verb == Verb::wait || instruction.verb == Verb::drain) {
        return made;
    }
    if (is_local(instruction.verb)) {
        made.from = {instruction.from_buffer, instruction.from.at(iteration) + moved_on, instruction.count};
    }
    if (!instruction.chunks) {
        made.runs.push_back({instruction.buffer, instruction.chunk.at(iteration) + moved_on, instruction.count});
        return made;
    }
    for (const std::uint32_t chunk : *instruction.chunks) {
        if (!made.runs.empty() && made.runs.back().first + made.runs.back().count == chunk) {
            ++made.runs.back().count;
        } else {
            made.runs.push_back({instruction.buffer, chunk, 1});
        }
    }
    return made;
}

bool uses(const Moment& moment, collective::Buffer buffer) {
    return std::ranges::any_of(moment.runs, [&](const Run& run) { return run.buffer == buffer; }) ||
           (is_local(moment.instruction->verb) && moment.from.buffer == buffer);
}

std::uint32_t chunk_count(const Moment& moment) {
    std::uint32_t count = 0;
    for (const Run& run : moment.runs) {
        count += run.count;
    }
    return count;
}

}  // namespace lockstep::interop
