#include "sim/report/json_report.h"

#include <string>

#include "sim/report/comparison.h"
#include "sim/report/figures.h"
#include "sim/report/folding.h"
#include "sim/report/json_stream.h"

namespace lockstep::report {

namespace {

/// null where there is no value: a rate when no time passed.
template <class Unit>
Json or_null(const std::optional<Quantity<Unit>>& quantity) {
    return quantity ? Json(quantity->value) : Json(nullptr);
}

Json parameters(const Setup& setup) {
    const auto object = [](const std::vector<ParameterInForce>& values) {
        Json json = Json::object();
        for (const ParameterInForce& value : values) {
            json[value.name] = value.text;
        }
        return json;
    };
    Json json;
    json["topology"] = object(setup.topology_parameters);
    if (!setup.workload_parameters.empty()) {
        json["workload"] = object(setup.workload_parameters);
    }
    return json;
}

Json simulator(const replay::SimulatorUse& use, const std::optional<MachineUse>& machine) {
    Json json{{"messages", use.messages}, {"simulated_messages", use.simulated_messages}, {"events", use.events}};
    if (machine) {
        json["wall_s"] = machine->wall.value;
        json["peak_rss_bytes"] = machine->peak_rss.value;
    }
    return json;
}

Json link(const fabric::Fabric& fabric, const replay::LinkUse& use) {
    const fabric::Link& link = fabric.link(use.link);
    return {{"from", fabric.vertex(fabric.from(use.link)).name},
            {"to", fabric.vertex(fabric.to(use.link)).name},
            {"kind", fabric::name_of(link.kind)},
            {"tier", fabric::name_of(link.tier)},
            {"capacity_Bps", link.bandwidth.value},
            {"bytes", use.bytes},
            {"utilization", use.utilization}};
}

Json time_parts(const replay::RankTime& mean) {
    Json json{{"compute", mean.compute.value}};
    for (std::size_t kind = 0; kind < workload::parallelism_count; ++kind) {
        const std::string name(workload::name_of(static_cast<workload::Parallelism>(kind)));
        json["exposed_" + name] = mean.exposed.at(kind).value;
    }
    json["pipeline_bubble"] = mean.pipeline_bubble.value;
    json["straggler_wait"] = mean.straggler_wait.value;
    json["overhead"] = mean.overhead.value;
    return json;
}

Json collective_use(const replay::CollectiveUse& use) {
    return {{"name", use.name},
            {"kind", workload::name_of(use.kind)},
            {"op", collective::name_of(use.operation)},
            {"algorithm", use.algorithm},
            {"protocol", use.protocol},
            {"group_size", use.group_size},
            {"bytes", use.bytes.value},
            {"count", use.count},
            {"time_s", use.time.value},
            {"exposed_s", use.exposed.value},
            {"algbw_Bps", or_null(algbw(use.bytes, use.time))},
            {"busbw_Bps", or_null(busbw(use.operation, use.group_size, use.bytes, use.time))}};
}

Json collective_row(const CollectiveReport& report, const replay::CollectiveRun& row) {
    const std::size_t ranks = report.placement.size();
    const auto busiest = busiest_link(row.links);
    const auto part_of_bound = efficiency(row);
    const auto by_the_book = formula(row, report.model);
    return {
        {"size_bytes", row.bytes.value},
        {"algorithm", row.algorithm},
        {"protocol", row.protocol},
        {"channels", row.channels},
        {"time_s", row.time.value},
        {"algbw_Bps", or_null(algbw(row.bytes, row.time))},
        {"busbw_Bps", or_null(busbw(report.operation, ranks, row.bytes, row.time))},
        {"lower_bound_s", row.lower_bound.value},
        {"formula_s", by_the_book ? Json(by_the_book->time.value) : Json(nullptr)},
        {"formula_exact", by_the_book ? Json(by_the_book->holds == collective::Cost::Holds::exactly) : Json(nullptr)},
        {"formula", row.cost ? Json(row.cost->formula) : Json(nullptr)},
        {"efficiency", part_of_bound ? Json(*part_of_bound) : Json(nullptr)},
        {"busiest_link", busiest ? link(report.fabric, *busiest) : Json(nullptr)},
        {"messages", row.simulator.messages},
        {"fold", folding_json(row.fold)}};
}

void write_setup(JsonStream& json, const Setup& setup) {
    json.field("engine", setup.engine);
    json.field("routing", fabric::name_of(setup.routing));
    json.field("seed", setup.seed);
    json.field("parameters", parameters(setup));
}

}  // namespace

void write_json(std::ostream& out, const StepReport& report) {
    const StepFigures figures = step_figures(report.result, report.graph);
    JsonStream json(out);
    json.field("schema", "lockstep.run/1");
    json.field("topology", report.fabric.name());
    json.field("workload", report.graph.name);
    write_setup(json, report.setup);
    json.field("assumptions", assumptions(report.fabric, report.setup));
    json.field("ranks", report.result.ranks.size());
    json.field("step_time_s", report.result.step_time.value);
    json.field("gpu_idle_fraction",
               {{"mean", figures.idle_mean}, {"min", figures.idle_min}, {"max", figures.idle_max}});
    json.field("time_s", time_parts(figures.mean));
    if (figures.samples_per_s) {
        json.field("samples_per_s", *figures.samples_per_s);
    }
    if (figures.tokens_per_s) {
        json.field("tokens_per_s", *figures.tokens_per_s);
    }
    if (figures.mfu) {
        json.field("mfu", *figures.mfu);
    }
    json.array("collectives", report.result.collectives, collective_use);
    json.array("links", report.result.links, [&](const auto& use) { return link(report.fabric, use); });
    Json use = simulator(report.result.simulator, report.machine);
    use["fold"] = folding_json(report.result.fold);
    json.field("simulator", use);
    json.finish();
}

void write_json(std::ostream& out, const CollectiveReport& report) {
    JsonStream json(out);
    json.field("schema", "lockstep.collective/1");
    json.field("topology", report.fabric.name());
    json.field("op", collective::name_of(report.operation));
    if (collective::has_root(report.operation)) {
        json.field("root", index(report.root));
    }
    json.field("ranks", report.placement.size());
    write_setup(json, report.setup);
    json.field("assumptions", assumptions(report.fabric, report.setup));
    if (!report.notes.empty()) {
        json.field("notes", report.notes);
    }
    if (report.model) {
        json.field("model", {{"alpha_s", report.model->alpha.value},
                             {"rate_Bps", report.model->rate.value},
                             {"uniform", report.model->uniform},
                             {"one_port", report.model->one_port}});
    }
    json.array("rows", report.rows, [&](const auto& row) { return collective_row(report, row); });
    if (compares(report.rows)) {
        json.array("fastest", reigns(report.rows), [](const Reign& reign) {
            return Json{{"algorithm", reign.algorithm},
                        {"first_bytes", reign.first.value},
                        {"last_bytes", reign.last.value},
                        {"until_bytes", reign.until ? Json(reign.until->value) : Json(nullptr)}};
        });
    }
    json.field("simulator", simulator(total_use(report.rows), report.machine));
    json.finish();
}

}  // namespace lockstep::report
