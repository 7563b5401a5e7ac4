#include "sim/collective/circle.h"

#include <algorithm>

#include "sim/collective/block_run.h"

namespace lockstep::collective {

std::vector<std::uint32_t> Circle::distances() const {
    std::vector<std::uint32_t> all;
    for (std::uint32_t d = 1; d < ranks; d *= 2) {
        all.push_back(d);
    }
    return all;
}

void Circle::gather(std::vector<Instruction>& steps) const {
    for (const std::uint32_t d : distances()) {
        const std::uint32_t count = std::min(d, ranks - d);
        steps.push_back(for_circular_run({.verb = Verb::send, .peer = behind(d)}, rank, count, ranks));
        steps.push_back(for_circular_run({.verb = Verb::receive, .peer = ahead(d)}, rank + d, count, ranks));
    }
}

void Circle::reduce(std::vector<Instruction>& steps) const {
    auto all = distances();
    std::reverse(all.begin(), all.end());
    for (const std::uint32_t d : all) {
        const std::uint32_t count = std::min(d, ranks - d);
        steps.push_back(for_circular_run({.verb = Verb::send, .peer = ahead(d)}, rank + d, count, ranks));
        steps.push_back(for_circular_run({.verb = Verb::receive_reduce, .peer = behind(d)}, rank, count, ranks));
    }
}

}  // namespace lockstep::collective
