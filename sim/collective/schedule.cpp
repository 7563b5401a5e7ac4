#include "sim/collective/schedule.h"

#include <array>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/base/diagnostics.h"

namespace lockstep::collective {

namespace {

constexpr std::array all_operations{Operation::all_reduce,   Operation::reduce_scatter, Operation::all_gather,
                                    Operation::broadcast,    Operation::reduce,         Operation::all_to_all,
                                    Operation::all_to_all_v, Operation::gather,         Operation::scatter,
                                    Operation::send_recv,    Operation::permutation,    Operation::barrier};

}  // namespace

std::string_view name_of(Operation operation) {
    switch (operation) {
        case Operation::all_reduce:
            return "all_reduce";
        case Operation::reduce_scatter:
            return "reduce_scatter";
        case Operation::all_gather:
            return "all_gather";
        case Operation::broadcast:
            return "broadcast";
        case Operation::reduce:
            return "reduce";
        case Operation::all_to_all:
            return "all_to_all";
        case Operation::all_to_all_v:
            return "all_to_all_v";
        case Operation::gather:
            return "gather";
        case Operation::scatter:
            return "scatter";
        case Operation::send_recv:
            return "send_recv";
        case Operation::permutation:
            return "permutation";
        case Operation::barrier:
            return "barrier";
    }
    throw std::invalid_argument("name_of: no such operation");
}

std::span<const Operation> operations() { return all_operations; }

bool has_root(Operation operation) {
    return operation == Operation::broadcast || operation == Operation::reduce || operation == Operation::gather ||
           operation == Operation::scatter;
}

bool moves_vectors(Operation operation) {
    return operation == Operation::all_to_all || operation == Operation::all_to_all_v ||
           operation == Operation::send_recv || operation == Operation::permutation;
}

Operation operation_named(std::string_view name) {
    std::vector<std::string> known;
    for (const Operation operation : all_operations) {
        if (name == name_of(operation)) {
            return operation;
        }
        known.emplace_back(name_of(operation));
    }
    throw InputError(fmt::format("unknown operation {}{}", excerpt(name), suggestion(name, known)));
}

std::uint32_t ChunkIndex::at(std::uint32_t iteration) const {
    const std::int64_t moved = first + static_cast<std::int64_t>(stride) * iteration;
    const auto remainder = moved % static_cast<std::int64_t>(modulus);
    const auto place = static_cast<std::uint32_t>(remainder < 0 ? remainder + modulus : remainder);
    return offset + scale * (order ? (*order)[place] : place);
}

Bytes chunk_bytes(Bytes total, std::uint32_t chunks, std::uint32_t first, std::uint32_t count) {
    // floor(c * total / chunks) without leaving 64 bits: total = whole * chunks + rest, so c * rest < 2^64.
    const auto whole = static_cast<std::uint64_t>(total.value) / chunks;
    const auto rest = static_cast<std::uint64_t>(total.value) % chunks;
    const auto begin_of = [&](std::uint64_t chunk) { return chunk * whole + chunk * rest / chunks; };
    return {static_cast<std::int64_t>(begin_of(std::uint64_t{first} + count) - begin_of(first))};
}

Bytes message_bytes(const SizeMatrix& sizes, RankId sender, std::uint32_t first, std::uint32_t count) {
    Bytes sum;
    for (std::uint32_t chunk = first; chunk < first + count; ++chunk) {
        sum += sizes.at(sender, id_at<RankId>(chunk));
    }
    return sum;
}

double busbw_factor(Operation operation, std::size_t ranks) {
    const auto n = static_cast<double>(ranks);
    switch (operation) {
        case Operation::all_reduce:
            return 2 * (n - 1) / n;
        case Operation::reduce_scatter:
        case Operation::all_gather:
        case Operation::all_to_all:
        case Operation::all_to_all_v:
        case Operation::gather:
        case Operation::scatter:
            return (n - 1) / n;
        case Operation::broadcast:
        case Operation::reduce:
        case Operation::send_recv:
        case Operation::permutation:
            return 1;
        case Operation::barrier:
            return 0;
    }
    throw std::invalid_argument("busbw_factor: no such operation");
}

}  // namespace lockstep::collective
