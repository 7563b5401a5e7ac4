#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace lockstep {

/// Ids are enum classes over uint32_t, so that a rank cannot be used where a link is due. They count from 0 and index
/// flat arrays through index(id).
enum class VertexId : std::uint32_t {};  ///< a vertex of the fabric
enum class LinkId : std::uint32_t {};    ///< one direction of a link of the fabric
enum class NodeId : std::uint32_t {};    ///< a node: the machine that GPUs, NICs and hosts sit in
enum class RankId : std::uint32_t {};    ///< a GPU's place in a communicator

template <class Id>
concept IsId = std::is_enum_v<Id> && std::is_same_v<std::underlying_type_t<Id>, std::uint32_t>;

template <IsId Id>
constexpr std::size_t index(Id id) {
    return static_cast<std::size_t>(id);
}

/// The id that stands at `position` of an array. Requires: position < 2^32.
template <IsId Id>
constexpr Id id_at(std::size_t position) {
    return static_cast<Id>(position);
}

}  // namespace lockstep
