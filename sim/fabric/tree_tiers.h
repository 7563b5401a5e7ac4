#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/base/yaml.h"
#include "sim/fabric/assembly.h"
#include "sim/fabric/catalogue.h"
#include "sim/fabric/specs.h"

namespace lockstep::fabric {

/// The switches and links of a tree, tier by tier, and how many of them go together.
class TreeTiers {
  public:
    static constexpr std::uint32_t most_levels = 4;

    /// The switches of a tier.
    struct Tier {
        std::string_view name;  ///< of a switch, before its number
        SwitchModel model = {};
        LinkSpec below = {};                          ///< to an endpoint, or a switch of the tier below
        LinkSpec above = {};                          ///< to a switch of the tier above
        std::optional<double> oversubscription = {};  ///< bandwidth from below over bandwidth to above; none: 1

        std::uint32_t ports() const { return *model.ports; }
        /// The rate of a cable from below over that of one to above.
        double rates() const { return below.model.bandwidth / above.model.bandwidth; }
        /// Ports to the tier above where `down` endpoints or switches hang on it.
        std::uint32_t up(std::uint64_t down) const;
        /// The most endpoints or switches that hang on one with as many ports to the tier above as they need.
        std::uint32_t room() const;
    };

    /// Reads `switch`, `spine`, `core`, their links and oversubscriptions. The fourth tier is as the third.
    /// Throws: InputError.
    TreeTiers(YamlMap& map, const Endpoints& endpoints, const Catalogue& catalogue);

    const YamlValue& fabric() const { return fabric_; }  ///< where messages about the whole point
    const Tier& leaf() const { return tiers_.front(); }
    /// level: 0 for leaves.
    const Tier& at(std::uint32_t level) const { return tiers_[level]; }

    /// The most switches of the tier below that those of `level` and up connect, in a tree of `levels` levels.
    std::uint64_t most_below(std::uint32_t level, std::uint32_t levels) const;
    /// The most leaves that a tree of this many levels connects.
    std::uint64_t most_leaves(std::uint32_t levels) const { return levels == 1 ? 1 : most_below(1, levels); }
    /// The fewest levels that connect so many leaves, at most most_levels.
    std::uint32_t sufficient_levels(std::uint64_t leaves) const;
    /// The smallest radix at which a tree of `levels` levels holds that many endpoints, all its switches having it.
    std::uint64_t sufficient_ports(std::uint32_t levels, std::uint64_t endpoints) const;

  private:
    void read_models(YamlMap& map, const Catalogue& catalogue);
    void read_links(YamlMap& map, const Endpoints& endpoints, const Catalogue& catalogue);

    YamlValue fabric_;
    std::array<Tier, most_levels> tiers_ = {{{"leaf"}, {"spine"}, {"core"}, {"supercore"}}};
};

}  // namespace lockstep::fabric
