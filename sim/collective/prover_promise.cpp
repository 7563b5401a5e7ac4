#include "sim/collective/prover_promise.h"

namespace lockstep::collective {

namespace {

std::uint32_t block_of(const Schedule& schedule, std::uint32_t chunk) {
    return chunk / (schedule.chunks / schedule.ranks);
}

}  // namespace

Due due_at(const Schedule& schedule, std::uint32_t rank, std::uint32_t chunk) {
    const auto root = static_cast<std::uint32_t>(schedule.root);
    const Due sum{.kind = Due::Kind::all, .chunk = chunk};
    const auto of = [](std::uint32_t from, std::uint32_t number) {
        return Due{.kind = Due::Kind::one, .rank = from, .chunk = number};
    };
    switch (schedule.operation) {
        case Operation::all_reduce:
            return sum;
        case Operation::reduce_scatter:
            return block_of(schedule, chunk) == rank ? sum : Due{};
        case Operation::all_gather:
            return of(block_of(schedule, chunk), chunk);
        case Operation::broadcast:
            return of(root, chunk);
        case Operation::reduce:
            return rank == root ? sum : Due{};
        case Operation::all_to_all: {
            const std::uint32_t per_rank = schedule.chunks / schedule.ranks;
            return of(chunk / per_rank, rank * per_rank + chunk % per_rank);
        }
        case Operation::all_to_all_v:
            return schedule.sizes->at(id_at<RankId>(chunk), id_at<RankId>(rank)).value > 0 ? of(chunk, rank) : Due{};
        case Operation::gather:
            return rank == root ? of(block_of(schedule, chunk), chunk) : Due{};
        case Operation::scatter:
            return block_of(schedule, chunk) == rank ? of(root, chunk) : Due{};
        case Operation::send_recv:
            return of((rank + schedule.ranks - 1) % schedule.ranks, chunk);
        case Operation::permutation:
            return of(static_cast<std::uint32_t>(schedule.permutation->from(id_at<RankId>(rank))), chunk);
        case Operation::barrier:
            return {.kind = Due::Kind::all_others, .chunk = chunk};
    }
    return {};
}

bool is_there_at_start(const Schedule& schedule, std::uint32_t rank, Buffer buffer, std::uint32_t chunk) {
    if (buffer == Buffer::received) {
        switch (schedule.operation) {
            case Operation::all_to_all:
                return block_of(schedule, chunk) == rank;
            case Operation::all_to_all_v:
                return chunk == rank;
            case Operation::send_recv:
            case Operation::permutation:
                return schedule.ranks == 1;
            default:
                return false;
        }
    }
    if (buffer == Buffer::scratch) {
        return false;
    }
    switch (schedule.operation) {
        case Operation::all_gather:
        case Operation::gather:
            return block_of(schedule, chunk) == rank;
        case Operation::broadcast:
        case Operation::scatter:
            return rank == static_cast<std::uint32_t>(schedule.root);
        default:
            return true;
    }
}

std::vector<Content> initial_contents(const Schedule& schedule, RankId rank, Buffer buffer) {
    const std::uint32_t chunks = buffer == Buffer::scratch ? schedule.scratch_chunks : schedule.chunks;
    const auto number = static_cast<std::uint32_t>(rank);
    std::vector<Content> contents(chunks);
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
        if (is_there_at_start(schedule, number, buffer, chunk)) {
            contents[chunk] = {.chunk = chunk, .ranks = {{number, 1}}};
        }
    }
    return contents;
}

}  // namespace lockstep::collective
