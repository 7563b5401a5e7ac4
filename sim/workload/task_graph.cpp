#include "sim/workload/task_graph.h"

#include <stdexcept>

#include <fmt/format.h>

namespace lockstep::workload {

std::string_view name_of(Parallelism kind) {
    switch (kind) {
        case Parallelism::data:
            return "dp";
        case Parallelism::tensor:
            return "tp";
        case Parallelism::pipeline:
            return "pp";
        case Parallelism::expert:
            return "ep";
        case Parallelism::context:
            return "cp";
    }
    throw std::invalid_argument("name_of: no such parallelism");
}

std::string ranks_text(std::span<const RankId> ranks) {
    constexpr std::size_t most_pieces = 8;
    std::string text = ranks.size() == 1 ? "rank" : "ranks";
    std::size_t pieces = 0;
    for (std::size_t first = 0; first < ranks.size(); ++pieces) {
        if (pieces == most_pieces) {
            return fmt::format("{} and {} more", text, ranks.size() - first);
        }
        std::size_t last = first;
        while (last + 1 < ranks.size() && index(ranks[last + 1]) == index(ranks[last]) + 1) {
            ++last;
        }
        text += fmt::format("{} {}", pieces == 0 ? "" : ",", index(ranks[first]));
        if (last > first) {
            text += fmt::format("{}{}", last == first + 1 ? ", " : "..", index(ranks[last]));
        }
        first = last + 1;
    }
    return text;
}

}  // namespace lockstep::workload
