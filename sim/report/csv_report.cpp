#include "sim/report/csv_report.h"

#include <fmt/format.h>

#include "sim/report/figures.h"

namespace lockstep::report {

namespace {

template <class Unit>
std::string or_empty(const std::optional<Quantity<Unit>>& quantity) {
    return quantity ? fmt::format("{}", quantity->value) : std::string();
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
    const StepFigures figures = step_figures(report.result, report.graph);
    const std::string step = fmt::format("{},{},{},{},{},{},{}", csv_cell(report.fabric.name()),
                                         csv_cell(report.graph.name), csv_cell(report.setup.engine), report.setup.seed,
                                         report.result.ranks.size(), report.result.step_time.value, figures.idle_mean);
    out << "topology,workload,engine,seed,ranks,step_time_s,gpu_idle_fraction,"
           "name,kind,op,algorithm,protocol,group_size,bytes,count,time_s,exposed_s,algbw_Bps,busbw_Bps\n";
    for (const replay::CollectiveUse& use : report.result.collectives) {
        out << step
            << fmt::format(",{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_cell(use.name), workload::name_of(use.kind),
                           collective::name_of(use.operation), csv_cell(use.algorithm), csv_cell(use.protocol),
                           use.group_size, use.bytes.value, use.count, use.time.value, use.exposed.value,
                           or_empty(algbw(use.bytes, use.time)),
                           or_empty(busbw(use.operation, use.group_size, use.bytes, use.time)));
    }
}

void write_csv(std::ostream& out, const CollectiveReport& report) {
    const fabric::Fabric& fabric = report.fabric;
    const std::size_t ranks = report.placement.size();
    out << "topology,engine,seed,op,ranks,size_bytes,algorithm,protocol,channels,time_s,algbw_Bps,busbw_Bps,"
           "lower_bound_s,busiest_link_from,busiest_link_to,busiest_link_bytes,busiest_link_utilization,messages\n";
    for (const replay::CollectiveRun& row : report.rows) {
        out << fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}", csv_cell(fabric.name()),
                           csv_cell(report.setup.engine), report.setup.seed, collective::name_of(report.operation),
                           ranks, row.bytes.value, csv_cell(row.algorithm), csv_cell(row.protocol), row.channels,
                           row.time.value, or_empty(algbw(row.bytes, row.time)),
                           or_empty(busbw(report.operation, ranks, row.bytes, row.time)), row.lower_bound.value);
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
