#include "sim/report/folding.h"

#include <algorithm>

#include <fmt/format.h>

namespace lockstep::report {

namespace {

std::string nodes_text(const replay::FoldUse& fold) {
    if (fold.nodes < 2) {
        return {};
    }
    std::string text = fold.classes == fold.nodes ? fmt::format("none of {} nodes", fold.nodes)
                                                  : fmt::format("{} nodes in {} class{}", fold.nodes, fold.classes,
                                                                fold.classes == 1 ? "" : "es");
    if (fold.threads > 0 && fold.thread_classes < fold.threads) {
        text += fmt::format(", their {} threads in {}", fold.threads, fold.thread_classes);
    }
    return fold.broken_by.empty() ? text : fmt::format("{}: {}", text, fold.broken_by);
}

}  // namespace

std::string folding_text(const replay::FoldUse& fold) {
    const std::string nodes = nodes_text(fold);
    if (fold.steps_simulated == fold.steps) {
        return nodes;
    }
    return fmt::format("{}{}{} of {} steps simulated", nodes, nodes.empty() ? "" : "; ", fold.steps_simulated,
                       fold.steps);
}

std::vector<std::string> folding_lines(std::span<const replay::CollectiveRun> rows) {
    struct Way {
        std::string text;
        std::vector<std::string> algorithms = {};
    };
    std::vector<Way> ways;
    for (const replay::CollectiveRun& row : rows) {
        const std::string text = folding_text(row.fold);
        if (text.empty()) {
            continue;
        }
        auto way = std::ranges::find(ways, text, &Way::text);
        if (way == ways.end()) {
            way = ways.insert(ways.end(), {text});
        }
        if (std::ranges::find(way->algorithms, row.algorithm) == way->algorithms.end()) {
            way->algorithms.push_back(row.algorithm);
        }
    }
    std::vector<std::string> lines;
    for (const Way& way : ways) {
        lines.push_back(ways.size() == 1 ? fmt::format("folding: {}", way.text)
                                         : fmt::format("folding: {} ({})", way.text, fmt::join(way.algorithms, ", ")));
    }
    return lines;
}

Json folding_json(const replay::FoldUse& fold) {
    if (fold.nodes == 0) {
        return nullptr;
    }
    Json json{{"nodes", fold.nodes}, {"classes", fold.classes}};
    json["broken_by"] = fold.broken_by.empty() ? Json(nullptr) : Json(fold.broken_by);
    if (fold.steps > 0) {
        json["steps"] = fold.steps;
        json["steps_simulated"] = fold.steps_simulated;
    }
    return json;
}

}  // namespace lockstep::report
