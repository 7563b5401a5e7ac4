#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/collective/communicator.h"
#include "sim/collective/direct_links.h"
#include "sim/collective/rings.h"

namespace lockstep::collective {

namespace {

/// Puts GPUs that are joined by direct links next to each other, if they are; leaves them as they are otherwise.
void order_along_links(const fabric::Fabric& fabric, std::span<VertexId> gpus) {
    if (gpus.size() < 3 || share_scale_up_switch(fabric, gpus)) {
        return;
    }
    const DirectLinks links(fabric, gpus);
    if (const auto order = mesh_order(links)) {
        const std::vector<VertexId> natural(gpus.begin(), gpus.end());
        std::transform(order->begin(), order->end(), gpus.begin(), [&](std::uint32_t place) { return natural[place]; });
    }
}

bool linked_across_nodes(const fabric::Fabric& fabric, std::span<const VertexId> gpus) {
    return std::any_of(gpus.begin(), gpus.end(), [&](VertexId gpu) {
        const auto& node = fabric.vertex(gpu).node;
        const auto links = fabric.links_out_of(gpu);
        return std::any_of(links.begin(), links.end(), [&](LinkId link) {
            const fabric::Vertex& other = fabric.vertex(fabric.to(link));
            return other.kind == fabric::VertexKind::gpu && (!node || other.node != node);
        });
    });
}

}  // namespace

std::vector<VertexId> default_placement(const fabric::Fabric& fabric, std::optional<std::size_t> ranks) {
    const auto all = fabric.gpus();
    const std::size_t count = ranks.value_or(all.size());
    if (count > all.size()) {
        throw std::invalid_argument(fmt::format("{} ranks to place on {} GPUs", count, all.size()));
    }
    std::vector<VertexId> placed(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
    if (linked_across_nodes(fabric, placed)) {
        order_along_links(fabric, placed);
        return placed;
    }
    for (std::size_t begin = 0; begin < count;) {
        const auto& node = fabric.vertex(placed[begin]).node;
        std::size_t end = begin + 1;
        while (node && end < count && fabric.vertex(placed[end]).node == node) {
            ++end;
        }
        order_along_links(fabric, std::span(placed).subspan(begin, end - begin));
        begin = end;
    }
    return placed;
}

}  // namespace lockstep::collective
