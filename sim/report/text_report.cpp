#include "sim/report/text_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/report/comparison.h"
#include "sim/report/figures.h"
#include "sim/report/folding.h"
#include "sim/report/groups.h"
#include "sim/report/table.h"

namespace lockstep::report {

namespace {

constexpr std::size_t page_width = 100;
constexpr std::size_t most_lines = 12;   ///< of collectives
constexpr std::size_t most_groups = 10;  ///< of links
constexpr std::string_view no_rate = "-";

/// The unit in which a step's parts are best read.
struct TimeUnit {
    double seconds;
    std::string_view name;
};

TimeUnit unit_for(Seconds time) {
    constexpr std::array units{TimeUnit{1.0, "s"}, TimeUnit{1e-3, "ms"}, TimeUnit{1e-6, "us"}};
    const auto* const fitting =
        std::ranges::find_if(units, [&](const auto& unit) { return time.value >= unit.seconds; });
    return fitting == units.end() ? units.back() : *fitting;
}

/// So many decimals that a number of this size has four significant digits.
int decimals_for(double value) {
    if (value >= 100.0) {
        return 1;
    }
    return value >= 10.0 ? 2 : 3;
}

std::string percent(double fraction) { return fmt::format("{:.1f} %", fraction * 100.0); }

std::string in_gigabytes_per_s(const std::optional<Bandwidth>& rate) {
    return rate ? measured(rate->value / 1e9) : std::string(no_rate);
}

std::string bytes_text(double bytes) { return to_text(Bytes{std::llround(bytes)}); }

std::string_view long_name(workload::Parallelism kind) {
    constexpr std::array<std::string_view, workload::parallelism_count> names{
        "data-parallel", "tensor-parallel", "pipeline-parallel", "expert-parallel", "context-parallel"};
    return names.at(static_cast<std::size_t>(kind));
}

bool is_used(const workload::TaskGraph& graph, workload::Parallelism kind) {
    return std::ranges::any_of(graph.calls, [&](const auto& call) { return call.kind == kind; });
}

/// The title and the figures that somebody came for.
std::string headline(const StepReport& report, const StepFigures& figures) {
    const std::size_t ranks = report.result.ranks.size();
    std::string text =
        fmt::format("{} on {}, {} GPU{}\n\n", report.graph.name, report.fabric.name(), ranks, ranks == 1 ? "" : "s");
    text += fmt::format("  Step time    {}\n", to_text(report.result.step_time));
    if (figures.tokens_per_s) {
        text += fmt::format("  Throughput   {} tokens/s\n", grouped(*figures.tokens_per_s));
    } else if (figures.samples_per_s) {
        text += fmt::format("  Throughput   {} samples/s\n", grouped(*figures.samples_per_s));
    }
    if (figures.mfu) {
        text += fmt::format("  MFU          {}\n", percent(*figures.mfu));
    }
    text += fmt::format("  GPU idle     {} of the step", percent(figures.idle_mean));
    if (percent(figures.idle_min) != percent(figures.idle_max)) {
        text += fmt::format(", mean over GPUs ({} to {})", percent(figures.idle_min), percent(figures.idle_max));
    }
    return text + "\n";
}

std::string where_the_step_goes(const StepReport& report, const StepFigures& figures) {
    std::vector<std::pair<std::string, Seconds>> parts{{"compute", figures.mean.compute}};
    for (std::size_t at = 0; at < workload::parallelism_count; ++at) {
        const auto kind = static_cast<workload::Parallelism>(at);
        if (is_used(report.graph, kind) || figures.mean.exposed.at(at).value > 0.0) {
            parts.emplace_back(fmt::format("exposed {} communication", long_name(kind)), figures.mean.exposed.at(at));
        }
    }
    parts.emplace_back("pipeline bubble", figures.mean.pipeline_bubble);
    parts.emplace_back("waiting for stragglers", figures.mean.straggler_wait);
    parts.emplace_back("overhead", figures.mean.overhead);

    const Seconds step = report.result.step_time;
    const TimeUnit unit = unit_for(step);
    std::vector<double> times;
    std::vector<double> percents;
    for (const auto& [name, time] : parts) {
        times.push_back(std::max(0.0, time.value / unit.seconds));
        percents.push_back(step.value > 0.0 ? std::max(0.0, 100.0 * (time / step)) : 0.0);
    }
    const int decimals = decimals_for(step.value / unit.seconds);
    const auto time_texts = rounded_parts(times, decimals);
    const auto percent_texts = rounded_parts(percents, 1);
    Table table({{"Where the step goes, mean over GPUs", "", Align::left}, {std::string(unit.name)}, {"%"}});
    for (std::size_t at = 0; at < parts.size(); ++at) {
        table.add({"  " + parts[at].first, time_texts[at], percent_texts[at]});
    }
    table.add({"  step", fmt::format("{:.{}f}", step.value / unit.seconds, decimals),
               fmt::format("{:.1f}", std::accumulate(percents.begin(), percents.end(), 0.0))});
    return table.text("", page_width);
}

std::string size_text(const CollectiveGroup& line) {
    return line.least == line.most ? to_text(line.least)
                                   : fmt::format("{} to {}", to_text(line.least), to_text(line.most));
}

std::string collectives(const StepReport& report) {
    if (report.result.collectives.empty()) {
        return "Collectives: none\n";
    }
    std::vector<CollectiveGroup> lines = collective_lines(report.result.collectives, most_lines);
    std::size_t left_out = 0;
    if (lines.size() > most_lines) {
        std::ranges::stable_sort(lines, [](const auto& a, const auto& b) { return a.exposed > b.exposed; });
        left_out = lines.size() - most_lines;
        lines.resize(most_lines);
    }
    Table table({{"Collectives", "", Align::left, true},
                 {"", "", Align::left},
                 {"ranks"},
                 {"size", "", Align::right, true},
                 {"count"},
                 {"algorithm", "", Align::left},
                 {"time"},
                 {"algbw", "GB/s"},
                 {"busbw", "GB/s"},
                 {"exposed"}});
    for (const CollectiveGroup& line : lines) {
        const Bytes bytes{std::llround(line.bytes)};
        table.add({"  " + line.name, std::string(collective::name_of(line.operation)),
                   fmt::format("{}", line.group_size), size_text(line), fmt::format("{}", line.count), line.algorithm,
                   to_text(line.time), in_gigabytes_per_s(algbw(bytes, line.time)),
                   in_gigabytes_per_s(busbw(line.operation, line.group_size, bytes, line.time)),
                   to_text(line.exposed)});
    }
    std::string text = table.text("", page_width);
    if (left_out > 0) {
        text += fmt::format("  and {} more with less exposed time: see --csv or --json\n", left_out);
    }
    return text;
}

std::string hottest(const StepReport& report) {
    if (report.result.links.empty()) {
        return "Hottest links: none carried anything\n";
    }
    Table table({{"Hottest links", "", Align::left, true},
                 {"", "", Align::left, true},
                 {"kind", "", Align::left},
                 {"links"},
                 {"capacity"},
                 {"bytes each"},
                 {"utilization"}});
    std::size_t shown = 0;
    for (const LinkGroup& group : hottest_links(report.fabric, report.result.links, most_groups)) {
        table.add({"  " + group.from, "→ " + group.to, std::string(fabric::name_of(group.kind)),
                   fmt::format("{}", group.links), to_text(group.capacity), bytes_text(group.bytes),
                   percent(group.utilization)});
        shown += group.links;
    }
    std::string text = table.text("", page_width);
    const std::size_t left_out = report.result.links.size() - shown;
    if (left_out > 0) {
        text += fmt::format("  and {} less used: see --json\n", left_out);
    }
    return text;
}

/// `node0: gpu0 → switch0` for a link inside a machine, else both names in full.
std::string busiest_link_text(const fabric::Fabric& fabric, const std::optional<replay::LinkUse>& use) {
    if (!use) {
        return std::string(no_rate);
    }
    const std::string_view from = fabric.vertex(fabric.from(use->link)).name;
    const std::string_view to = fabric.vertex(fabric.to(use->link)).name;
    const std::size_t dot = from.find('.');
    if (dot != std::string_view::npos && to.substr(0, dot + 1) == from.substr(0, dot + 1)) {
        return fmt::format("{}: {} → {}", from.substr(0, dot), from.substr(dot + 1), to.substr(dot + 1));
    }
    return fmt::format("{} → {}", from, to);
}

std::string comment(std::string_view text) { return fmt::format("# {}\n", text); }

/// Bus bandwidths of rows that belong together.
struct Average {
    std::string_view algorithm;  ///< empty: all rows
    double sum = 0.0;            ///< GB/s
    std::size_t count = 0;

    std::string text() const { return fmt::format("{:g}", sum / static_cast<double>(count)); }
};

/// The averages under the table: one over all rows where each size has one, else one for each algorithm, as a mean
/// over rivals says nothing. None where `auto` stands among others: its rows cannot be told from theirs.
std::vector<Average> average_busbw(const CollectiveReport& report) {
    const bool is_list = report.algorithm.find(',') != std::string::npos;
    if (is_list && fmt::format(",{},", report.algorithm).find(",auto,") != std::string::npos) {
        return {};
    }
    std::vector<Average> averages;
    for (const replay::CollectiveRun& row : report.rows) {
        const auto bus = busbw(report.operation, report.placement.size(), row.bytes, row.time);
        if (!bus) {
            continue;
        }
        const std::string_view name = is_list || report.algorithm == "all" ? row.algorithm : std::string_view();
        auto average = std::ranges::find(averages, name, &Average::algorithm);
        if (average == averages.end()) {
            average = averages.insert(average, Average{name});
        }
        average->sum += bus->value / 1e9;
        ++average->count;
    }
    return averages;
}

std::string averages(const CollectiveReport& report) {
    const std::vector<Average> all = average_busbw(report);
    std::size_t width = 0;
    for (const Average& average : all) {
        width = std::max(width, average.text().size());
    }
    std::string text = all.empty() ? "" : "#\n";
    for (const Average& average : all) {
        text += comment(average.algorithm.empty() ? fmt::format("Avg bus bandwidth    : {}", average.text())
                                                  : fmt::format("Avg bus bandwidth    : {:<{}}  {}", average.text(),
                                                                width, average.algorithm));
    }
    return text;
}

/// What the formulas were worked out with.
std::string model_text(const collective::PortModel& model) {
    return fmt::format("formulas: α = {}, B = {} GB/s, {}", to_text(model.alpha), in_gigabytes_per_s(model.rate),
                       !model.uniform ? "the worst between two ranks: paths differ here, so they are a guide (~)"
                       : !model.one_port
                           ? "as between any two ranks: a rank has several such ports here, so they are a guide (~)"
                           : "as between all ranks looked at");
}

std::string formula_text(const std::optional<Formula>& formula) {
    if (!formula) {
        return std::string(no_rate);
    }
    return (formula->holds == collective::Cost::Holds::exactly ? "" : "~") + measured(formula->time.value * 1e6);
}

/// To two digits: an estimate.
std::string rounded(Bytes bytes) {
    return fmt::format("{:.0f}", std::stod(fmt::format("{:.1e}", static_cast<double>(bytes.value))));
}

/// Which algorithm to use at which size, where several were compared.
std::string fastest(const CollectiveReport& report) {
    if (!compares(report.rows)) {
        return {};
    }
    const std::vector<Reign> all = reigns(report.rows);
    if (all.size() == 1) {
        return comment(fmt::format("Fastest at every size: {}", all.front().algorithm));
    }
    std::string text = all.empty() ? "" : comment("Fastest:");
    for (const Reign& reign : all) {
        const std::string sizes = reign.first == reign.last
                                      ? fmt::format("at {} B", reign.first.value)
                                      : fmt::format("from {} B to {} B", reign.first.value, reign.last.value);
        const std::string until = reign.until ? fmt::format(", up to about {} B", rounded(*reign.until)) : "";
        text += comment(fmt::format("  {} {}{}", reign.algorithm, sizes, until));
    }
    return text;
}

}  // namespace

void write_text(std::ostream& out, const StepReport& report) {
    const StepFigures figures = step_figures(report.result, report.graph);
    out << headline(report, figures) << '\n'
        << where_the_step_goes(report, figures) << '\n'
        << collectives(report) << '\n'
        << hottest(report) << '\n';
    for (const std::string& line : assumptions(report.fabric, report.setup)) {
        out << "# " << line << '\n';
    }
    if (const std::string folding = folding_text(report.result.fold); !folding.empty()) {
        out << comment("folding: " + folding);
    }
}

void write_text(std::ostream& out, const CollectiveReport& report) {
    const std::size_t ranks = report.placement.size();
    std::string root;
    if (collective::has_root(report.operation)) {
        root = fmt::format(", root {}", index(report.root));
    }
    out << comment(fmt::format("{} over {} rank{} of {}{}, algorithm {}", collective::name_of(report.operation), ranks,
                               ranks == 1 ? "" : "s", report.fabric.name(), root, report.algorithm));
    for (const std::string& line : assumptions(report.fabric, report.setup)) {
        out << comment(line);
    }
    if (report.model) {
        out << comment(model_text(*report.model));
    }
    for (const std::string& line : folding_lines(report.rows)) {
        out << comment(line);
    }
    for (const std::string& line : report.notes) {
        out << comment(line);
    }
    out << "#\n";

    Table table({{"size", "(B)"},
                 {"algorithm", "", Align::left},
                 {"ch", ""},
                 {"time", "(us)"},
                 {"formula", "(us)"},
                 {"algbw", "(GB/s)"},
                 {"busbw", "(GB/s)"},
                 {"bound", "(us)"},
                 {"bound", "(%)"},
                 {"link", "(%)"},
                 {"busiest link", "", Align::left}});  // the last: better a wide line than half a name
    for (const replay::CollectiveRun& row : report.rows) {
        const auto bus = busbw(report.operation, ranks, row.bytes, row.time);
        const auto part_of_bound = efficiency(row);
        const auto busiest = busiest_link(row.links);
        table.add({fmt::format("{}", row.bytes.value), row.algorithm, fmt::format("{}", row.channels),
                   measured(row.time.value * 1e6), formula_text(formula(row, report.model)),
                   in_gigabytes_per_s(algbw(row.bytes, row.time)), in_gigabytes_per_s(bus),
                   measured(row.lower_bound.value * 1e6),
                   part_of_bound ? fmt::format("{:.1f}", *part_of_bound * 100.0) : std::string(no_rate),
                   busiest ? fmt::format("{:.1f}", busiest->utilization * 100.0) : std::string(no_rate),
                   busiest_link_text(report.fabric, busiest)});
    }
    out << table.text("# ", "  ", page_width);
    out << averages(report) << fastest(report);
}

void write_placement(std::ostream& out, const fabric::Fabric& fabric, std::span<const VertexId> placement) {
    std::size_t width = 0;
    for (const VertexId gpu : placement) {
        width = std::max(width, display_width(fabric.vertex(gpu).name));
    }
    for (std::size_t rank = 0; rank < placement.size(); ++rank) {
        const fabric::Vertex& gpu = fabric.vertex(placement[rank]);
        out << gpu.name << std::string(width - display_width(gpu.name), ' ') << fmt::format("  # rank {}", rank);
        if (gpu.node) {
            out << fmt::format(", node {}", index(*gpu.node));
        }
        out << '\n';
    }
}

}  // namespace lockstep::report
