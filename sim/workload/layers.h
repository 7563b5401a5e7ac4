#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/base/data_files.h"
#include "sim/base/units.h"
#include "sim/base/yaml.h"

namespace lockstep::workload {

/// Compute of a layer in one direction: a time, or operations that a GPU's rate turns into one.
using Work = std::variant<Seconds, Flops>;

/// A layer of a model as data-parallel training sees it.
struct Layer {
    std::string name;
    Work forward;
    Work backward;
    std::vector<Bytes> gradients;            ///< one per parameter tensor that is not empty, in forward order
    std::optional<std::int64_t> parameters;  ///< absent where the file gives only the bytes of the gradient
};

/// What the FLOPs of a table are counted for.
enum class FlopsPer : std::uint8_t { sample, token };

/// The layers of a model in forward order, repetitions written out.
struct LayerTable {
    std::vector<Layer> layers;
    FlopsPer flops_per = FlopsPer::sample;

    /// Whether compute is given as FLOPs; all layers of a table have it one way.
    bool in_flops() const;
};

/// The most layers a table may have, repetitions written out, and the most parameter tensors.
inline constexpr std::int64_t most_layers = 100'000;
inline constexpr std::int64_t most_tensors = 1'000'000;

/// Reads the keys `layers` and `flops_per` of `map` (docs/workload-yaml.md).
/// gradient_element: the bytes of one gradient value; absent where the file does not say, which is an error once a
/// layer gives its `parameters`. Throws: InputError with position.
LayerTable read_layers(YamlMap& map, std::optional<Bytes> gradient_element);

/// Reads the table of `models/networks/` (or of the path) that `name` names.
/// sequence: the workload's length of sequences, handed to the table's parameter of that name; null where the workload
/// has none. Throws: InputError with position: for an unknown name with the nearest known one, for a sequence that is
/// missing or out of the network's range.
LayerTable load_network(const YamlValue& name, const DataFiles& data, const YamlValue* sequence,
                        std::optional<Bytes> gradient_element);

}  // namespace lockstep::workload
