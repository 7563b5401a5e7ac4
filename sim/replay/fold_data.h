#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/replay/connection_table.h"
#include "sim/replay/fold.h"

namespace lockstep::replay {

/// A class of connections between units, by the one that the representatives have.
struct External {
    std::uint32_t sending = Units::none;    ///< the connection that the representative sender has
    std::uint32_t receiving = Units::none;  ///< the one that the representative receiver has
    std::uint32_t stands_for = 0;
    fabric::Route route = {};
};

/// What a fold knows.
struct FoldData {
    const fabric::Fabric* fabric = nullptr;
    const Units* units = nullptr;
    fabric::Router* router = nullptr;
    const FoldInput* input = nullptr;
    std::size_t threads = 1;

    FoldUse use = {};
    bool folds = false;
    ConnectionTable table = {};  ///< connections between units
    std::vector<std::uint32_t> class_of_unit = {};
    std::vector<std::uint32_t> representative = {};  ///< by class: the first unit of it
    std::vector<std::uint32_t> members = {};         ///< by class: how many units
    std::vector<std::uint32_t> first_actor = {};     ///< by class
    std::vector<RankId> actors = {};                 ///< by ActorId: the rank
    std::vector<LinkId> stand_in = {};               ///< by LinkId of a used link between units: the one counted for it
    std::vector<External> externals = {};
    std::unordered_map<std::uint32_t, std::uint32_t> external_of = {};  ///< connection of a representative -> external

    RankId job_rank(const FoldScript& script, RankId place) const {
        return input->groups[script.group].members[index(place)];
    }
    bool is_representative(std::uint32_t unit) const { return representative[class_of_unit[unit]] == unit; }
};

/// Finds the classes, who stands for whom, and what for.
void find_classes(FoldData& data);

}  // namespace lockstep::replay
