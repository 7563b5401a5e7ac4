#include "sim/fabric/route_missing.h"

#include <vector>

#include <fmt/format.h>

namespace lockstep::fabric {
namespace {

enum class Relay : std::uint8_t { as_declared, every_gpu, inside_the_node };

bool reaches(const Fabric& fabric, VertexId from, VertexId to, Relay relay) {
    std::vector<bool> seen(fabric.vertex_count(), false);
    std::vector<VertexId> queue{from};
    seen[index(from)] = true;
    for (std::size_t head = 0; head < queue.size(); ++head) {
        const Vertex& vertex = fabric.vertex(queue[head]);
        if (queue[head] != from && !vertex.relays && !(relay == Relay::every_gpu && vertex.kind == VertexKind::gpu)) {
            continue;
        }
        for (const LinkId link : fabric.links_out_of(queue[head])) {
            const bool leaves = fabric.vertex(fabric.to(link)).node != fabric.vertex(from).node;
            if (!seen[index(fabric.to(link))] && !(leaves && relay == Relay::inside_the_node)) {
                seen[index(fabric.to(link))] = true;
                queue.push_back(fabric.to(link));
            }
        }
    }
    return seen[index(to)];
}

}  // namespace

std::string why_no_path(const Fabric& fabric, VertexId from, VertexId to) {
    std::string reason = "the fabric does not connect them";
    if (reaches(fabric, from, to, Relay::as_declared)) {
        const auto& node = fabric.vertex(from).node;
        reason =
            node && node == fabric.vertex(to).node && reaches(fabric, from, to, Relay::inside_the_node)
                ? "the links between them inside their machine have tier scale-out, which leads to other machines; "
                  "give those links tier scale-up or host"
                : "the only paths lead through the inside of another machine";
    } else if (reaches(fabric, from, to, Relay::every_gpu)) {
        reason = "every path crosses another GPU, and relaying through GPUs is off in this topology";
    }
    return fmt::format("no path from {} to {}: {}", fabric.vertex(from).name, fabric.vertex(to).name, reason);
}

}  // namespace lockstep::fabric
