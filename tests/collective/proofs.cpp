#include "tests/collective/proofs.h"

#include <algorithm>

#include <catch2/catch.hpp>
#include <fmt/format.h>

namespace lockstep::collective {

namespace {

Bytes largest_row(const SizeMatrix& sizes) {
    Bytes most;
    for (std::uint32_t from = 0; from < sizes.ranks; ++from) {
        most = std::max(most, message_bytes(sizes, id_at<RankId>(from), 0, sizes.ranks));
    }
    return most;
}

}  // namespace

Bytes Draw::size(std::uint32_t ranks) {
    const std::int64_t n = ranks;
    return {of(
        std::vector<std::int64_t>{0, 1, 2, 31, n - 1, n, n + 1, 1009, 100'000, 1'000'003, 1LL << 30, 999'999'999'989})};
}

std::shared_ptr<const SizeMatrix> Draw::sizes(std::uint32_t ranks) {
    auto sizes = std::make_shared<SizeMatrix>(SizeMatrix{.ranks = ranks});
    for (std::uint32_t pair = 0; pair < ranks * ranks; ++pair) {
        sizes->bytes.push_back({one_in(3) ? 0 : std::int64_t{below(100'000)}});
    }
    return sizes;
}

Tuning Draw::tuning(std::uint32_t ranks) {
    Tuning tuning;
    if (one_in(2)) {
        tuning.pieces = 1 + below(5);
    }
    if (one_in(2)) {
        tuning.channels = 1 + below(4);
    }
    for (std::uint32_t rest = ranks; rest > 1 && tuning.dimensions.size() < 4;) {
        std::vector<std::uint32_t> divisors;
        for (std::uint32_t d = 2; d <= rest; ++d) {
            if (rest % d == 0) {
                divisors.push_back(d);
            }
        }
        tuning.dimensions.push_back(tuning.dimensions.size() == 3 ? rest : of(divisors));
        rest /= tuning.dimensions.back();
    }
    if (one_in(2)) {
        tuning.dimensions.clear();
    }
    return tuning;
}

Request Draw::request(Operation operation, std::uint32_t ranks, RankId root) {
    Request request = plain_request(operation, ranks, size(ranks), root);
    request.tuning = tuning(ranks);
    if (operation == Operation::all_to_all_v) {
        request.sizes = sizes(ranks);
        request.bytes = largest_row(*request.sizes);
    }
    return request;
}

std::vector<std::string> texts(const Proof& proof) {
    std::vector<std::string> all;
    for (const Finding& finding : proof.findings) {
        all.push_back(fmt::format("{}: {}", name_of(finding.fault), finding.text));
    }
    return all;
}

void check_proved(const Algorithm& algorithm, const Communicator& communicator, const Request& request,
                  const std::vector<Turns>& orders) {
    CAPTURE(algorithm.name, name_of(request.operation), communicator.size(), request.bytes.value, index(request.root),
            request.tuning.pieces.value_or(0), request.tuning.channels.value_or(0), request.tuning.dimensions);
    const Schedule schedule = algorithm.make(communicator, request);
    CHECK(schedule.algorithm == algorithm.name);
    CHECK(schedule.operation == request.operation);
    CHECK(schedule.ranks == communicator.size());
    const double promised = communicator.size() == 1 ? 0 : algorithm.messages(communicator, request);
    for (const Turns turns : orders) {
        const Proof proof = prove(schedule, request.bytes, turns);
        CHECK(texts(proof) == std::vector<std::string>{});
        CHECK(static_cast<double>(proof.messages) == promised);
    }
}

Request plain_request(Operation operation, std::uint32_t ranks, Bytes bytes, RankId root) {
    Request request{.operation = operation, .bytes = bytes, .root = root};
    if (operation == Operation::barrier) {
        request.bytes = {};
    } else if (operation == Operation::all_to_all_v) {
        auto sizes = std::make_shared<SizeMatrix>(SizeMatrix{.ranks = ranks});
        for (std::uint32_t pair = 0; pair < ranks * ranks; ++pair) {
            sizes->bytes.push_back({(bytes.value + pair) % 1000});
        }
        request.bytes = largest_row(*sizes);
        request.sizes = std::move(sizes);
    }
    return request;
}

fabric::Fabric reducing_switch(std::uint32_t gpus) {
    fabric::FabricBuilder builder("reducing switch");
    const auto hub = builder.add({.name = "switch", .kind = fabric::VertexKind::switch_, .reduces = true});
    for (std::uint32_t g = 0; g < gpus; ++g) {
        const auto gpu = builder.add({.name = fmt::format("gpu{}", g), .relays = false});
        builder.connect(gpu, hub, {.bandwidth = {50e9}, .line_rate = {50e9}, .latency = {1e-8}});
    }
    return builder.build();
}

}  // namespace lockstep::collective
