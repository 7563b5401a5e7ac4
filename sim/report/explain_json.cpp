#include "sim/report/explain_json.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/collective/dimensions.h"
#include "sim/report/explain_cells.h"
#include "sim/report/explain_words.h"
#include "sim/report/figures.h"
#include "sim/report/json_stream.h"

namespace lockstep::report {

using collective::Verb;

namespace {

/// The part of the fabric that takes part: the ranks' GPUs, what routes cross, and all links between them.
class Stage {
  public:
    explicit Stage(const Explanation& explanation) : explanation_(explanation) {
        const fabric::Fabric& fabric = explanation.communicator.fabric();
        std::set<VertexId> vertices(explanation.communicator.gpus().begin(), explanation.communicator.gpus().end());
        for (const auto& paths : explanation.routes) {
            for (const RoutePath& path : paths) {
                for (const LinkId link : path.links) {
                    vertices.insert({fabric.from(link), fabric.to(link)});
                }
            }
        }
        for (const Step& step : explanation.steps) {
            for (const LinkLoad& load : step.links) {
                vertices.insert({fabric.from(load.link), fabric.to(load.link)});
            }
        }
        for (const VertexId vertex : vertices) {
            vertex_at_[vertex] = vertices_.size();
            vertices_.push_back(vertex);
        }
        for (const VertexId vertex : vertices_) {
            for (const LinkId link : fabric.links_out_of(vertex)) {
                if (vertices.contains(fabric.to(link))) {
                    link_at_[link] = links_.size();
                    links_.push_back(link);
                }
            }
        }
        for (std::size_t rank = 0; rank < explanation.communicator.size(); ++rank) {
            rank_of_[explanation.communicator.gpu(id_at<RankId>(rank))] = rank;
        }
    }

    const std::vector<VertexId>& vertices() const { return vertices_; }
    const std::vector<LinkId>& links() const { return links_; }
    std::size_t place(LinkId link) const { return link_at_.at(link); }

    Json vertex(VertexId id, const std::optional<collective::RankGrid>& grid) const {
        const fabric::Vertex& vertex = explanation_.communicator.fabric().vertex(id);
        Json json{{"name", vertex.name}, {"kind", fabric::name_of(vertex.kind)}};
        if (vertex.node) {
            json["node"] = index(*vertex.node);
        }
        if (const auto rank = rank_of_.find(id); rank != rank_of_.end()) {
            json["rank"] = rank->second;
            if (grid) {
                Json place = Json::array();
                for (std::size_t d = 0; d < grid->dimension_count(); ++d) {
                    place.push_back(grid->coordinate(grid->point_of(id_at<RankId>(rank->second)), d));
                }
                json["grid"] = place;
            }
        }
        if (vertex.reduces) {
            json["reduces"] = true;
        }
        return json;
    }

    Json link(LinkId id) const {
        const fabric::Fabric& fabric = explanation_.communicator.fabric();
        const fabric::Link& link = fabric.link(id);
        return {{"from", vertex_at_.at(fabric.from(id))},
                {"to", vertex_at_.at(fabric.to(id))},
                {"kind", fabric::name_of(link.kind)},
                {"tier", fabric::name_of(link.tier)},
                {"cables", link.cables},
                {"capacity_Bps", link.bandwidth.value},
                {"latency_s", link.latency.value}};
    }

  private:
    const Explanation& explanation_;
    std::vector<VertexId> vertices_;
    std::vector<LinkId> links_;
    std::map<VertexId, std::size_t> vertex_at_;
    std::map<LinkId, std::size_t> link_at_;
    std::map<VertexId, std::size_t> rank_of_;
};

std::string_view name_of_leg(Leg leg) {
    switch (leg) {
        case Leg::to_switch:
            return "to_switch";
        case Leg::from_switch:
            return "from_switch";
        case Leg::whole:
            break;
    }
    return "whole";
}

std::string_view name_of_verb(Verb verb) {
    switch (verb) {
        case Verb::receive_reduce:
            return "receive_reduce";
        case Verb::reduce_in_switch:
            return "reduce_in_switch";
        case Verb::receive_multicast:
            return "receive_multicast";
        case Verb::receive_sum:
            return "receive_sum";
        case Verb::copy:
            return "copy";
        case Verb::reduce:
            return "reduce";
        default:
            return "receive";
    }
}

Json ranks_json(const std::vector<RankId>& ranks) {
    Json json = Json::array();
    for (const RankId rank : ranks) {
        json.push_back(index(rank));
    }
    return json;
}

Json route_json(const std::vector<RoutePath>& paths, const Stage& stage) {
    Json json = Json::array();
    for (const RoutePath& path : paths) {
        Json links = Json::array();
        for (const LinkId link : path.links) {
            links.push_back(stage.place(link));
        }
        json.push_back({{"links", links}, {"share", path.share}, {"leg", name_of_leg(path.leg)}});
    }
    return json;
}

Json content_json(const collective::Content& content) {
    Json ranks = Json::array();
    Json doubled = Json::array();
    for (const auto& [rank, times] : content.ranks) {
        ranks.push_back(rank);
        if (times > 1) {
            doubled.push_back(rank);
        }
    }
    Json json{{"chunk", content.chunk}, {"ranks", ranks}};
    if (!doubled.empty()) {
        json["doubled"] = doubled;
    }
    return json;
}

Json holdings_json(const Holdings& holdings, std::size_t ranks) {
    Json start = Json::array();
    Json due = Json::array();
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        Json row = Json::array();
        Json due_row = Json::array();
        for (std::size_t chunk = 0; chunk < holdings.chunks; ++chunk) {
            const std::size_t place = rank * holdings.chunks + chunk;
            row.push_back(holdings.start[place].content);
            due_row.push_back(!holdings.is_due[place] ? 0 : holdings.start[place].complete ? 2 : 1);
        }
        start.push_back(row);
        due.push_back(due_row);
    }
    return {{"name", name_of(holdings.buffer)}, {"chunks", holdings.chunks}, {"start", start}, {"due", due}};
}

Json move_json(const Move& move) {
    Json json{{"verb", name_of_verb(move.verb)}, {"from", ranks_json(move.from)},  {"to", ranks_json(move.to)},
              {"channel", move.channel},         {"buffer", name_of(move.buffer)}, {"chunks", move.chunks},
              {"contents", move.contents},       {"bytes", move.bytes.value}};
    if (move.route) {
        json["route"] = *move.route;
    }
    return json;
}

/// What crosses links in a step, each set kept once: most steps of an algorithm are alike in this.
class Loads {
  public:
    explicit Loads(const std::vector<Step>& steps) {
        for (const Step& step : steps) {
            std::vector<std::pair<LinkId, double>> load;
            for (const LinkLoad& link : step.links) {
                load.emplace_back(link.link, link.bytes);
            }
            const auto [found, is_new] = known_.try_emplace(std::move(load), all_.size());
            if (is_new) {
                all_.push_back(&step);
            }
            of_step_.push_back(found->second);
        }
    }

    /// The steps whose loads differ, the first of each kind.
    const std::vector<const Step*>& all() const { return all_; }
    /// The load of a step, by its place among all().
    std::size_t of(std::size_t step) const { return of_step_[step]; }

  private:
    std::map<std::vector<std::pair<LinkId, double>>, std::size_t> known_;
    std::vector<const Step*> all_;
    std::vector<std::size_t> of_step_;
};

Json load_json(const Step& step, const Stage& stage) {
    Json json = Json::array();
    for (const LinkLoad& load : step.links) {
        json.push_back(Json::array({stage.place(load.link), load.bytes}));
    }
    return json;
}

Json step_json(const Step& step, std::size_t load) {
    Json moves = Json::array();
    for (const Move& move : step.moves) {
        moves.push_back(move_json(move));
    }
    Json changes = Json::array();
    for (const Change& change : step.changes) {
        changes.push_back({{"rank", index(change.rank)},
                           {"buffer", name_of(change.buffer)},
                           {"chunk", change.chunk},
                           {"content", change.held.content},
                           {"complete", change.held.complete}});
    }
    return {{"number", step.number},
            {"sentence", step.sentence},
            {"alphas", step.spent.alphas},
            {"bytes", step.spent.bytes},
            {"complete", step.complete},
            {"load", load},
            {"moves", moves},
            {"changes", changes}};
}

Json formula_json(const Explanation& explanation) {
    if (!explanation.cost) {
        return nullptr;
    }
    Json json{{"text", explanation.cost->formula},
              {"source", explanation.cost->source},
              {"exact", explanation.cost->holds == collective::Cost::Holds::exactly},
              {"alphas", explanation.cost->alphas},
              {"bytes", explanation.cost->bytes}};
    if (explanation.model) {
        json["alpha_s"] = explanation.model->alpha.value;
        json["rate_Bps"] = explanation.model->rate.value;
        json["uniform"] = explanation.model->uniform;
        json["time_s"] = collective::time_of(*explanation.cost, *explanation.model).value;
    }
    return json;
}

Json result_json(const Explanation& explanation) {
    if (!explanation.run) {
        return nullptr;
    }
    const auto or_null = [](const std::optional<Bandwidth>& rate) { return rate ? Json(rate->value) : Json(nullptr); };
    const collective::Schedule& schedule = explanation.schedule;
    const replay::CollectiveRun& run = *explanation.run;
    Json json{{"time_s", run.time.value},
              {"lower_bound_s", run.lower_bound.value},
              {"algbw_Bps", or_null(algbw(explanation.bytes, run.time))},
              {"busbw_Bps", or_null(busbw(schedule.operation, schedule.ranks, explanation.bytes, run.time))},
              {"messages", explanation.proof.messages}};
    if (explanation.own_choice) {
        json["own_choice_time_s"] = explanation.own_choice->time.value;
    }
    if (const auto busiest = busiest_link(run.links)) {
        const fabric::Fabric& fabric = explanation.communicator.fabric();
        json["busiest_link"] = {{"from", fabric.vertex(fabric.from(busiest->link)).name},
                                {"to", fabric.vertex(fabric.to(busiest->link)).name},
                                {"bytes", busiest->bytes},
                                {"utilization", busiest->utilization}};
    }
    return json;
}

}  // namespace

void write_json(std::ostream& out, const Explanation& explanation) {
    const Stage stage(explanation);
    const collective::Schedule& schedule = explanation.schedule;
    const auto grid = collective::grid_of_links(explanation.communicator);
    JsonStream json(out);
    json.field("schema", "lockstep.explain/1");
    json.field("algorithm", schedule.algorithm);
    json.field("summary", explanation.summary);
    json.field("op", collective::name_of(schedule.operation));
    json.field("topology", explanation.communicator.fabric().name());
    json.field("setting", setting(explanation));
    json.field("ranks", schedule.ranks);
    json.field("root", collective::has_root(schedule.operation) ? Json(index(schedule.root)) : Json(nullptr));
    json.field("size_bytes", explanation.bytes.value);
    json.field("chunks", schedule.chunks);
    json.field("channels", schedule.channels);
    json.field("adds_up", adds_up(schedule.operation));
    json.field("proved", explanation.proof.holds());
    json.field("formula", formula_json(explanation));
    json.field("result", result_json(explanation));
    json.field("conclusions", conclusions(explanation));
    json.field("results", explanation.results);
    json.field("complete_at_start", explanation.complete_at_start);
    json.array("vertices", stage.vertices(), [&](VertexId vertex) { return stage.vertex(vertex, grid); });
    json.array("links", stage.links(), [&](LinkId link) { return stage.link(link); });
    json.array("routes", explanation.routes, [&](const auto& paths) { return route_json(paths, stage); });
    json.array("contents", explanation.contents, content_json);
    json.array("buffers", explanation.holdings,
               [&](const Holdings& holdings) { return holdings_json(holdings, schedule.ranks); });
    const Loads loads(explanation.steps);
    json.array("loads", loads.all(), [&](const Step* step) { return load_json(*step, stage); });
    std::size_t number = 0;
    json.array("steps", explanation.steps, [&](const Step& step) { return step_json(step, loads.of(number++)); });
    json.finish();
}

}  // namespace lockstep::report
