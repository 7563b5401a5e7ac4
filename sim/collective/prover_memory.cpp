#include "sim/collective/prover_memory.h"

#include <optional>

#include <fmt/format.h>

#include "sim/collective/prover_promise.h"

namespace lockstep::collective {

namespace {

/// `and 3 others`, after the first of them was named.
std::string and_others(std::size_t others) {
    return others == 0 ? "" : fmt::format(" and {} {}", others, others == 1 ? "other" : "others");
}

}  // namespace

RankMemory::RankMemory(const Schedule& schedule, bool with_received, ContentStore& store)
    : schedule_(schedule), store_(store) {
    for (const Buffer buffer : {Buffer::data, Buffer::received, Buffer::scratch}) {
        if (buffer == Buffer::received && !with_received) {
            continue;
        }
        places(buffer).assign(std::size_t{schedule.ranks} * size_of(buffer), nothing);
        for (std::uint32_t rank = 0; buffer != Buffer::scratch && rank < schedule.ranks; ++rank) {
            for (std::uint32_t chunk = 0; chunk < schedule.chunks; ++chunk) {
                if (is_there_at_start(schedule, rank, buffer, chunk)) {
                    places(buffer)[at_index(rank, buffer, chunk)] = store.one(rank, chunk);
                }
            }
        }
    }
}

std::uint32_t RankMemory::size_of(Buffer buffer) const {
    return buffer == Buffer::scratch ? schedule_.scratch_chunks : schedule_.chunks;
}

std::size_t RankMemory::place_count() const {
    return std::size_t{schedule_.ranks} * (2 * std::size_t{schedule_.chunks} + schedule_.scratch_chunks);
}

std::size_t RankMemory::place_of(std::uint32_t rank, Buffer buffer, std::uint32_t chunk) const {
    const std::size_t vectors = std::size_t{schedule_.ranks} * schedule_.chunks;
    const std::size_t before = buffer == Buffer::data ? 0 : buffer == Buffer::received ? vectors : 2 * vectors;
    return before + at_index(rank, buffer, chunk);
}

std::string RankMemory::where_lost(std::uint32_t contributor, std::uint32_t chunk, std::uint32_t result_rank,
                                   Buffer result) const {
    const Overwritten* first = nullptr;
    for (const Overwritten& loss : overwritten_) {
        const auto has = [&](ContentId content) {
            return content != nothing && store_.chunk_of(content) == chunk && store_.times(content, contributor) > 0;
        };
        if (!has(loss.before) || has(loss.after)) {
            continue;
        }
        const bool is_here = loss.rank == result_rank && loss.buffer == result && loss.chunk == chunk;
        if (is_here) {
            return loss.place;
        }
        first = first == nullptr ? &loss : first;
    }
    return first == nullptr ? "" : first->place;
}

void RankMemory::check_results(Findings& findings) const {
    for (std::uint32_t rank = 0; rank < schedule_.ranks; ++rank) {
        for (std::uint32_t chunk = 0; chunk < schedule_.chunks && !findings.full(); ++chunk) {
            check_result(rank, chunk, findings);
        }
    }
}

void RankMemory::check_result(std::uint32_t rank, std::uint32_t chunk, Findings& findings) const {
    const Due due = due_at(schedule_, rank, chunk);
    if (due.kind == Due::Kind::anything) {
        return;
    }
    const ContentId held = at(rank, schedule_.result, chunk);
    if (held != nothing && store_.chunk_of(held) == due.chunk &&
        ((due.kind == Due::Kind::one && store_.is_one_of(held, due.rank)) ||
         (due.kind == Due::Kind::all && store_.is_one_of_each(held)))) {
        return;
    }
    const auto report = [&](Fault fault, std::string text) {
        findings.add({.fault = fault, .rank = id_at<RankId>(rank), .chunk = chunk, .text = std::move(text)});
    };
    if (held != nothing && store_.chunk_of(held) != due.chunk) {
        report(Fault::misplaced, fmt::format("rank {} ends with data of chunk {} in chunk {}, where chunk {}{} is due",
                                             rank, store_.chunk_of(held), chunk, due.chunk,
                                             due.kind == Due::Kind::one ? fmt::format(" of rank {}", due.rank) : ""));
        return;
    }
    std::vector<std::uint32_t> missing;
    std::vector<std::uint32_t> doubled;
    std::vector<std::uint32_t> strange;
    for (std::uint32_t r = 0; r < schedule_.ranks; ++r) {
        const bool is_due = due.kind == Due::Kind::all || (due.kind == Due::Kind::one && r == due.rank) ||
                            (due.kind == Due::Kind::all_others && r != rank);
        const std::uint32_t times = held == nothing ? 0 : store_.times(held, r);
        if (is_due && times == 0) {
            missing.push_back(r);
        } else if (is_due && times > 1) {
            doubled.push_back(r);
        } else if (times > 0 && due.kind == Due::Kind::one && !is_due) {
            strange.push_back(r);
        }
    }
    if (!strange.empty()) {
        report(Fault::misplaced,
               fmt::format("rank {} ends with data of rank {}{} in chunk {}, where chunk {} of rank {} is due", rank,
                           strange.front(), and_others(strange.size() - 1), chunk, due.chunk, due.rank));
    } else if (!missing.empty()) {
        const std::string lost = where_lost(missing.front(), due.chunk, rank, schedule_.result);
        report(Fault::missing,
               fmt::format(
                   "rank {} ends without the contribution of rank {}{} in chunk {}{}", rank, missing.front(),
                   and_others(missing.size() - 1), chunk,
                   lost.empty() ? "" : fmt::format("; that of rank {} was overwritten by {}", missing.front(), lost)));
    }
    if (!doubled.empty()) {
        report(Fault::doubled, fmt::format("rank {} ends with the contribution of rank {}{} {} times in chunk {}", rank,
                                           doubled.front(), and_others(doubled.size() - 1),
                                           store_.times(held, doubled.front()), chunk));
    }
}

}  // namespace lockstep::collective
