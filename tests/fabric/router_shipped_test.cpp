#include <algorithm>
#include <map>

#include "route_fixtures.h"
#include <catch2/catch.hpp>

#include "sim/base/data_files.h"
#include "sim/base/yaml.h"
#include "sim/fabric/load_fabric.h"

using namespace lockstep;
using namespace lockstep::fabric;

namespace {

constexpr RoutingPolicy policies[] = {RoutingPolicy::static_, RoutingPolicy::ecmp, RoutingPolicy::spray,
                                      RoutingPolicy::adaptive};

Fabric shipped(const std::string& name, const std::map<std::string, std::string>& settings) {
    const DataFiles data(LOCKSTEP_SOURCE_DIR);
    YamlFile file = YamlFile::load(data.resolve("topologies", name));
    for (const auto& [key, text] : settings) {
        if (file.parameters().declares(key)) {
            file.parameters().set(key, text);
        }
    }
    return load_fabric(file, data);
}

// The largest number of flows on a link of the fabric when GPU i sends to GPU i + shift.
double busiest_of_shift(const Fabric& fabric, Router& router, std::size_t shift) {
    const auto gpus = fabric.gpus();
    std::vector<double> flows(fabric.link_count(), 0.0);
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        for (const RouteShare& part : router.route(gpus[i], gpus[(i + shift) % gpus.size()], 0, {}).links) {
            flows[index(part.link)] += fabric.link(part.link).tier == Tier::scale_out ? part.share : 0.0;
        }
    }
    return *std::max_element(flows.begin(), flows.end());
}

}  // namespace

TEST_CASE("router: every shipped topology routes between all its GPUs, by every policy", "[router]") {
    const DataFiles data(LOCKSTEP_SOURCE_DIR);
    for (const std::string& name : data.names("topologies")) {
        const Fabric fabric = shipped(name, {{"nodes", "3"}, {"racks", "2"}, {"relay", "true"}, {"levels", "3"}});
        const auto gpus = fabric.gpus();
        REQUIRE(gpus.size() > 1);
        for (const RoutingPolicy policy : policies) {
            Router router(fabric, policy, 5);
            std::vector<std::uint32_t> loads(fabric.link_count(), 0);
            std::mt19937_64 random(11);
            double worst = 0.0;
            for (int sample = 0; sample < 200; ++sample) {
                const std::size_t from = draw(random, gpus.size());
                const std::size_t to = (from + 1 + draw(random, gpus.size() - 1)) % gpus.size();
                const Route& route = router.route(gpus[from], gpus[to], 0, loads);
                worst = std::max(worst, imbalance(fabric, route, gpus[from], gpus[to]));
                for (const RouteShare& part : route.links) {
                    ++loads[index(part.link)];
                }
            }
            CAPTURE(name, name_of(policy));
            CHECK(worst < 1e-9);
        }
    }
}

TEST_CASE("router: shifts over the shipped fat trees never meet", "[router]") {
    // Full trees of radix 8: 8^2 / 2 GPUs on two levels, 8^3 / 4 on three.
    const auto [gpus, levels] = GENERATE(table<std::string, std::string>({{"32", "2"}, {"128", "3"}, {"48", "3"}}));
    const Fabric fabric = shipped("fat-tree", {{"gpus", gpus}, {"radix", "8"}, {"levels", levels}});
    Router router(fabric, RoutingPolicy::static_, 1);
    double worst = 0.0;
    for (std::size_t shift = 1; shift < fabric.gpus().size(); ++shift) {
        worst = std::max(worst, busiest_of_shift(fabric, router, shift));
    }
    CAPTURE(gpus, levels);
    CHECK(worst == 1.0);
}

TEST_CASE("router: node shifts over shipped rail-optimised fabrics never meet", "[router]") {
    // With p ports, units of p / 2 nodes and 8 leaves. Two levels join p leaves, three p^2 / 2.
    const auto [nodes, ports] =
        GENERATE(table<std::string, std::string>({{"4", "8"}, {"8", "8"}, {"16", "8"}, {"16", "16"}, {"64", "16"}}));
    const Fabric fabric = shipped("dgx-h100", {{"nodes", nodes}, {"ports", ports}});
    Router router(fabric, RoutingPolicy::static_, 1);
    double worst = 0.0;
    for (std::size_t shift = 8; shift < fabric.gpus().size(); shift += 8) {
        worst = std::max(worst, busiest_of_shift(fabric, router, shift));
    }
    CAPTURE(nodes, ports);
    CHECK(worst == 1.0);
}

TEST_CASE("router: two GPUs of an NVL72 tray share its adapters one each", "[router]") {
    const Fabric fabric = shipped("gb200-nvl72", {{"racks", "2"}});
    Router router(fabric, RoutingPolicy::static_, 1);
    std::vector<double> flows(fabric.link_count(), 0.0);
    for (std::size_t g = 0; g < 72; ++g) {
        for (const RouteShare& part : router.route(fabric.gpus()[g], fabric.gpus()[72 + g], 0, {}).links) {
            flows[index(part.link)] += part.share;
        }
    }
    CHECK(*std::max_element(flows.begin(), flows.end()) == 1.0);
    // Inside the rack, 18 planes of two links each carry 1/18.
    const Route& inside = router.route(fabric.gpus()[0], fabric.gpus()[71], 0, {});
    CHECK(inside.links.size() == 36);
    CHECK(inside.links.front().share == Approx(1.0 / 18));
}
