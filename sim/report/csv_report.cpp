#include "sim/report/csv_report.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "sim/report/comparison.h"
#include "sim/report/figures.h"

namespace lockstep::report {

namespace {

template <class Unit>
std::string or_empty(const std::optional<Quantity<Unit>>& quantity) {
    return quantity ? fmt::format("{}", quantity->value) : std::string();
}

std::string or_empty(const std::optional<double>& value) { return value ? fmt::format("{}", *value) : std::string(); }

/// A value as it can be given to --set: in quotes where a shell would take it apart.
std::string shell_word(const std::string& text) {
    constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./+-:%";
    if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) {
        return text;
    }
    std::string quoted = "'";
    for (const char c : text) {
        quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    }
    return quoted + '\'';
}

/// topology.nodes=2 topology.bandwidth='50 GB/s' workload.batch=8
std::string parameters_text(const Setup& setup) {
    std::vector<std::string> words;
    for (const ParameterInForce& value : setup.topology_parameters) {
        words.push_back(fmt::format("topology.{}={}", value.name, shell_word(value.text)));
    }
    for (const ParameterInForce& value : setup.workload_parameters) {
        words.push_back(fmt::format("workload.{}={}", value.name, shell_word(value.text)));
    }
    return fmt::format("{}", fmt::join(words, " "));
}

/// engine, routing, seed, parameters
std::string setup_cells(const Setup& setup) {
    return fmt::format("{},{},{},{}", csv_cell(setup.engine), fabric::name_of(setup.routing), setup.seed,
                       csv_cell(parameters_text(setup)));
}

/// All that a row says of the whole step.
std::string step_cells(const StepReport& report) {
    const StepFigures figures = step_figures(report.result, report.graph);
    std::string cells =
        fmt::format("{},{},{},{},{},{},{},{},{}", csv_cell(report.fabric.name()), csv_cell(report.graph.name),
                    setup_cells(report.setup), report.result.ranks.size(), report.result.step_time.value,
                    figures.idle_mean, figures.idle_min, figures.idle_max, figures.mean.compute.value);
    for (const Seconds exposed : figures.mean.exposed) {
        cells += fmt::format(",{}", exposed.value);
    }
    return cells + fmt::format(",{},{},{},{},{},{}", figures.mean.pipeline_bubble.value,
                               figures.mean.straggler_wait.value, figures.mean.overhead.value,
                               or_empty(figures.samples_per_s), or_empty(figures.tokens_per_s), or_empty(figures.mfu));
}

}  // namespace

std::string csv_cell(std::string_view text) {
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
        return std::string(text);
    }
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"') {
            quoted += '"';
        }
        quoted += c;
    }
    return quoted + '"';
}

void write_csv(std::ostream& out, const StepReport& report) {
    out << "topology,workload,engine,routing,seed,parameters,ranks,step_time_s,"
           "gpu_idle_fraction,gpu_idle_fraction_min,gpu_idle_fraction_max,compute_s,";
    for (std::size_t kind = 0; kind < workload::parallelism_count; ++kind) {
        out << fmt::format("exposed_{}_s,", workload::name_of(static_cast<workload::Parallelism>(kind)));
    }
    out << "pipeline_bubble_s,straggler_wait_s,overhead_s,samples_per_s,tokens_per_s,mfu,"
           "name,kind,op,algorithm,protocol,group_size,bytes,count,time_s,exposed_s,algbw_Bps,busbw_Bps\n";
    const std::string step = step_cells(report);
    for (const replay::CollectiveUse& use : report.result.collectives) {
        out << step
            << fmt::format(",{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_cell(use.name), workload::name_of(use.kind),
                           collective::name_of(use.operation), csv_cell(use.algorithm), csv_cell(use.protocol),
                           use.group_size, use.bytes.value, use.count, use.time.value, use.exposed.value,
                           or_empty(algbw(use.bytes, use.time)),
                           or_empty(busbw(use.operation, use.group_size, use.bytes, use.time)));
    }
    if (report.result.collectives.empty()) {
        out << step << ",,,,,,,,,,,,\n";  // the step is worth a row all the same
    }
}

void write_csv(std::ostream& out, const CollectiveReport& report) {
    const fabric::Fabric& fabric = report.fabric;
    const std::size_t ranks = report.placement.size();
    const bool has_root = collective::has_root(report.operation);
    const std::string table = fmt::format("{},{},{},{},{}", csv_cell(fabric.name()), setup_cells(report.setup),
                                          collective::name_of(report.operation),
                                          has_root ? fmt::format("{}", index(report.root)) : "", ranks);
    out << "topology,engine,routing,seed,parameters,op,root,ranks,size_bytes,algorithm,protocol,channels,time_s,"
           "algbw_Bps,busbw_Bps,lower_bound_s,formula_s,formula_exact,efficiency,busiest_link_from,busiest_link_to,"
           "busiest_link_bytes,"
           "busiest_link_utilization,messages\n";
    for (const replay::CollectiveRun& row : report.rows) {
        const auto by_the_book = formula(row, report.model);
        out << table
            << fmt::format(",{},{},{},{},{},{},{},{},{},{},{}", row.bytes.value, csv_cell(row.algorithm),
                           csv_cell(row.protocol), row.channels, row.time.value, or_empty(algbw(row.bytes, row.time)),
                           or_empty(busbw(report.operation, ranks, row.bytes, row.time)), row.lower_bound.value,
                           by_the_book ? fmt::format("{}", by_the_book->time.value) : "",
                           by_the_book ? fmt::format("{}", by_the_book->holds == collective::Cost::Holds::exactly) : "",
                           or_empty(efficiency(row)));
        if (const auto use = busiest_link(row.links)) {
            out << fmt::format(",{},{},{},{}", csv_cell(fabric.vertex(fabric.from(use->link)).name),
                               csv_cell(fabric.vertex(fabric.to(use->link)).name), use->bytes, use->utilization);
        } else {
            out << ",,,,";
        }
        out << fmt::format(",{}\n", row.simulator.messages);
    }
}

}  // namespace lockstep::report
