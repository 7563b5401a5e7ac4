#include "sim/fabric/tree_tiers.h"

#include <algorithm>
#include <cmath>

namespace lockstep::fabric {

namespace {

void require_ports(const SwitchModel& model, const YamlValue& at) {
    if (!model.ports) {
        at.fail("a tree needs to know the number of `ports` of its switches");
    }
}

LinkSpec read_uplink(YamlMap& map, std::string_view key, const LinkSpec& fallback, const Catalogue& catalogue) {
    const auto value = map.find(key);
    LinkSpec link = fallback;
    if (value) {
        link = read_link(*value, catalogue, fabric::Tier::scale_out);
        if (link.cables != 1) {
            value->fail("the number of cables between switches follows from `oversubscription`; leave `cables` out");
        }
    }
    link.cables = 1;
    link.striped = false;
    return link;
}

}  // namespace

std::uint32_t TreeTiers::Tier::up(std::uint64_t down) const {
    // 21 * 1.0 / 3 must not become 8 by rounding.
    const double needed = static_cast<double>(down * below.cables) * rates() / oversubscription.value_or(1);
    return std::max(1U, static_cast<std::uint32_t>(std::ceil(needed * (1 - 1e-12))));
}

std::uint32_t TreeTiers::Tier::room() const {
    std::uint32_t down = ports() / below.cables;
    while (down > 0 && std::uint64_t{down} * below.cables + up(down) > ports()) {
        --down;
    }
    return down;
}

TreeTiers::TreeTiers(YamlMap& map, const Endpoints& endpoints, const Catalogue& catalogue) : fabric_(map.self()) {
    read_models(map, catalogue);
    read_links(map, endpoints, catalogue);
    if (const auto value = map.find("oversubscription")) {
        tiers_[0].oversubscription = value->number(0.01, 1000);
    }
    if (const auto value = map.find("core_oversubscription")) {
        tiers_[1].oversubscription = value->number(0.01, 1000);
    }
}

void TreeTiers::read_models(YamlMap& map, const Catalogue& catalogue) {
    const YamlValue switch_value = map.require("switch");
    const YamlValue spine_value = map.find("spine").value_or(switch_value);
    const YamlValue core_value = map.find("core").value_or(spine_value);
    const std::array values{switch_value, spine_value, core_value, core_value};
    for (std::size_t level = 0; level < most_levels; ++level) {
        tiers_[level].model = read_switch(values[level], catalogue);
        require_ports(tiers_[level].model, values[level]);
    }
}

void TreeTiers::read_links(YamlMap& map, const Endpoints& endpoints, const Catalogue& catalogue) {
    const YamlValue link_value = map.require("link");
    const YamlValue uplink_value = map.find("uplink").value_or(link_value);
    const YamlValue core_link_value = map.find("core_link").value_or(uplink_value);
    const LinkSpec link = read_link(link_value, catalogue, fabric::Tier::scale_out);
    const LinkSpec uplink = read_uplink(map, "uplink", link, catalogue);
    const LinkSpec core_link = read_uplink(map, "core_link", uplink, catalogue);
    const std::array links{link, uplink, core_link, core_link, core_link};
    const std::array values{link_value, uplink_value, core_link_value, core_link_value, core_link_value};
    for (std::size_t level = 0; level < most_levels; ++level) {
        tiers_[level].below = links[level];
        tiers_[level].above = links[level + 1];
        require_port_rate(links[level], tiers_[level].model, values[level]);
        require_port_rate(links[level + 1], tiers_[level].model, values[level + 1]);
    }
    for (const NicModel& nic : endpoints.nics) {
        require_nic_rate(link, nic, link_value);
    }
}

std::uint64_t TreeTiers::most_below(std::uint32_t level, std::uint32_t levels) const {
    return level + 1 == levels ? at(level).ports() : at(level).room() * most_below(level + 1, levels);
}

std::uint32_t TreeTiers::sufficient_levels(std::uint64_t leaves) const {
    std::uint32_t levels = 1;
    while (levels < most_levels && leaves > most_leaves(levels)) {
        ++levels;
    }
    return levels;
}

std::uint64_t TreeTiers::sufficient_ports(std::uint32_t levels, std::uint64_t endpoints) const {
    constexpr std::uint32_t most = 1'000'000;
    TreeTiers tree = *this;
    for (std::uint32_t ports = 4; ports < most; ++ports) {
        for (Tier& tier : tree.tiers_) {
            tier.model.ports = ports;
        }
        if (tree.leaf().room() * tree.most_leaves(levels) >= endpoints) {
            return ports;
        }
    }
    return most;
}

}  // namespace lockstep::fabric
