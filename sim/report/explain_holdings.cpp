#include "sim/report/explain_holdings.h"

#include <algorithm>

#include "sim/collective/prover_promise.h"

namespace lockstep::report {

using collective::Buffer;
using collective::Content;
using collective::Due;
using collective::Schedule;

ContentList::ContentList(std::vector<Content>& all) : all_(&all) { all.emplace_back(); }

ContentAt ContentList::keep(Content content) {
    if (content.ranks.empty()) {
        return 0;
    }
    const auto [found, is_new] =
        known_.try_emplace({content.chunk, content.ranks}, static_cast<ContentAt>(all_->size()));
    if (is_new) {
        all_->push_back(std::move(content));
    }
    return found->second;
}

ContentAt ContentList::sum(ContentAt a, ContentAt b, std::uint32_t most_times) {
    if (a == 0 || b == 0) {
        return a == 0 ? b : a;
    }
    std::map<std::uint32_t, std::uint32_t> times(at(a).ranks.begin(), at(a).ranks.end());
    for (const auto& [rank, more] : at(b).ranks) {
        times[rank] = std::min(times[rank] + more, most_times);
    }
    return keep({at(a).chunk, {times.begin(), times.end()}});
}

RankHoldings::RankHoldings(const Schedule& schedule, ContentList& contents)
    : schedule_(&schedule), contents_(&contents) {
    for (const Buffer buffer : all_buffers) {
        for (std::uint32_t rank = 0; rank < schedule.ranks; ++rank) {
            std::uint32_t chunk = 0;
            for (Content& content : collective::initial_contents(schedule, id_at<RankId>(rank), buffer)) {
                const ContentAt at = contents.keep(std::move(content));
                places_[index_of(buffer)].push_back({at, is_complete(buffer, rank, chunk++, at)});
            }
        }
    }
}

std::uint32_t RankHoldings::size_of(Buffer buffer) const {
    return buffer == Buffer::scratch ? schedule_->scratch_chunks : schedule_->chunks;
}

bool RankHoldings::is_due(Buffer buffer, std::size_t rank, std::uint32_t chunk) const {
    return buffer == schedule_->result &&
           collective::due_at(*schedule_, static_cast<std::uint32_t>(rank), chunk).kind != Due::Kind::anything;
}

Held RankHoldings::put(Buffer buffer, RankId rank, std::uint32_t chunk, ContentAt content) {
    Held& held = places_[index_of(buffer)][place(buffer, index(rank), chunk)];
    held = {content, is_complete(buffer, index(rank), chunk, content)};
    return held;
}

bool RankHoldings::is_complete(Buffer buffer, std::size_t rank, std::uint32_t chunk, ContentAt at) const {
    if (buffer != schedule_->result || at == 0) {
        return false;
    }
    const Due due = collective::due_at(*schedule_, static_cast<std::uint32_t>(rank), chunk);
    const Content& content = contents_->at(at);
    if (due.kind == Due::Kind::anything || content.chunk != due.chunk) {
        return false;
    }
    const bool once = std::ranges::all_of(content.ranks, [](const auto& part) { return part.second == 1; });
    switch (due.kind) {
        case Due::Kind::one:
            return once && content.ranks.size() == 1 && content.ranks.front().first == due.rank;
        case Due::Kind::all:
            return once && content.ranks.size() == schedule_->ranks;
        default: {
            const bool has_own =
                std::ranges::any_of(content.ranks, [&](const auto& part) { return part.first == rank; });
            return content.ranks.size() + (has_own ? 0 : 1) == schedule_->ranks;
        }
    }
}

}  // namespace lockstep::report
