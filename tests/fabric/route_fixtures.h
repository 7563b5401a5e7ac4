#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "sim/fabric/fabric.h"
#include "sim/fabric/route.h"

namespace lockstep::fabric {

// Small fabrics and what is asked of every route, shared by the tests of the router.

inline Link wire(double gigabytes_per_second, Tier tier = Tier::scale_out, double microseconds = 1.0) {
    const Bandwidth rate{gigabytes_per_second * 1e9};
    return {.bandwidth = rate, .line_rate = rate, .latency = {microseconds * 1e-6}, .tier = tier};
}

inline VertexId add_switch(FabricBuilder& builder, std::string name) {
    return builder.add({.name = std::move(name), .kind = VertexKind::switch_});
}

// A node of one GPU, cabled to `leaf` itself. Latency 1 us.
inline VertexId add_lone_gpu(FabricBuilder& builder, std::string name, VertexId leaf) {
    const NodeId node = builder.add_node();
    const VertexId gpu = builder.add({.name = std::move(name), .node = node, .relays = false});
    builder.connect(gpu, leaf, wire(50));
    return gpu;
}

// A node of `gpus` GPUs on one NVSwitch, each with a PCIe switch and a NIC of its own; NIC r is cabled to rails[r].
inline void add_rail_node(FabricBuilder& builder, const std::string& name, const std::vector<VertexId>& rails) {
    const NodeId node = builder.add_node();
    const auto add = [&](const std::string& what, VertexKind kind) {
        return builder.add({.name = name + "." + what, .kind = kind, .node = node, .relays = kind != VertexKind::gpu});
    };
    const VertexId nvswitch = add("nvswitch", VertexKind::switch_);
    const VertexId host = add("host", VertexKind::host);
    for (std::size_t r = 0; r < rails.size(); ++r) {
        const VertexId gpu = add("gpu" + std::to_string(r), VertexKind::gpu);
        const VertexId nic = add("nic" + std::to_string(r), VertexKind::nic);
        const VertexId pcie = add("pcie" + std::to_string(r), VertexKind::switch_);
        builder.connect(gpu, nvswitch, wire(450, Tier::scale_up));
        builder.connect(gpu, pcie, wire(64, Tier::host));
        builder.connect(nic, pcie, wire(64, Tier::host));
        builder.connect(pcie, host, wire(64, Tier::host));
        builder.connect(nic, rails[r], wire(50));
    }
}

// Leaves of `down` lone GPUs; `cables` parallel links from every leaf to every one of `spines`.
inline Fabric two_level_tree(std::size_t leaves, std::size_t down, std::size_t spines, std::size_t cables = 1) {
    FabricBuilder builder("two levels");
    std::vector<VertexId> leaf_ids;
    for (std::size_t l = 0; l < leaves; ++l) {
        leaf_ids.push_back(add_switch(builder, "leaf" + std::to_string(l)));
        for (std::size_t g = 0; g < down; ++g) {
            add_lone_gpu(builder, "leaf" + std::to_string(l) + ".gpu" + std::to_string(g), leaf_ids.back());
        }
    }
    for (std::size_t s = 0; s < spines; ++s) {
        const VertexId spine = add_switch(builder, "spine" + std::to_string(s));
        for (const VertexId leaf : leaf_ids) {
            for (std::size_t c = 0; c < cables; ++c) {
                builder.connect(leaf, spine, wire(50));
            }
        }
    }
    return builder.build();
}

// `pods` of `width` leaves and `width` spines, every leaf with `down` lone GPUs, every spine with `width` cores of its
// own number; `cables` parallel links wherever two switches meet.
inline Fabric three_level_tree(std::size_t pods, std::size_t width, std::size_t down, std::size_t cables) {
    FabricBuilder builder("three levels");
    const auto connect = [&](VertexId a, VertexId b) {
        for (std::size_t c = 0; c < cables; ++c) {
            builder.connect(a, b, wire(50));
        }
    };
    std::vector<VertexId> cores;
    for (std::size_t c = 0; c < width * width; ++c) {
        cores.push_back(add_switch(builder, "core" + std::to_string(c)));
    }
    for (std::size_t p = 0; p < pods; ++p) {
        const std::string pod = "pod" + std::to_string(p);
        std::vector<VertexId> spines;
        for (std::size_t s = 0; s < width; ++s) {
            spines.push_back(add_switch(builder, pod + ".spine" + std::to_string(s)));
            for (std::size_t c = 0; c < width; ++c) {
                connect(spines.back(), cores[s * width + c]);
            }
        }
        for (std::size_t l = 0; l < width; ++l) {
            const std::string name = pod + ".leaf" + std::to_string(l);
            const VertexId leaf = add_switch(builder, name);
            for (const VertexId spine : spines) {
                connect(leaf, spine);
            }
            for (std::size_t g = 0; g < down; ++g) {
                add_lone_gpu(builder, name + ".gpu" + std::to_string(g), leaf);
            }
        }
    }
    return builder.build();
}

inline Fabric three_level_tree(std::size_t pods, std::size_t width) { return three_level_tree(pods, width, width, 1); }

// `units` of `nodes` rail nodes; every unit has one leaf per rail, and every leaf a link to every one of `nodes`
// spines.
inline Fabric rail_fabric(std::size_t units, std::size_t nodes, std::size_t rails) {
    FabricBuilder builder("rails");
    std::vector<VertexId> spines;
    for (std::size_t s = 0; s < nodes; ++s) {
        spines.push_back(add_switch(builder, "spine" + std::to_string(s)));
    }
    for (std::size_t u = 0; u < units; ++u) {
        std::vector<VertexId> leaves;
        for (std::size_t r = 0; r < rails; ++r) {
            leaves.push_back(add_switch(builder, "unit" + std::to_string(u) + ".leaf" + std::to_string(r)));
            for (const VertexId spine : spines) {
                builder.connect(leaves.back(), spine, wire(50));
            }
        }
        for (std::size_t n = 0; n < nodes; ++n) {
            add_rail_node(builder, "node" + std::to_string(u * nodes + n), leaves);
        }
    }
    return builder.build();
}

// Rails that never meet, each a tree of three levels: pods of `units`, per pod and rail one spine per node of a unit,
// and behind the spines of one number in all pods one core per unit.
inline Fabric separate_rails(std::size_t pods, std::size_t units, std::size_t nodes, std::size_t rails) {
    FabricBuilder builder("separate rails");
    std::vector<VertexId> cores;  // by rail, spine number, core
    for (std::size_t c = 0; c < rails * nodes * units; ++c) {
        cores.push_back(add_switch(builder, "core" + std::to_string(c)));
    }
    for (std::size_t p = 0; p < pods; ++p) {
        const std::string pod = "pod" + std::to_string(p);
        std::vector<VertexId> spines;  // by rail, number
        for (std::size_t s = 0; s < rails * nodes; ++s) {
            spines.push_back(add_switch(builder, pod + ".spine" + std::to_string(s)));
            for (std::size_t c = 0; c < units; ++c) {
                builder.connect(spines.back(), cores[s * units + c], wire(50));
            }
        }
        for (std::size_t u = 0; u < units; ++u) {
            std::vector<VertexId> leaves;
            for (std::size_t r = 0; r < rails; ++r) {
                leaves.push_back(add_switch(builder, pod + ".unit" + std::to_string(u) + ".leaf" + std::to_string(r)));
                for (std::size_t s = 0; s < nodes; ++s) {
                    builder.connect(leaves.back(), spines[r * nodes + s], wire(50));
                }
            }
            for (std::size_t n = 0; n < nodes; ++n) {
                add_rail_node(builder, "node" + std::to_string((p * units + u) * nodes + n), leaves);
            }
        }
    }
    return builder.build();
}

inline double share_of(const Route& route, LinkId link) {
    double share = 0.0;
    for (const RouteShare& part : route.links) {
        share += part.link == link ? part.share : 0.0;
    }
    return share;
}

// The largest amount by which a route, taken as a flow of 1 from one end to the other, breaks Kirchhoff's law at any
// vertex; a huge number if a link is listed twice or a share is not above 0.
inline double imbalance(const Fabric& fabric, const Route& route, VertexId from, VertexId to) {
    std::vector<double> surplus(fabric.vertex_count(), 0.0);
    std::vector<bool> seen(fabric.link_count(), false);
    surplus[index(from)] = 1.0;
    surplus[index(to)] = -1.0;
    for (const RouteShare& part : route.links) {
        if (seen[index(part.link)] || !(part.share > 0.0)) {
            return 1e9;
        }
        seen[index(part.link)] = true;
        surplus[index(fabric.from(part.link))] -= part.share;
        surplus[index(fabric.to(part.link))] += part.share;
    }
    double worst = 0.0;
    for (const double amount : surplus) {
        worst = std::max(worst, std::abs(amount));
    }
    return worst;
}

// A number below `bound`, the same on every platform.
inline std::size_t draw(std::mt19937_64& random, std::size_t bound) {
    return static_cast<std::size_t>(random() % bound);
}

}  // namespace lockstep::fabric
