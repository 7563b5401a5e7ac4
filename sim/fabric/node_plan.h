#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/base/yaml.h"
#include "sim/fabric/assembly.h"
#include "sim/fabric/catalogue.h"
#include "sim/fabric/specs.h"

namespace lockstep::fabric {

/// A machine as a file describes it, ready to be stamped any number of times. Its vertices are numbered from 0 and
/// carry names within the node (`gpu3`).
class NodePlan {
  public:
    struct Point {
        Vertex vertex;
        Sockets sockets;
        std::optional<std::uint32_t> model;  ///< of a GPU: its place in `models`
    };
    struct Wire {
        std::uint32_t a;
        std::uint32_t b;
        std::uint32_t spec;  ///< its place in `specs`
        std::uint32_t cables;
        std::uint32_t cause;  ///< its place in `causes`
    };

    std::string name = "node";  ///< nodes are called by it and their number
    std::uint32_t count = 1;
    std::vector<Point> points;
    std::vector<Wire> wires;
    std::vector<LinkSpec> specs;
    std::vector<GpuModel> models;
    std::vector<NicModel> nic_models;
    std::vector<std::uint32_t> gpus;  ///< places in `points`, as all the following
    std::vector<std::uint32_t> nics;
    std::vector<std::uint32_t> hosts;
    std::vector<std::uint32_t> pcie_switches;
    std::vector<YamlValue> causes;      ///< what asked for wires
    std::uint32_t island_switches = 0;  ///< how many there are, for their names

    /// Adds a vertex. Throws: InputError at `cause` if all nodes together have too many.
    std::uint32_t add(Vertex vertex, const Sockets& sockets, const YamlValue& cause);
    std::uint32_t add_spec(const LinkSpec& spec);
    /// Adds cables between two vertices. Throws: InputError at `cause` for a link to itself, a second link between the
    /// same two (several cables are one link with a count), or too many links.
    void connect(std::uint32_t a, std::uint32_t b, std::uint32_t spec, std::uint32_t cables, const YamlValue& cause);
    /// Throws: InputError at `cause` if all nodes together have too many links with this many more.
    void require_room_for(std::uint64_t more, const YamlValue& cause) const;
    /// The vertex of that name. Throws: InputError at `wanted_name` with the nearest known one.
    std::uint32_t find(const YamlValue& wanted_name) const;

  private:
    std::unordered_map<std::uint64_t, std::uint32_t>
        joined_;  // two vertices to the place in `causes` of what joined them
};

/// Reads one node template (docs/topology-yaml.md, `node`). Throws: InputError.
NodePlan read_node(const YamlValue& value, const Catalogue& catalogue);

/// Reads one of a node's islands and adds it to the plan. Throws: InputError.
void add_island(NodePlan& plan, const YamlValue& value, const Catalogue& catalogue);

/// Adds the nodes to the fabric and their ends to `endpoints`. Throws: InputError at `cause` beyond the limits.
void stamp(const NodePlan& plan, Assembly& assembly, Endpoints& endpoints, const YamlValue& cause);

}  // namespace lockstep::fabric
