#include "tests/fabric/load_text.h"
#include <catch2/catch.hpp>

using namespace lockstep;
using namespace lockstep::fabric;

TEST_CASE("fabric: an unknown kind is named", "[fabric][error]") {
    CHECK(load_error(R"(node: {count: 65, gpus: {count: 1}}
fabric: {kind: fattree}
)") == "t.yaml:2:16: fabric.kind: expected one of single-switch, leaf-spine, rail-optimized, fat-tree, torus, "
       "dragonfly, got `fattree` — did you mean `fat-tree`?");
}

TEST_CASE("fabric: links faster than a port or a NIC are refused", "[fabric][error]") {
    CHECK(load_error(R"(node:
  count: 2
  gpus: {count: 1}
  nics: {count: 1, model: ConnectX-6, on: gpu, link: PCIe5-x16}
fabric: {kind: single-switch, switch: QM9700, link: NDR}
)") == "t.yaml:5:53: fabric.link: a link of 50 GB/s is faster than ConnectX-6 (25 GB/s)");
    CHECK(load_error(R"(node: {count: 2, gpus: {count: 1}}
fabric: {kind: single-switch, switch: QM8700, link: NDR}
)") == "t.yaml:2:53: fabric.link: a cable of 50 GB/s is faster than a port of QM8700 (25 GB/s)");
}

TEST_CASE("single-switch: all endpoints must have a port", "[fabric][error]") {
    CHECK(load_error(R"(node: {count: 65, gpus: {count: 1}}
fabric: {kind: single-switch, switch: QM9700, link: NDR}
)") == "t.yaml:2:39: fabric.switch: 65 endpoints need 65 ports, but QM9700 has 64");
    CHECK(load_error(R"(node:
  count: 10000
  gpus: {count: 1}
fabric: {kind: single-switch, switch: {}, link: {model: NDR, cables: 4000}}
)") == "t.yaml:4:49: fabric.link: more than 20000000 links in one fabric");
}

TEST_CASE("tree: says which radix or level would do", "[fabric][error]") {
    CHECK(load_error(R"(node: {count: 65, gpus: {count: 1}}
fabric: {kind: fat-tree, switch: {latency: 1 us}, link: NDR}
)") == "t.yaml:2:34: fabric.switch: a tree needs to know the number of `ports` of its switches");
    CHECK(load_error(R"(node: {count: 33, gpus: {count: 1}}
fabric: {kind: fat-tree, levels: 2, switch: {ports: 8}, link: NDR}
)") == "t.yaml:2:9: fabric: 33 endpoints make 9 leaves, but 2 levels of 8-port switches connect at most 8; switches "
       "with 9 ports or 3 levels would do");
    CHECK(load_error(R"(node: {count: 129, gpus: {count: 1}}
fabric: {kind: fat-tree, levels: 3, switch: {ports: 8}, link: NDR}
)") == "t.yaml:2:9: fabric: 129 endpoints make 33 leaves, but 3 levels of 8-port switches connect at most 32; switches "
       "with 9 ports or 4 levels would do");
    CHECK(load_error(R"(node: {count: 513, gpus: {count: 1}}
fabric: {kind: fat-tree, switch: {ports: 8}, link: NDR}
)") == "t.yaml:2:9: fabric: 513 endpoints make 129 leaves, but 4 levels of 8-port switches connect at most 128; "
       "switches with 9 ports would do");
    CHECK(load_error(R"(node: {count: 16, gpus: {count: 1}}
fabric: {kind: leaf-spine, switch: {ports: 3}, link: {model: NDR, cables: 2}}
)") == "t.yaml:2:9: fabric: a leaf of 3 ports has no room for an endpoint and its uplinks");
}

TEST_CASE("tree: numbers that contradict are refused", "[fabric][error]") {
    CHECK(load_error(R"(node: {count: 8, gpus: {count: 1}}
fabric: {kind: fat-tree, switch: {ports: 8}, link: NDR, uplink: {model: NDR, cables: 2}}
)") == "t.yaml:2:65: fabric.uplink: the number of cables between switches follows from `oversubscription`; leave "
       "`cables` out");
    CHECK(load_error(R"(node: {count: 8, gpus: {count: 1}}
fabric: {kind: leaf-spine, down: 5, switch: {ports: 8}, link: NDR}
)") == "t.yaml:2:34: fabric.down: a leaf needs 10 ports for 5 endpoints and 5 uplinks, but the switch has 8");
    CHECK(load_error(R"(node: {count: 16, gpus: {count: 1}}
fabric: {kind: leaf-spine, spines: 3, switch: {ports: 8}, link: NDR}
)") == "t.yaml:2:9: fabric: 3 spines of 8 ports do not share the 4 uplinks of each of 4 leaves evenly; 2 would");
    CHECK(load_error(R"(node: {count: 16, gpus: {count: 1}}
fabric: {kind: leaf-spine, levels: 2, switch: {ports: 8}, link: NDR}
)") == "t.yaml:2:28: unknown key `levels`; known: kind, switch, spine, core, link, uplink, core_link, "
       "oversubscription, core_oversubscription, spines, down");
    CHECK(load_error(R"(node: {count: 4, gpus: {count: 2}}
fabric: {kind: rail-optimized, rails: 3, switch: {ports: 4}, link: NDR}
)") == "t.yaml:2:39: fabric.rails: expected a whole number from 1 to 2, got `3`");
}

TEST_CASE("torus: its points are the GPUs, which relay", "[fabric][error]") {
    CHECK(load_error(R"(node: {count: 16, gpus: {count: 1, relay: true}}
fabric: {kind: torus, dimensions: [4, 5], wraparound: true, link: ICI-v4}
)") == "t.yaml:2:35: fabric.dimensions: 4 x 5 is 20 points, but there are 16 GPUs");
    CHECK(load_error(R"(node: {count: 16, gpus: {count: 1}}
fabric: {kind: torus, dimensions: [4, 4], wraparound: true, link: ICI-v4}
)") == "t.yaml:2:9: fabric: the GPUs of a torus forward each other's traffic: they need `relay: true`");
    CHECK(load_error(R"(node: {count: 16, gpus: {count: 1, relay: true}}
fabric: {kind: torus, dimensions: [4, 4], wraparound: [true], link: ICI-v4}
)") == "t.yaml:2:55: fabric.wraparound: expected 2 entries, one per dimension, got 1");
}

TEST_CASE("dragonfly: says how many groups or links would do", "[fabric][error]") {
    CHECK(load_error(R"(node: {count: 16, gpus: {count: 1}}
fabric: {kind: dragonfly, groups: 10, switches: 4, hosts: 2, global_links: 2, switch: {}, link: NDR}
)") == "t.yaml:2:35: fabric.groups: 10 groups do not reach each other: 4 switches with 2 global links each have 8 in "
       "all, enough for 9 groups; 3 global links each would do");
    CHECK(load_error(R"(node: {count: 16, gpus: {count: 1}}
fabric: {kind: dragonfly, groups: 1, switches: 4, hosts: 2, global_links: 2, switch: {}, link: NDR}
)") == "t.yaml:2:35: fabric.groups: 16 endpoints do not fit: there is room for 8 (1 x 4 switches x 2 hosts); 2 groups "
       "would do");
    CHECK(load_error(R"(node: {count: 16, gpus: {count: 1}}
fabric: {kind: dragonfly, groups: 3, switches: 4, hosts: 2, global_links: 2, switch: {ports: 6}, link: NDR}
)") == "t.yaml:2:86: fabric.switch: a switch needs 7 ports (2 to endpoints, 3 within its group, 2 global), but the "
       "switch has 6");
}

TEST_CASE("explicit links: counts, names and ends are checked", "[fabric][error]") {
    CHECK(load_error(R"(vertices:
  - {name: gpu, kind: gpu, count: 2}
  - {name: switch, kind: switch}
links:
  - {between: ["gpu[0-1]", swich], bandwidth: 1 GB/s, latency: 1 us}
)") == "t.yaml:5:28: links[0].between[1]: there is no vertex `swich` — did you mean `switch`?");
    CHECK(load_error(R"(vertices:
  count: 3
  list:
    - {name: gpu, kind: gpu, count: 2}
    - {name: switch, kind: switch}
links: []
)") == "t.yaml:2:10: vertices.count: 3 entries of `vertices` are declared, but 2 are listed");
    CHECK(load_error(R"(vertices:
  - {name: gpu, kind: gpu, count: 2}
  - {name: switch, kind: switch}
links:
  count: 1
  list:
    - {between: [gpu0, switch], bandwidth: 1 GB/s, latency: 1 us}
    - {between: [gpu1, switch], bandwidth: 1 GB/s, latency: 1 us}
)") == "t.yaml:5:10: links.count: 1 entries of `links` are declared, but 2 are listed");
    CHECK(load_error(R"(vertices:
  - {name: gpu, kind: gpu, count: 2}
  - {name: switch, kind: switch}
links:
  - {between: [gpu0, switch], bandwidth: 1 GB/s, latency: 1 us}
  - {between: ["gpu[0-1]", switch], bandwidth: 1 GB/s, latency: 1 us}
)") == "t.yaml:6:5: links[1]: second link between gpu0 and switch (the first is at t.yaml:5:5); write several cables "
       "as one link with `cables`");
    CHECK(load_error(R"(vertices:
  - {name: gpu, kind: gpu, count: 2}
links:
  - {between: ["gpu[0-1]", "gpu[0-1]"], bandwidth: 1 GB/s, latency: 1 us}
)") == "t.yaml:4:15: links[0].between: link from gpu0 to itself");
    CHECK(load_error(R"(vertices:
  - {name: gpu, kind: gpu, count: 2}
links:
  - {between: ["gpu[1-0]", gpu1], bandwidth: 1 GB/s, latency: 1 us}
)") == "t.yaml:4:16: links[0].between[0]: expected a name, or names with a range such as `gpu[0-3]`, got `gpu[1-0]`");
    CHECK(load_error(R"(vertices:
  - {name: gpu, kind: gpu, count: 2}
  - {name: gpu1, kind: gpu}
)") == "t.yaml:3:12: vertices[1].name: second vertex called `gpu1`");
    CHECK(load_error(R"(node: {count: 1, gpus: {count: 1}}
links:
  - {between: [gpu0, gpu1], bandwidth: 1 GB/s, latency: 1 us}
)") == "t.yaml:3:22: links[0].between[1]: there is no vertex `gpu1` — did you mean `gpu0`?");
}
