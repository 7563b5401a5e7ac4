#include "sim/collective/peers.h"

#include "sim/collective/reach.h"

namespace lockstep::collective {

std::optional<std::string> unjoined_peers(const Communicator& communicator, const Schedule& schedule) {
    const Reach reach(communicator);
    if (reach.joins_all()) {
        return std::nullopt;
    }
    for (std::uint32_t rank = 0; rank < schedule.ranks; ++rank) {
        for (const Thread& thread : schedule.program(id_at<RankId>(rank))) {
            for (const Block& block : thread.blocks) {
                for (const Instruction& instruction : block.body) {
                    if (instruction.verb == Verb::send && !reach.joins(id_at<RankId>(rank), instruction.peer)) {
                        return reach.complaint(id_at<RankId>(rank), instruction.peer);
                    }
                }
            }
        }
    }
    return std::nullopt;
}

}  // namespace lockstep::collective
