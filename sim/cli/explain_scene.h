#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/data_files.h"
#include "sim/cli/flags.h"
#include "sim/cli/targets.h"
#include "sim/collective/algorithm.h"
#include "sim/collective/communicator.h"
#include "sim/collective/schedule.h"
#include "sim/fabric/fabric.h"

namespace lockstep::cli {

/// More ranks than anybody can follow; what a step is like does not change with more.
inline constexpr std::uint32_t most_ranks_explained = 64;

/// What is to be explained and where, as the command line says it.
struct SceneOptions {
    std::string name;  ///< of an algorithm, or a schedule's file
    InputOptions input;
    TuningOptions tuning;
    std::optional<std::string> operation;
    std::optional<std::string> root;
    std::string bytes = "1M";
    std::optional<std::string> matrix;
};

/// The fabric, the ranks on it, and the schedule that they carry out. Its parts point at each other: it stays where it
/// is.
struct Scene {
    fabric::Fabric fabric;
    std::vector<InputPath> paths;  ///< of the files that were read
    std::optional<collective::Communicator> communicator = {};
    collective::Request request = {};  ///< with the pieces that are shown
    collective::Schedule schedule = {};
    std::string summary = {};
    std::optional<collective::Cost> cost = {};  ///< of an algorithm
    /// The algorithm's schedule with the pieces that it would choose, where these are more than can be followed.
    std::optional<collective::Schedule> own_choice = {};
};

/// Sets the scene: on the topology that is named, or else on one that suits.
/// Throws: InputError where something is wrong with what was asked, the algorithm cannot serve there, or there would be
/// more ranks, chunks or messages than can be shown.
std::unique_ptr<Scene> scene_for(const DataFiles& data, const SceneOptions& options);

}  // namespace lockstep::cli
