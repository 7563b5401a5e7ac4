#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/yaml.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/specs.h"

namespace lockstep::fabric {

/// What a file may ask for at most, so that a slip of the pen is a message and not the end of the machine's memory. At
/// the limit the fabric takes about 4 GB.
struct Limits {
    static constexpr std::uint32_t gpus = 2'000'000;
    static constexpr std::uint32_t vertices = 10'000'000;
    static constexpr std::uint32_t cables = 20'000'000;
};

/// What a device means for the links that end at it.
struct Sockets {
    Seconds crossing = {};                     ///< the time to pass the device
    std::optional<std::uint32_t> ports = {};   ///< cables that it takes; none: any number
    std::optional<Bandwidth> port_rate = {};   ///< line rate of a cable at most
    std::optional<Bandwidth> total_rate = {};  ///< of all cables to the network together (of a NIC)

    bool operator==(const Sockets&) const = default;
};

Sockets sockets_of(const SwitchModel& model);
Sockets sockets_of(const NicModel& nic);
Sockets sockets_of(const HostModel& host);

/// A FabricBuilder that knows what a file's devices cost: crossing a device takes time, half of it charged to the link
/// that enters and half to the one that leaves, so that every path has the whole. Also keeps the limits, those of a
/// fabric and those of its devices.
class Assembly {
  public:
    explicit Assembly(std::string name) : builder_(std::move(name)) {}

    FabricBuilder& builder() { return builder_; }
    const FabricBuilder& builder() const { return builder_; }

    /// Throws: InputError at `cause` if that many GPUs, devices of any kind, or links more would go beyond the limits.
    void require_room_for_gpus(std::uint64_t more, const YamlValue& cause) const;
    void require_room_for_devices(std::uint64_t more, const YamlValue& cause) const;
    void require_room_for_links(std::uint64_t more, const YamlValue& cause) const;
    /// Adds a vertex. Throws: InputError at `cause` beyond the limits.
    VertexId add(Vertex vertex, const Sockets& sockets, const YamlValue& cause);
    /// Adds `cables` cables between two vertices: one striped link, or parallel ones. Requires: a != b, cables >= 1.
    /// Throws: InputError at `cause` beyond the limits, and if the cables are faster than what they are plugged into.
    void connect(VertexId a, VertexId b, const LinkSpec& spec, std::uint32_t cables, const YamlValue& cause);

    /// Throws: InputError at the first link for which a device had no port left, with the number that its links need.
    void require_ports() const;

  private:
    const Sockets& sockets(VertexId id) const { return kinds_[kind_of_[index(id)]]; }
    /// Notes that `cables` of `spec` end at `end`, the other end being `other`.
    void plug_in(VertexId end, VertexId other, const LinkSpec& spec, std::uint32_t cables, const YamlValue& cause);

    struct Overflow {
        VertexId vertex;
        YamlValue cause;  // the first link for which there was no port
    };

    FabricBuilder builder_;
    std::vector<Sockets> kinds_;          // the different ones; equal ones mostly share an entry
    std::vector<std::uint32_t> kind_of_;  // by VertexId, as the following
    std::vector<std::uint32_t> cables_;
    std::vector<Bandwidth> to_network_;  // only counted for devices with a total rate
    std::optional<Overflow> overflow_;
    std::uint64_t gpus_ = 0;
    std::uint64_t links_ = 0;
};

/// The points where nodes meet the fabric: a node's NICs, or its GPUs where it has none.
struct Endpoints {
    std::vector<VertexId> all;              ///< node by node
    std::vector<std::uint32_t> node_start;  ///< node n has all[node_start[n]] up to all[node_start[n + 1]]
    std::vector<NicModel> nics;             ///< the different models among them
    bool gpus_relay = true;                 ///< whether all that are GPUs forward the traffic of others

    std::size_t nodes() const { return node_start.size() - 1; }
};

}  // namespace lockstep::fabric
