#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/base/yaml.h"
#include "sim/fabric/catalogue.h"
#include "sim/fabric/fabric.h"

namespace lockstep::fabric {

/// A link as a topology file describes it.
struct LinkSpec {
    LinkModel model = {};  ///< of one cable
    std::uint32_t cables = 1;
    bool striped =
        false;  ///< several cables are one link that every flow fills, not parallel ones that a flow picks from
    Tier tier = Tier::scale_out;
    bool says_tier = false;     ///< whether the file says it; otherwise it follows from the place
    bool says_striped = false;  ///< as says_tier
};

/// Reads a link: the name of a catalogue entry, or a mapping with `model`, the fields of an entry, `cables`, `striped`
/// and `tier`. Cables of a link between machines are parallel by default, those of any other tier are striped. Throws:
/// InputError, also when neither a model nor both of `bandwidth` and `latency` are given.
LinkSpec read_link(const YamlValue& value, const Catalogue& catalogue, Tier tier);
/// The same from a mapping that has other keys as well (the caller finishes it); what it leaves out is taken from
/// `base`, if any.
LinkSpec read_link_fields(YamlMap& map, const Catalogue& catalogue, Tier tier, const std::optional<LinkSpec>& base);

/// Reads a device: the name of a catalogue entry, or a mapping with `model` and fields that override it.
SwitchModel read_switch(const YamlValue& value, const Catalogue& catalogue);
/// The same from a mapping that has other keys as well (the caller finishes it).
GpuModel read_gpu_fields(YamlMap& map, const Catalogue& catalogue);
SwitchModel read_switch_fields(YamlMap& map, const Catalogue& catalogue);
NicModel read_nic_fields(YamlMap& map, const Catalogue& catalogue);
HostModel read_host_fields(YamlMap& map, const Catalogue& catalogue);

/// The link as it stands between two vertices of one node: where the file leaves its tier open, that is `host` for what
/// leads to hosts and NICs and for PCIe, `scale_up` for what joins the GPUs.
LinkSpec placed_inside(LinkSpec link, VertexKind a, VertexKind b);

/// Whether a rate is above another, beyond the rounding of rates that are worked out from parameters.
bool faster(Bandwidth rate, Bandwidth limit);
/// Throws: InputError at `at` if a cable of `link` is faster than a port of the switch, or all of them than the NIC.
void require_port_rate(const LinkSpec& link, const SwitchModel& model, const YamlValue& at);
void require_nic_rate(const LinkSpec& link, const NicModel& nic, const YamlValue& at);

/// Reads a whole number that fits 32 bits.
std::uint32_t read_count(const YamlValue& value, std::uint32_t least, std::uint32_t most);
/// A list of counts that must have `length` entries, for what `what` names.
std::vector<std::uint32_t> read_counts(const YamlValue& value, std::size_t length, std::string_view what,
                                       std::uint32_t least, std::uint32_t most);

}  // namespace lockstep::fabric
