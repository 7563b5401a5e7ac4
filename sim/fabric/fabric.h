#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/units.h"

namespace lockstep::fabric {

enum class VertexKind : std::uint8_t { gpu, nic, switch_, host };
enum class LinkKind : std::uint8_t {
    nvlink,
    infinity_fabric,
    c2c,
    pcie,
    infiniband,
    ethernet,
    ici,
    slingshot,
    generic
};
/// Where a link stands: between the GPUs of an island, inside the machine (PCIe and such), or in the fabric between
/// machines.
enum class Tier : std::uint8_t { scale_up, host, scale_out };
enum class RoutingPolicy : std::uint8_t { static_, ecmp, spray, adaptive };

std::string_view name_of(VertexKind kind);
std::string_view name_of(LinkKind kind);
std::string_view name_of(Tier tier);
std::string_view name_of(RoutingPolicy policy);

/// What the catalogue knows of a GPU that a simulation needs. Rates are dense (no sparsity).
struct GpuModel {
    std::string name = {};
    std::optional<FlopRate> fp16_peak = {};  ///< fp16 or bf16, whichever the device has
    std::optional<FlopRate> fp8_peak = {};
    std::optional<FlopRate> fp32_peak = {};
    std::optional<Bytes> memory = {};
    std::optional<Bandwidth> memory_bandwidth = {};
};

struct Vertex {
    std::string name = {};  ///< unique; `node3.gpu5`, `leaf2`
    VertexKind kind = VertexKind::gpu;
    std::optional<NodeId> node = {};  ///< the machine it sits in; none for the fabric's switches
    std::string device = {};          ///< its name in the catalogue, may be empty
    bool relays = true;               ///< forwards the traffic of others; a GPU only where the file allows it
    bool reduces = false;             ///< a switch that can reduce and multicast in the network (NVLink SHARP and such)
};

/// What one direction of a link is. Parallel cables that the hardware stripes as one (the NVLinks between two chips)
/// are one link with `cables` > 1; cables that a flow must choose among are parallel edges.
struct Link {
    Bandwidth bandwidth = {};  ///< what a flow can use, all cables together: line_rate * efficiency * cables
    Bandwidth line_rate = {};  ///< of one cable
    double efficiency = 1.0;
    Seconds latency = {};
    LinkKind kind = LinkKind::generic;
    Tier tier = Tier::scale_out;
    std::uint32_t cables = 1;
};

/// The oversubscription that a file asked of some switches, and what they have: cables are whole.
struct AskedOversubscription {
    VertexId at{};  ///< the first of the switches
    double asked = 1.0;
    double built = 1.0;      ///< line rate from below over line rate to above
    std::uint32_t down = 0;  ///< cables from below, on the fullest of them
    std::uint32_t up = 0;    ///< cables to above
};

struct Graph;  ///< the Boost.Graph type: sim/fabric/graph.h

/// The cluster as a directed multigraph: immutable once built. Ids are dense; GPUs are listed in natural order of the
/// file.
class Fabric {
  public:
    ~Fabric();
    Fabric(Fabric&&) noexcept;
    Fabric& operator=(Fabric&&) noexcept;

    const std::string& name() const;
    std::size_t vertex_count() const;
    std::size_t link_count() const;  ///< directions: twice the number of full-duplex links
    std::size_t node_count() const;

    const Vertex& vertex(VertexId id) const;
    const Link& link(LinkId id) const;
    VertexId from(LinkId id) const;
    VertexId to(LinkId id) const;
    /// The other direction of the same cable.
    LinkId reverse(LinkId id) const;
    std::span<const LinkId> links_out_of(VertexId id) const;

    /// All GPUs, node by node, in the order of the file.
    std::span<const VertexId> gpus() const;
    /// The GPUs of one node, in the order of the file.
    std::span<const VertexId> gpus_of(NodeId node) const;
    /// Every vertex of one node (GPUs, NICs, hosts, switches inside the machine).
    std::span<const VertexId> vertices_of(NodeId node) const;
    const GpuModel& gpu_model(VertexId gpu) const;
    std::optional<VertexId> find(std::string_view name) const;

    RoutingPolicy routing() const;
    /// One for each kind of switch of which the file asked it.
    std::span<const AskedOversubscription> asked_oversubscription() const;
    const Graph& graph() const;

  private:
    friend class FabricBuilder;
    struct Data;
    explicit Fabric(std::unique_ptr<Data> data);
    std::unique_ptr<Data> data_;
};

/// Collects vertices and full-duplex links, then makes the immutable Fabric.
class FabricBuilder {
  public:
    explicit FabricBuilder(std::string name);
    ~FabricBuilder();

    NodeId add_node();
    VertexId add(Vertex vertex);
    std::size_t vertex_count() const;
    /// Requires: the vertex was added. The reference holds until the next add.
    const Vertex& vertex(VertexId id) const;
    /// Sets what a GPU is. Requires: the vertex is a GPU.
    void set_gpu_model(VertexId gpu, GpuModel model);
    /// Adds both directions. Requires: a != b.
    void connect(VertexId a, VertexId b, const Link& link);
    void set_routing(RoutingPolicy policy);
    void note_oversubscription(const AskedOversubscription& asked);
    /// Throws: std::invalid_argument for two vertices of one name. Leaves the builder empty.
    Fabric build();

  private:
    std::unique_ptr<Fabric::Data> data_;
};

}  // namespace lockstep::fabric
