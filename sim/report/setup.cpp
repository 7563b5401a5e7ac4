#include "sim/report/setup.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace lockstep::report {

namespace {

/// How many switches of the GPU's island it hangs on: NVSwitch planes.
std::size_t planes_of(const fabric::Fabric& fabric, VertexId gpu) {
    std::set<VertexId> switches;
    for (const LinkId link : fabric.links_out_of(gpu)) {
        const VertexId other = fabric.to(link);
        if (fabric.link(link).tier == fabric::Tier::scale_up &&
            fabric.vertex(other).kind == fabric::VertexKind::switch_) {
            switches.insert(other);
        }
    }
    return switches.size();
}

std::string range(std::size_t least, std::size_t most) {
    return least == most ? fmt::format("{}", most) : fmt::format("{} to {}", least, most);
}

/// "striped over 4 switch planes inside an island", if any GPU has several.
std::optional<std::string> plane_striping(const fabric::Fabric& fabric) {
    std::size_t least = 0;
    std::size_t most = 0;
    for (const VertexId gpu : fabric.gpus()) {
        const std::size_t planes = planes_of(fabric, gpu);
        if (planes > 1) {
            least = least == 0 ? planes : std::min(least, planes);
            most = std::max(most, planes);
        }
    }
    if (most == 0) {
        return std::nullopt;
    }
    return fmt::format("traffic inside an island is striped over the {} switch planes a GPU hangs on",
                       range(least, most));
}

/// "striped over the 2 NICs", if any node has more NICs than GPUs.
std::optional<std::string> nic_striping(const fabric::Fabric& fabric) {
    for (std::size_t node = 0; node < fabric.node_count(); ++node) {
        const auto id = id_at<NodeId>(node);
        const auto vertices = fabric.vertices_of(id);
        const auto is_nic = [&](VertexId vertex) { return fabric.vertex(vertex).kind == fabric::VertexKind::nic; };
        const auto nics = static_cast<std::size_t>(std::ranges::count_if(vertices, is_nic));
        const std::size_t gpus = fabric.gpus_of(id).size();
        if (gpus > 0 && nics > gpus) {
            return fmt::format("traffic between nodes is striped over a GPU's own NICs ({} NICs for {} GPUs)", nics,
                               gpus);
        }
    }
    return std::nullopt;
}

}  // namespace

std::vector<std::string> striping(const fabric::Fabric& fabric) {
    std::vector<std::string> lines;
    for (const auto& line : {plane_striping(fabric), nic_striping(fabric)}) {
        if (line) {
            lines.push_back(*line);
        }
    }
    return lines;
}

std::vector<std::string> assumptions(const fabric::Fabric& fabric, const Setup& setup) {
    std::vector<std::string> lines;
    lines.push_back(setup.engine_summary.empty() ? fmt::format("engine {}", setup.engine)
                                                 : fmt::format("engine {}: {}", setup.engine, setup.engine_summary));
    lines.push_back(fmt::format("routing {}, seed {}", fabric::name_of(setup.routing), setup.seed));
    for (std::string& line : striping(fabric)) {
        lines.push_back(std::move(line));
    }
    return lines;
}

}  // namespace lockstep::report
