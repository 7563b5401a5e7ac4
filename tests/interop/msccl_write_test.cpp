// What MSCCL's XML looks like, and what cannot be said in it.

#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>

#include "tests/collective/fabrics.h"
#include <catch2/catch.hpp>

#include "sim/base/diagnostics.h"
#include "sim/base/yaml.h"
#include "sim/collective/algorithm.h"
#include "sim/collective/load_schedule.h"
#include "sim/interop/msccl.h"

using namespace lockstep;
using namespace lockstep::collective;

namespace {

std::string written(const Schedule& schedule) {
    std::ostringstream out;
    interop::write_msccl(out, schedule);
    return out.str();
}

std::string written(std::string_view algorithm, std::uint32_t ranks) {
    const fabric::Fabric fabric = single_switch(ranks);
    const Communicator communicator = everybody(fabric);
    return written(algorithm_named(algorithm).make(communicator, {.bytes = Bytes{1 << 20}}));
}

std::string written_file(std::string_view text) { return written(load_schedule(YamlFile::parse(text, "my.yaml"), {})); }

std::size_t count(const std::string& text, std::string_view part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++found;
    }
    return found;
}

}  // namespace

TEST_CASE("MSCCL: a ring is a thread block for each rank, without dependencies", "[interop]") {
    const std::string text = written("ring", 4);
    CHECK(count(text, "<gpu ") == 4);
    CHECK(count(text, "<tb ") == 4);
    CHECK(count(text, "<step ") == 48);  // 2 * 3 sends and 2 * 3 receives of each rank
    CHECK(count(text, "depid=\"-1\"") == 48);
    CHECK(count(text, "hasdep=\"1\"") == 0);
    CHECK(count(text, "inplace=\"1\" outofplace=\"0\"") == 1);
}

TEST_CASE("MSCCL: messages to several ranks go side by side, and only what has to waits", "[interop]") {
    // Each rank sends to three and takes from three: three thread blocks of 4 steps.
    const std::string text = written("direct", 4);
    CHECK(count(text, "<tb ") == 12);
    CHECK(count(text, "<step ") == 48);
    CHECK(count(text, "type=\"nop\"") == 0);
    // Nobody waits to send the first half. A thread takes in order, so that in each half two of the three receives
    // follow one in another thread block; the sends of the second half follow the last sum, which two of them have
    // elsewhere.
    CHECK(count(text, "type=\"s\"") == 24);
    const std::size_t waiting = count(text, "<step ") - count(text, "depid=\"-1\"");
    CHECK(waiting == 4 * (2 + 2 + 2));
}

TEST_CASE("MSCCL: scattered chunks are packed into one message", "[interop]") {
    const std::string text = written_file(R"(
operation: all_reduce
ranks: 2
chunks: 4
steps:
  - {send: [3, 0, 1], to: $(1 - rank)}
  - {receive_reduce: [3, 0, 1], from: $(1 - rank)}
  - {send: 2, to: $(1 - rank)}
  - {receive_reduce: 2, from: $(1 - rank)}
)");
    // 3, and 0 and 1 together: two copies in, two additions out. What is sent and what comes lie apart.
    CHECK(count(text, "type=\"cpy\"") == 4);
    CHECK(count(text, "type=\"re\"") == 4);
    CHECK(count(text, "type=\"s\" srcbuf=\"s\" srcoff=\"0\"") == 2);
    CHECK(count(text, "s_chunks=\"6\"") == 2);
}

TEST_CASE("MSCCL: what cannot be said is refused before anything is written", "[interop][error]") {
    CHECK_THROWS_WITH(written("ring", 500),
                      "`ring` cannot be said in MSCCL: it has more than half a million steps when "
                      "its loops are unrolled");
    CHECK_THROWS_WITH(written_file(R"(
operation: all_reduce
ranks: 1
chunks: 1
threads:
  - steps: [{signal: 3}]
  - steps: [{signal: 3}]
  - steps: [{wait: 3}, {wait: 3}]
)"),
                      "`my` cannot be said in MSCCL: several threads of rank 0 signal event 3");
    CHECK_THROWS_WITH(written_file("operation: all_reduce\nranks: 1\nchunks: 1\nsteps: [{wait: 2}]\n"),
                      "`my` cannot be said in MSCCL: rank 0 waits for its event 2, which nobody signals");
    CHECK_THROWS_WITH(written_file("operation: barrier\nranks: 1\nchunks: 1\nsteps: []\n"),
                      "`my` cannot be said in MSCCL: it has no name for barrier");
    // Out of place an all-gather's input is the own block only.
    CHECK_THROWS_WITH(
        written_file(R"(
operation: all_gather
ranks: 2
chunks: 2
result: received
steps:
  - {copy: $(1 - rank), into: {received: 0}}
)"),
        "`my` cannot be said in MSCCL: rank 0 uses chunk 1, which lies outside of its input in out-of-place "
        "all_gather");
}
