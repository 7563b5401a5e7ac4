#include "tests/fabric/load_text.h"
#include <catch2/catch.hpp>

using namespace lockstep;
using namespace lockstep::fabric;

TEST_CASE("topology: what is missing or misspelt at the top is named", "[fabric][error]") {
    CHECK(load_error(R"(summary: x
nod: {count: 1}
)") == "t.yaml:2:1: unknown key `nod` — did you mean `node`?");
    CHECK(load_error(R"(summary: x
)") == "t.yaml:1:1: a topology needs a `node`, or `vertices` and `links`");
    CHECK(load_error(R"(vertices:
  - {name: gpu, kind: gpu, count: 2}
fabric: {kind: single-switch, switch: {}, link: NDR}
)") == "t.yaml:3:9: fabric: there is no `node` to connect");
    CHECK(load_error(R"(routing: emcp
node: {count: 1, gpus: {count: 2}}
)") == "t.yaml:1:10: routing: expected one of static, ecmp, spray, adaptive, got `emcp` — did you mean `ecmp`?");
    CHECK(load_error(R"(vertices:
  - {name: switch, kind: switch}
)") == "t.yaml:2:3: vertices: a topology needs at least one vertex of kind `gpu`");
}

TEST_CASE("link: its numbers are checked where they stand", "[fabric][error]") {
    CHECK(load_error(R"(node: {count: 2, gpus: {count: 1}}
fabric:
  kind: single-switch
  switch: {ports: 4}
  link: {bandwith: 400 Gb/s, latency: 1 us}
)") == "t.yaml:5:10: unknown key `bandwith` — did you mean `bandwidth`?");
    CHECK(load_error(R"(node: {count: 2, gpus: {count: 1}}
fabric:
  kind: single-switch
  switch: {ports: 4}
  link: {model: NDR, bandwith: 400 Gb/s}
)") == "t.yaml:5:22: unknown key `bandwith` — did you mean `bandwidth`?");
    CHECK(load_error(R"(node: {count: 2, gpus: {count: 1}}
fabric:
  kind: single-switch
  switch: {ports: 4}
  link: {bandwidth: 400, latency: 1 us}
)") == "t.yaml:5:21: fabric.link.bandwidth: expected a rate such as `400 Gb/s`, got `400`");
    CHECK(load_error(R"(node: {count: 2, gpus: {count: 1}}
fabric:
  kind: single-switch
  switch: {ports: 4}
  link: {bandwidth: -400 GB/s, latency: 1 us}
)") == "t.yaml:5:21: fabric.link.bandwidth: expected a finite rate of at least 0 such as `400 Gb/s`, got `-400 GB/s`");
    CHECK(load_error(R"(node: {count: 2, gpus: {count: 1}}
fabric:
  kind: single-switch
  switch: {ports: 4}
  link: {bandwidth: nan, latency: 1 us}
)") == "t.yaml:5:21: fabric.link.bandwidth: expected a rate such as `400 Gb/s`, got `nan`");
    CHECK(load_error(R"(node: {count: 2, gpus: {count: 1}}
fabric:
  kind: single-switch
  switch: {ports: 4}
  link: {bandwidth: 400 Gb/s}
)") == "t.yaml:5:9: fabric.link: a link needs a `model`, or `bandwidth` and `latency`; `latency` is missing");
    CHECK(load_error(R"(node: {count: 2, gpus: {count: 1}}
fabric:
  kind: single-switch
  switch: {ports: 4}
  link: {model: NDR, efficiency: 1.5}
)") == "t.yaml:5:34: fabric.link.efficiency: expected a number from 0.01 to 1, got `1.5`");
}

TEST_CASE("node: a device must be in the catalogue", "[fabric][error]") {
    CHECK(load_error(R"(node: {count: 2, gpus: {count: 1, model: H100-SMX}}
)") == "t.yaml:1:42: node.gpus.model: no gpu `H100-SMX` in the catalogue — did you mean `H100-SXM`?");
}

TEST_CASE("switched island: planes, cables and ports must agree", "[fabric][error]") {
    CHECK(load_error(R"(node:
  count: 1
  gpus: {count: 8}
  islands:
    - {kind: switchd}
)") == "t.yaml:5:14: node.islands[0].kind: expected one of switched, mesh, links, pcie-tree, torus, got `switchd` — "
       "did you mean `switched`?");
    CHECK(load_error(R"(node:
  count: 1
  gpus: {count: 8}
  islands:
    - {kind: switched, planes: 4, switch: NVSwitch3, link: {model: NVLink4, cables: 18}, per_plane: [5, 4, 4, 4]}
)") == "t.yaml:5:101: node.islands[0].per_plane: the entries add up to 17, but a GPU has 18 cables");
    CHECK(load_error(R"(node:
  count: 1
  gpus: {count: 8}
  islands:
    - {kind: switched, planes: 4, switch: NVSwitch3, link: {model: NVLink4, cables: 18}, per_plane: [5, 4, 9]}
)") == "t.yaml:5:101: node.islands[0].per_plane: expected 4 entries, one per plane, got 3");
    CHECK(load_error(R"(node:
  count: 1
  gpus: {count: 8}
  islands:
    - {kind: switched, planes: 4, switch: NVSwitch3, link: {model: NVLink4, cables: 3}}
)") == "t.yaml:5:60: node.islands[0].link: 3 cables of a GPU do not reach 4 planes");
    CHECK(load_error(R"(node:
  count: 1
  gpus: {count: 16}
  islands:
    - {kind: switched, planes: 4, switch: NVSwitch3, link: {model: NVLink4, cables: 18}}
)") == "t.yaml:5:43: node.islands[0].switch: plane 0 needs 80 ports (16 GPUs with 5 cables each), but NVSwitch3 has "
       "64");
    CHECK(load_error(R"(node:
  count: 1
  gpus: {count: 8}
  islands:
    - {kind: switched, planes: 4, switch: NVSwitch3, link: {model: NVLink5, cables: 18}}
)") == "t.yaml:5:60: node.islands[0].link: a cable of 50 GB/s is faster than a port of NVSwitch3 (25 GB/s)");
}

TEST_CASE("island: its GPUs must exist, once each", "[fabric][error]") {
    CHECK(load_error(R"(node:
  count: 1
  gpus: {count: 8}
  islands:
    - {kind: mesh, gpus: 4-8, link: InfinityFabric4}
)") == "t.yaml:5:26: node.islands[0].gpus: there is no GPU 8: the node has 8 (0 to 7)");
    CHECK(load_error(R"(node:
  count: 1
  gpus: {count: 8}
  islands:
    - {kind: mesh, gpus: [0-3, 2], link: InfinityFabric4}
)") == "t.yaml:5:32: node.islands[0].gpus[1]: GPU 2 is named twice");
    CHECK(load_error(R"(node:
  count: 1
  gpus: {count: 8}
  islands:
    - {kind: mesh, gpus: [gpu0], link: InfinityFabric4}
)") == "t.yaml:5:27: node.islands[0].gpus[0]: expected the number of a GPU such as `3`, or a range such as `0-3`, got "
       "`gpu0`");
}

TEST_CASE("links island: what is listed must be what is declared", "[fabric][error]") {
    CHECK(load_error(R"(node:
  count: 1
  gpus: {count: 4}
  islands:
    - kind: links
      link: NVLink2
      count: 2
      links:
        - between: [gpu0, gpu1]
        - between: [gpu1, gpu2]
        - between: [gpu2, gpu3]
)") == "t.yaml:7:14: node.islands[0].count: 2 links are declared, but 3 are listed");
    CHECK(load_error(R"(node:
  count: 1
  gpus: {count: 4}
  islands:
    - kind: links
      link: NVLink2
      links:
        - between: [gpu0, gpu1]
        - between: [gpu1, gpu0]
)") == "t.yaml:9:11: node.islands[0].links[1]: second link between gpu1 and gpu0 (the first is at t.yaml:8:11); write "
       "several cables as one link with `cables`");
    CHECK(load_error(R"(node:
  count: 1
  gpus: {count: 4}
  islands:
    - {kind: mesh, link: NVLink2}
    - {kind: mesh, gpus: 0-1, link: NVLink2}
)") == "t.yaml:6:37: node.islands[1].link: second link between gpu0 and gpu1 (the first is at t.yaml:5:26); write "
       "several cables as one link with `cables`");
    CHECK(load_error(R"(node:
  count: 1
  gpus: {count: 4}
  islands:
    - kind: links
      link: NVLink2
      links:
        - between: [gpu1, gpu1]
)") == "t.yaml:8:11: node.islands[0].links[0]: link from gpu1 to itself");
    CHECK(load_error(R"(node:
  count: 1
  gpus: {count: 4}
  islands:
    - kind: links
      link: NVLink2
      links:
        - between: [gpu1, gpu4]
)") == "t.yaml:8:27: node.islands[0].links[0].between[1]: the node has no `gpu4` — did you mean `gpu0`?");
    CHECK(load_error(R"(node:
  count: 1
  gpus: {count: 4}
  islands:
    - kind: links
      link: NVLink2
      links:
        - between: [gpu1, gpu2, gpu3]
)") == "t.yaml:8:20: node.islands[0].links[0].between: expected two names such as `[gpu0, gpu1]`, got 3");
}

TEST_CASE("links island: a matrix must be square, symmetric and empty on the diagonal", "[fabric][error]") {
    CHECK(load_error(R"(node:
  count: 1
  gpus: {count: 3}
  islands:
    - kind: links
      link: NVLink2
      matrix:
        - [0, 1, 1]
        - [1, 0, 1]
)") == "t.yaml:8:9: node.islands[0].matrix: expected 3 rows, one per GPU, got 2");
    CHECK(load_error(R"(node:
  count: 1
  gpus: {count: 2}
  islands:
    - kind: links
      link: NVLink2
      matrix:
        - [0, 1]
        - [1]
)") == "t.yaml:9:11: node.islands[0].matrix[1]: expected 2 entries, one per GPU, got 1");
    CHECK(load_error(R"(node:
  count: 1
  gpus: {count: 2}
  islands:
    - kind: links
      link: NVLink2
      matrix:
        - [0, 1]
        - [2, 0]
)") == "t.yaml:9:12: node.islands[0].matrix[1][0]: GPUs 1 and 0 have 2 cables here, but 1 in row 0");
    CHECK(load_error(R"(node:
  count: 1
  gpus: {count: 2}
  islands:
    - kind: links
      link: NVLink2
      matrix:
        - [0, 1]
        - [1, 1]
)") == "t.yaml:9:15: node.islands[0].matrix[1][1]: GPU 1 has cables to itself");
}

TEST_CASE("pcie-tree island: needs hosts, and uplinks for its switches", "[fabric][error]") {
    CHECK(load_error(R"(node:
  count: 1
  gpus: {count: 2}
  islands: [{kind: pcie-tree, hosts: 0, link: PCIe5-x16}]
)") == "t.yaml:4:38: node.islands[0].hosts: a PCIe tree needs at least one host");
    CHECK(load_error(R"(node:
  count: 1
  gpus: {count: 2}
  islands: [{kind: pcie-tree, hosts: 1, switches: 2, link: PCIe5-x16}]
)") == "t.yaml:4:13: node.islands[0]: missing key `uplink`");
}

TEST_CASE("node: NICs must have something to hang on", "[fabric][error]") {
    CHECK(load_error(R"(node:
  count: 1
  gpus: {count: 2}
  nics: {count: 2, model: ConnectX-7, on: pcie-switch, link: PCIe5-x16}
)") == "t.yaml:4:43: node.nics.on: the node has no PCIe switches; an island of kind `pcie-tree` makes them");
    CHECK(load_error(R"(node:
  count: 1
  gpus: {count: 2}
  nics: {count: 2, model: ConnectX-7, on: host, link: PCIe5-x16}
)") == "t.yaml:4:43: node.nics.on: the node has no hosts; an island of kind `pcie-tree` makes them");
}

TEST_CASE("topology: sizes beyond any machine are refused before memory is taken", "[fabric][error]") {
    CHECK(load_error(R"(node: {count: 1000000, gpus: {count: 8}}
)") == "t.yaml:1:30: node.gpus: 1000000 nodes of 8 GPUs are more than 2000000 GPUs");
    CHECK(load_error(R"(node:
  count: 1
  gpus: {count: 10000}
  islands: [{kind: mesh, link: NVLink2}]
)") == "t.yaml:4:32: node.islands[0].link: more than 20000000 links in one fabric");
    CHECK(load_error(R"(node:
  count: 1000
  gpus: {count: 300}
  islands: [{kind: mesh, link: NVLink2}]
)") == "t.yaml:4:32: node.islands[0].link: more than 20000000 links in one fabric");
    CHECK(load_error(R"(vertices:
  - {name: g, kind: gpu}
  - {name: h, kind: gpu, count: 2000000}
)") == "t.yaml:3:5: vertices[1]: more than 2000000 GPUs in one fabric");
}
