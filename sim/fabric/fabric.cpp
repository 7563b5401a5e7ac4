#include "sim/fabric/fabric.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <tuple>
#include <utility>

#include <boost/iterator/transform_iterator.hpp>
#include <fmt/format.h>

#include "sim/fabric/graph.h"

namespace lockstep::fabric {

namespace {

constexpr std::uint32_t no_node = std::numeric_limits<std::uint32_t>::max();

/// For what asks for the edge's number only, not where it comes from.
Graph::Edge edge(LinkId id) { return {0, static_cast<std::uint32_t>(id)}; }

struct Cable {
    VertexId a;
    VertexId b;
    std::uint32_t link;  // its place in Fabric::Data::links
};

/// How far back a link looks for an equal one: enough to find the few kinds that a regular fabric has.
constexpr std::size_t remembered_links = 16;

bool same_link(const Link& a, const Link& b) {
    const auto fields = [](const Link& l) {
        return std::tie(l.bandwidth, l.line_rate, l.efficiency, l.latency, l.kind, l.tier, l.cables);
    };
    return fields(a) == fields(b);
}

bool same_model(const GpuModel& a, const GpuModel& b) {
    const auto fields = [](const GpuModel& m) {
        return std::tie(m.name, m.fp16_peak, m.fp8_peak, m.fp32_peak, m.memory, m.memory_bandwidth);
    };
    return fields(a) == fields(b);
}

/// The vertices of each node as slices of one array: `items` sorted by node, node n owning [start[n], start[n + 1]).
struct ByNode {
    std::vector<VertexId> items;
    std::vector<std::uint32_t> start;

    std::span<const VertexId> of(NodeId node) const {
        return std::span(items).subspan(start[index(node)], start[index(node) + 1] - start[index(node)]);
    }
};

}  // namespace

std::string_view name_of(VertexKind kind) {
    switch (kind) {
        case VertexKind::gpu:
            return "gpu";
        case VertexKind::nic:
            return "nic";
        case VertexKind::switch_:
            return "switch";
        case VertexKind::host:
            return "host";
    }
    throw std::invalid_argument("name_of: no such vertex kind");
}

std::string_view name_of(LinkKind kind) {
    switch (kind) {
        case LinkKind::nvlink:
            return "nvlink";
        case LinkKind::infinity_fabric:
            return "infinity-fabric";
        case LinkKind::c2c:
            return "c2c";
        case LinkKind::pcie:
            return "pcie";
        case LinkKind::infiniband:
            return "infiniband";
        case LinkKind::ethernet:
            return "ethernet";
        case LinkKind::ici:
            return "ici";
        case LinkKind::slingshot:
            return "slingshot";
        case LinkKind::generic:
            return "generic";
    }
    throw std::invalid_argument("name_of: no such link kind");
}

std::string_view name_of(Tier tier) {
    switch (tier) {
        case Tier::scale_up:
            return "scale-up";
        case Tier::host:
            return "host";
        case Tier::scale_out:
            return "scale-out";
    }
    throw std::invalid_argument("name_of: no such tier");
}

std::string_view name_of(RoutingPolicy policy) {
    switch (policy) {
        case RoutingPolicy::static_:
            return "static";
        case RoutingPolicy::ecmp:
            return "ecmp";
        case RoutingPolicy::spray:
            return "spray";
        case RoutingPolicy::adaptive:
            return "adaptive";
    }
    throw std::invalid_argument("name_of: no such routing policy");
}

struct Fabric::Data {
    std::string name;
    RoutingPolicy routing = RoutingPolicy::static_;
    std::vector<AskedOversubscription> asked;
    std::uint32_t nodes = 0;
    std::vector<GpuModel> models;         // the distinct ones; 0 is the model of a GPU that nobody described
    std::vector<std::uint16_t> model_of;  // by VertexId

    // Only while building.
    std::vector<Vertex> vertices;
    std::vector<Cable> cables;
    std::vector<Link> links;  // what the cables are; equal ones mostly share an entry

    // Only once built.
    Graph graph;
    std::vector<VertexId> from;  // by LinkId, as the following two
    std::vector<LinkId> reverse;
    std::vector<LinkId> ids;  // ids[i] = i: what links_out_of gives slices of
    ByNode gpus;
    ByNode all;
    std::vector<VertexId> by_name;

    ByNode by_node(bool gpus_only) const;
    void index_names();
    void connect_all();
};

ByNode Fabric::Data::by_node(bool gpus_only) const {
    const auto node_of = [this](VertexId id) {
        const std::optional<NodeId> node = vertices[index(id)].node;
        return node ? static_cast<std::uint32_t>(*node) : no_node;
    };
    // A counting sort, which keeps the order within a node; what is in no node comes last.
    const auto counts = [&](std::size_t i) { return !gpus_only || vertices[i].kind == VertexKind::gpu; };
    const auto bucket = [&](std::size_t i) { return std::min(node_of(id_at<VertexId>(i)), nodes); };
    std::vector<std::uint32_t> next(nodes + 2, 0);
    for (std::size_t i = 0; i < vertices.size(); ++i) {
        next[bucket(i) + 1] += counts(i) ? 1 : 0;
    }
    std::partial_sum(next.begin(), next.end(), next.begin());
    ByNode result;
    result.start.assign(next.begin(), next.begin() + nodes + 1);
    result.items.resize(next.back());
    for (std::size_t i = 0; i < vertices.size(); ++i) {
        if (counts(i)) {
            result.items[next[bucket(i)]++] = id_at<VertexId>(i);
        }
    }
    return result;
}

void Fabric::Data::index_names() {
    by_name.resize(vertices.size());
    for (std::size_t i = 0; i < vertices.size(); ++i) {
        by_name[i] = id_at<VertexId>(i);
    }
    const auto name_at = [this](VertexId id) -> const std::string& { return vertices[index(id)].name; };
    std::sort(by_name.begin(), by_name.end(), [&](VertexId a, VertexId b) { return name_at(a) < name_at(b); });
    const auto twin = std::adjacent_find(by_name.begin(), by_name.end(),
                                         [&](VertexId a, VertexId b) { return name_at(a) == name_at(b); });
    if (twin != by_name.end()) {
        throw std::invalid_argument(fmt::format("two vertices are called `{}`", name_at(*twin)));
    }
}

void Fabric::Data::connect_all() {
    // Direction d of cable c is number 2c + d. A counting sort by source keeps the order of connection within a vertex.
    const std::size_t directions = 2 * cables.size();
    const auto source = [this](std::uint32_t d) { return d % 2 == 0 ? cables[d / 2].a : cables[d / 2].b; };
    const auto target = [this](std::uint32_t d) { return d % 2 == 0 ? cables[d / 2].b : cables[d / 2].a; };
    std::vector<std::uint32_t> next(vertices.size() + 1, 0);
    for (std::uint32_t d = 0; d < directions; ++d) {
        ++next[index(source(d)) + 1];
    }
    std::partial_sum(next.begin(), next.end(), next.begin());
    std::vector<std::uint32_t> order(directions);
    std::vector<std::uint32_t> place(directions);
    for (std::uint32_t d = 0; d < directions; ++d) {
        place[d] = next[index(source(d))]++;
        order[place[d]] = d;
    }

    from.resize(directions);
    reverse.resize(directions);
    ids.resize(directions);
    for (std::uint32_t i = 0; i < directions; ++i) {
        from[i] = source(order[i]);
        reverse[i] = id_at<LinkId>(place[order[i] ^ 1U]);
        ids[i] = id_at<LinkId>(i);
    }

    const auto ends = [&](std::uint32_t d) {
        return std::pair(static_cast<std::uint32_t>(source(d)), static_cast<std::uint32_t>(target(d)));
    };
    const auto kind = [this](std::uint32_t d) { return Graph::EdgeKind{cables[d / 2].link}; };
    graph.csr = Graph::Csr(boost::edges_are_sorted, boost::make_transform_iterator(order.begin(), ends),
                           boost::make_transform_iterator(order.end(), ends),
                           boost::make_transform_iterator(order.begin(), kind),
                           static_cast<std::uint32_t>(vertices.size()), static_cast<std::uint32_t>(directions));
    for (std::size_t i = 0; i < vertices.size(); ++i) {
        graph.csr[static_cast<std::uint32_t>(i)] = std::move(vertices[i]);
    }
    graph.links = std::move(links);
    graph.links.shrink_to_fit();
    vertices = {};
    cables = {};
}

Fabric::Fabric(std::unique_ptr<Data> data) : data_(std::move(data)) {}
Fabric::~Fabric() = default;
Fabric::Fabric(Fabric&&) noexcept = default;
Fabric& Fabric::operator=(Fabric&&) noexcept = default;

const std::string& Fabric::name() const { return data_->name; }
std::size_t Fabric::vertex_count() const { return data_->by_name.size(); }
std::size_t Fabric::link_count() const { return data_->ids.size(); }
std::size_t Fabric::node_count() const { return data_->nodes; }

const Vertex& Fabric::vertex(VertexId id) const { return data_->graph.csr[static_cast<std::uint32_t>(id)]; }

const Link& Fabric::link(LinkId id) const { return data_->graph.links[data_->graph.csr[edge(id)].link]; }

VertexId Fabric::from(LinkId id) const { return data_->from[index(id)]; }

VertexId Fabric::to(LinkId id) const { return id_at<VertexId>(target(edge(id), data_->graph.csr)); }

LinkId Fabric::reverse(LinkId id) const { return data_->reverse[index(id)]; }

std::span<const LinkId> Fabric::links_out_of(VertexId id) const {
    const auto [first, last] = out_edges(static_cast<std::uint32_t>(id), data_->graph.csr);
    if (first == last) {
        return {};
    }
    return std::span(data_->ids)
        .subspan(index(link_id(data_->graph, *first)), out_degree(static_cast<std::uint32_t>(id), data_->graph.csr));
}

std::span<const VertexId> Fabric::gpus() const { return data_->gpus.items; }
std::span<const VertexId> Fabric::gpus_of(NodeId node) const { return data_->gpus.of(node); }
std::span<const VertexId> Fabric::vertices_of(NodeId node) const { return data_->all.of(node); }

const GpuModel& Fabric::gpu_model(VertexId gpu) const { return data_->models[data_->model_of[index(gpu)]]; }

std::optional<VertexId> Fabric::find(std::string_view name) const {
    const auto name_at = [this](VertexId id) -> std::string_view { return vertex(id).name; };
    const auto found = std::lower_bound(data_->by_name.begin(), data_->by_name.end(), name,
                                        [&](VertexId id, std::string_view wanted) { return name_at(id) < wanted; });
    if (found == data_->by_name.end() || name_at(*found) != name) {
        return std::nullopt;
    }
    return *found;
}

RoutingPolicy Fabric::routing() const { return data_->routing; }
std::span<const AskedOversubscription> Fabric::asked_oversubscription() const { return data_->asked; }
const Graph& Fabric::graph() const { return data_->graph; }

FabricBuilder::FabricBuilder(std::string name) : data_(std::make_unique<Fabric::Data>()) {
    data_->name = std::move(name);
    data_->models.emplace_back();
}

FabricBuilder::~FabricBuilder() = default;

NodeId FabricBuilder::add_node() { return NodeId{data_->nodes++}; }

VertexId FabricBuilder::add(Vertex vertex) {
    if (vertex.node && index(*vertex.node) >= data_->nodes) {
        throw std::invalid_argument(fmt::format("vertex `{}` is in a node that was not added", vertex.name));
    }
    data_->vertices.push_back(std::move(vertex));
    data_->model_of.push_back(0);
    return id_at<VertexId>(data_->vertices.size() - 1);
}

std::size_t FabricBuilder::vertex_count() const { return data_->vertices.size(); }
const Vertex& FabricBuilder::vertex(VertexId id) const { return data_->vertices[index(id)]; }

void FabricBuilder::set_gpu_model(VertexId gpu, GpuModel model) {
    if (data_->vertices.at(index(gpu)).kind != VertexKind::gpu) {
        throw std::invalid_argument(fmt::format("vertex `{}` is no gpu", data_->vertices[index(gpu)].name));
    }
    auto& models = data_->models;
    // Files name a handful of models, and neighbours mostly share one: look from the back.
    const auto known =
        std::find_if(models.rbegin(), models.rend(), [&](const GpuModel& other) { return same_model(model, other); });
    std::size_t place = static_cast<std::size_t>(models.rend() - known);
    if (known == models.rend()) {
        if (models.size() > std::numeric_limits<std::uint16_t>::max()) {
            throw std::invalid_argument("more than 65,535 different GPU models in one fabric");
        }
        models.push_back(std::move(model));
        place = models.size();
    }
    data_->model_of[index(gpu)] = static_cast<std::uint16_t>(place - 1);
}

void FabricBuilder::connect(VertexId a, VertexId b, const Link& link) {
    if (a == b) {
        throw std::invalid_argument(fmt::format("link from `{}` to itself", data_->vertices.at(index(a)).name));
    }
    if (std::max(index(a), index(b)) >= data_->vertices.size()) {
        throw std::invalid_argument("link to a vertex that was not added");
    }
    auto& links = data_->links;
    const auto last = links.size() > remembered_links ? links.rbegin() + remembered_links : links.rend();
    const auto known = std::find_if(links.rbegin(), last, [&](const Link& other) { return same_link(link, other); });
    std::size_t place = static_cast<std::size_t>(links.rend() - known);
    if (known == last) {
        links.push_back(link);
        place = links.size();
    }
    data_->cables.push_back({a, b, static_cast<std::uint32_t>(place - 1)});
}

void FabricBuilder::set_routing(RoutingPolicy policy) { data_->routing = policy; }

void FabricBuilder::note_oversubscription(const AskedOversubscription& asked) { data_->asked.push_back(asked); }

Fabric FabricBuilder::build() {
    std::unique_ptr<Fabric::Data> built = std::exchange(data_, std::make_unique<Fabric::Data>());
    data_->models.emplace_back();
    built->index_names();
    built->gpus = built->by_node(true);
    built->all = built->by_node(false);
    built->connect_all();
    return Fabric(std::move(built));
}

}  // namespace lockstep::fabric
