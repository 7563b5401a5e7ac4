#include "sim/report/groups.h"

#include "hand_made.h"
#include <catch2/catch.hpp>

namespace lockstep::report {

using namespace lockstep::literals;

TEST_CASE("hottest_links: symmetric links are one line, with a star for what differs", "[report]") {
    const auto fabric = hand_made::star(4);
    std::vector<replay::LinkUse> links;
    for (std::size_t gpu = 0; gpu < 4; ++gpu) {
        links.push_back({hand_made::up(fabric, gpu), 100e6, gpu == 2 ? 0.9 : 0.5});
    }
    const auto groups = hottest_links(fabric, links, 10);
    REQUIRE(groups.size() == 2);
    CHECK(groups[0].from == "gpu2");
    CHECK(groups[0].to == "switch0");
    CHECK(groups[0].links == 1);
    CHECK(groups[1].from == "gpu*");
    CHECK(groups[1].links == 3);
    CHECK(groups[1].bytes == Approx(100e6));
    CHECK(groups[1].utilization == Approx(0.5));
}

TEST_CASE("hottest_links: no more groups than asked for, the hottest of them", "[report]") {
    const auto fabric = hand_made::star(8);
    std::vector<replay::LinkUse> links;
    for (std::size_t gpu = 0; gpu < 8; ++gpu) {
        links.push_back({hand_made::up(fabric, gpu), 1e6, 0.1 * static_cast<double>(gpu)});
    }
    const auto groups = hottest_links(fabric, links, 3);
    REQUIRE(groups.size() == 3);
    CHECK(groups[0].from == "gpu7");
    CHECK(groups[2].from == "gpu5");
}

TEST_CASE("hottest_links: the directions of a cable are not put together", "[report]") {
    const auto fabric = hand_made::star(2);
    const LinkId up = hand_made::up(fabric, 0);
    const auto groups =
        hottest_links(fabric, std::vector<replay::LinkUse>{{up, 1e6, 0.5}, {fabric.reverse(up), 1e6, 0.5}}, 10);
    CHECK(groups.size() == 2);
}

TEST_CASE("collective_lines: sizes of a family are put together only where there are too many", "[report]") {
    std::vector<replay::CollectiveUse> uses;
    for (int bucket = 0; bucket < 3; ++bucket) {
        replay::CollectiveUse use;
        use.name = "gradients";
        use.algorithm = "ring";
        use.group_size = 4;
        use.bytes = 10_MB * (bucket + 1);
        use.count = bucket == 0 ? 2 : 1;
        use.time = 0.001_s * (bucket + 1);
        use.exposed = 0.001_s;
        uses.push_back(use);
    }
    CHECK(collective_lines(uses, 3).size() == 3);
    const auto lines = collective_lines(uses, 2);
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].least == 10_MB);
    CHECK(lines[0].most == 30_MB);
    CHECK(lines[0].count == 4);
    // Means over the calls: (10 + 10 + 20 + 30) / 4 MB and (1 + 1 + 2 + 3) / 4 ms; exposed time adds up.
    CHECK(lines[0].bytes == Approx(17.5e6));
    CHECK(lines[0].time.value == Approx(1.75e-3));
    CHECK(lines[0].exposed.value == Approx(3e-3));
}

}  // namespace lockstep::report
