// MSCCL's XML as msccl-tools writes it: what steps, buffers and dependencies mean, and what is wrong with a file.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/base/diagnostics.h"
#include "sim/collective/prover.h"
#include "sim/interop/msccl.h"

using namespace lockstep;
using namespace lockstep::collective;

namespace {

std::vector<std::string> faults(const Schedule& schedule) {
    std::vector<std::string> texts;
    for (const Turns turns : {Turns::forward, Turns::backward}) {
        for (const Finding& finding : prove(schedule, Bytes{1 << 20}, turns).findings) {
            texts.push_back(finding.text);
        }
    }
    return texts;
}

/// One step element. after: "-1 -1", or thread block and step.
std::string step(int s, const std::string& type, const std::string& source, const std::string& target, int count,
                 const std::string& after = "-1 -1", int hasdep = 0) {
    const auto part = [](const std::string& pair, bool first) {
        const std::size_t blank = pair.find(' ');
        return first ? pair.substr(0, blank) : pair.substr(blank + 1);
    };
    return fmt::format(
        "<step s=\"{}\" type=\"{}\" srcbuf=\"{}\" srcoff=\"{}\" dstbuf=\"{}\" dstoff=\"{}\" cnt=\"{}\" "
        "depid=\"{}\" deps=\"{}\" hasdep=\"{}\"/>\n",
        s, type, part(source, true), part(source, false), part(target, true), part(target, false), count,
        part(after, true), part(after, false), hasdep);
}

std::string algo(const std::string& coll, int ranks, int chunks, int in_place, const std::string& gpus,
                 int channels = 1) {
    return fmt::format(
        "<algo name=\"by-hand\" proto=\"LL\" nchannels=\"{}\" nchunksperloop=\"{}\" ngpus=\"{}\" "
        "coll=\"{}\" inplace=\"{}\" outofplace=\"{}\" minBytes=\"0\" maxBytes=\"65536\">\n{}</algo>\n",
        channels, chunks, ranks, coll, in_place, 1 - in_place, gpus);
}

std::string gpu(int id, int input, int output, int scratch, const std::string& blocks) {
    return fmt::format("<gpu id=\"{}\" i_chunks=\"{}\" o_chunks=\"{}\" s_chunks=\"{}\">\n{}</gpu>\n", id, input, output,
                       scratch, blocks);
}

std::string block(int id, int send, int receive, int channel, const std::string& steps) {
    return fmt::format("<tb id=\"{}\" send=\"{}\" recv=\"{}\" chan=\"{}\">\n{}</tb>\n", id, send, receive, channel,
                       steps);
}

/// All pairs: everybody sends everybody the block that is theirs, which gathers in scratch; a thread block of its own
/// adds it up once all thread blocks have got theirs, and those send the sum once it is there.
std::string all_pairs(int ranks) {
    std::string gpus;
    for (int rank = 0; rank < ranks; ++rank) {
        std::string blocks;
        std::string adding;
        int s = 0;
        // A `nop` for each dependency but the last, which the first addition has.
        for (int b = 2; b < ranks; ++b) {
            adding += step(s++, "nop", "i -1", "o -1", 0, fmt::format("{} 1", b));
        }
        for (int slot = 0; slot < ranks - 1; ++slot) {
            adding += step(s++, "re", fmt::format("s {}", slot), fmt::format("i {}", rank), 1,
                           slot == 0 ? "1 1" : "-1 -1", slot == ranks - 2 ? 1 : 0);
        }
        blocks += block(0, -1, -1, 0, adding);
        for (int peer = 0, b = 1; peer < ranks; ++peer) {
            if (peer == rank) {
                continue;
            }
            const auto own = [&](int chunk) { return fmt::format("i {}", chunk); };
            // Where the other one keeps it does not matter to the sender, and need not exist here.
            blocks += block(b, peer, peer, 0,
                            step(0, "s", own(peer), fmt::format("s {}", 99 + rank), 1) +
                                step(1, "r", own(rank), fmt::format("s {}", b - 1), 1, "-1 -1", 1) +
                                step(2, "s", own(rank), own(rank), 1, fmt::format("0 {}", s - 1)) +
                                step(3, "r", own(peer), own(peer), 1));
            ++b;
        }
        gpus += gpu(rank, ranks, 0, ranks - 1, blocks);
    }
    return algo("allreduce", ranks, ranks, 1, gpus);
}

}  // namespace

TEST_CASE("MSCCL: all pairs through scratch, with dependencies and nops", "[interop]") {
    const int ranks = GENERATE(2, 3, 4, 8);
    CAPTURE(ranks);
    const Schedule schedule = interop::parse_msccl(all_pairs(ranks), "ap.xml");
    CHECK(schedule.algorithm == "by-hand");
    CHECK(schedule.operation == Operation::all_reduce);
    CHECK(schedule.result == Buffer::data);
    CHECK(schedule.scratch_chunks == static_cast<std::uint32_t>(ranks - 1));
    CHECK(schedule.program(RankId{0}).size() == static_cast<std::size_t>(ranks));
    CHECK(faults(schedule).empty());
    CHECK(prove(schedule, Bytes{1024}).messages == static_cast<std::uint64_t>(2 * ranks * (ranks - 1)));
}

TEST_CASE("MSCCL: a dependency that is left out shows in the proof", "[interop]") {
    std::string text = all_pairs(3);
    const std::string needed = "depid=\"0\" deps=\"2\"";
    const std::size_t at = text.find(needed);
    REQUIRE(at != std::string::npos);
    text.replace(at, needed.size(), "depid=\"-1\" deps=\"-1\"");
    CHECK_FALSE(faults(interop::parse_msccl(text, "ap.xml")).empty());
}

TEST_CASE("MSCCL: out of place the input is the rank's own block and the output all of them", "[interop]") {
    // Rank 0's input is chunks 0 and 1 of the vector, rank 1's chunks 2 and 3.
    const Schedule schedule =
        interop::parse_msccl(algo("allgather", 2, 4, 0,
                                  gpu(0, 2, 4, 0,
                                      block(0, 1, 1, 0,
                                            step(0, "s", "i 0", "o 0", 2) + step(1, "cpy", "i 0", "o 0", 2) +
                                                step(2, "r", "i 0", "o 2", 2))) +
                                      gpu(1, 2, 4, 0,
                                          block(0, 0, 0, 0,
                                                step(0, "s", "i 0", "o 2", 2) + step(1, "cpy", "i 0", "o 2", 2) +
                                                    step(2, "r", "i 0", "o 0", 2)))),
                             "ag.xml");
    CHECK(schedule.result == Buffer::received);
    const RankProgram program = schedule.program(RankId{1});
    const Instruction& sent = program[0].blocks[0].body[0];
    CHECK(sent.buffer == Buffer::data);
    CHECK(sent.chunk.at(0) == 2);
    CHECK(faults(schedule).empty());
}

TEST_CASE("MSCCL: in place an all-gather works in its output", "[interop]") {
    const Schedule schedule = interop::parse_msccl(
        algo("allgather", 2, 2, 1,
             gpu(0, 0, 2, 0, block(0, 1, 1, 0, step(0, "s", "o 0", "o 0", 1) + step(1, "r", "o 1", "o 1", 1))) +
                 gpu(1, 0, 2, 0, block(0, 0, 0, 0, step(0, "s", "o 1", "o 1", 1) + step(1, "r", "o 0", "o 0", 1)))),
        "ag.xml");
    CHECK(schedule.result == Buffer::data);
    CHECK(faults(schedule).empty());
}

TEST_CASE("MSCCL: a reduce-scatter's output is a block, in and out of place", "[interop]") {
    const int in_place = GENERATE(0, 1);
    // The sum of what comes and the own input goes to the output: `rrc` with a source of its own.
    const auto side = [&](int rank) {
        const int other = 1 - rank;
        return gpu(rank, 2, 1, 0,
                   block(0, other, other, 0,
                         step(0, "s", fmt::format("i {}", other), "i 0", 1) +
                             step(1, "rrc", fmt::format("i {}", rank), "o 0", 1)));
    };
    const Schedule schedule = interop::parse_msccl(algo("reduce_scatter", 2, 2, in_place, side(0) + side(1)), "rs.xml");
    CHECK(schedule.operation == Operation::reduce_scatter);
    CHECK((schedule.result == Buffer::data) == (in_place == 1));
    CHECK(faults(schedule).empty());
}

TEST_CASE("MSCCL: an all-to-all copies what a rank has for itself", "[interop]") {
    const auto side = [&](int rank) {
        const int other = 1 - rank;
        return gpu(rank, 2, 2, 0,
                   block(0, -1, other, 0, step(0, "r", "i 0", fmt::format("o {}", other), 1)) +
                       block(1, other, -1, 0,
                             step(0, "s", fmt::format("i {}", other), "o 0", 1) +
                                 step(1, "cpy", fmt::format("i {}", rank), fmt::format("o {}", rank), 1)));
    };
    const Schedule schedule = interop::parse_msccl(algo("alltoall", 2, 2, 0, side(0) + side(1)), "a2a.xml");
    CHECK(schedule.result == Buffer::received);
    CHECK(faults(schedule).empty());
}

TEST_CASE("MSCCL: steps that receive and pass on, with and without storing", "[interop]") {
    // Up a chain of four and down again, as one ring: 1 and 2 pass the sum on without keeping it (rrs), 3 keeps it and
    // sends it on (rrcs), 0 and 1 store and pass on (rcs), 2 stores (r).
    const auto one = [](int id, int send, int receive, const std::string& steps) {
        return gpu(id, 1, 0, 0, block(0, send, receive, 0, steps));
    };
    const Schedule schedule =
        interop::parse_msccl(algo("allreduce", 4, 1, 1,
                                  one(0, 1, 3, step(0, "s", "i 0", "i 0", 1) + step(1, "rcs", "i 0", "i 0", 1)) +
                                      one(1, 2, 0, step(0, "rrs", "i 0", "i 0", 1) + step(1, "rcs", "i 0", "i 0", 1)) +
                                      one(2, 3, 1, step(0, "rrs", "i 0", "i 0", 1) + step(1, "r", "i 0", "i 0", 1)) +
                                      one(3, 0, 2, step(0, "rrcs", "i 0", "i 0", 1))),
                             "chain.xml");
    CHECK(schedule.scratch_chunks == 1);  // what is passed on is held there
    CHECK(faults(schedule).empty());
    CHECK(prove(schedule, Bytes{8}).messages == 6);
    CHECK(prove(schedule, Bytes{8}).depth == 6);
}

TEST_CASE("MSCCL: a root and a wait for an arrival, which other tools pass over", "[interop]") {
    std::string text =
        algo("broadcast", 3, 1, 1,
             gpu(0, 1, 0, 0, block(0, -1, 1, 0, step(0, "r", "i 0", "i 0", 1))) +
                 gpu(1, 1, 0, 0,
                     block(0, 0, -1, 0,
                           step(0, "s", "i 0", "i 0", 1) +
                               "<step s=\"1\" type=\"nop\" srcbuf=\"i\" srcoff=\"-1\" dstbuf=\"o\" dstoff=\"-1\" "
                               "cnt=\"0\" depid=\"-1\" deps=\"-1\" hasdep=\"1\" drain=\"1\"/>\n") +
                         block(1, 2, -1, 0, step(0, "s", "i 0", "i 0", 1, "0 1"))) +
                 gpu(2, 1, 0, 0, block(0, -1, 1, 0, step(0, "r", "i 0", "i 0", 1))));
    text.replace(text.find(" minBytes"), 0, " root=\"1\"");
    const Schedule schedule = interop::parse_msccl(text, "bc.xml");
    CHECK(schedule.root == RankId{1});
    CHECK(schedule.program(RankId{1})[0].blocks[0].body[1].verb == Verb::drain);
    CHECK(faults(schedule).empty());
}

TEST_CASE("MSCCL: thread blocks in any order, comments, a declaration", "[interop]") {
    const std::string text =
        "<?xml version=\"1.0\"?>\n<!-- a note -->\n" +
        algo("broadcast", 2, 1, 1,
             gpu(1, 1, 0, 0, block(0, -1, 0, 1, step(0, "r", "i 0", "i 0", 1))) + "<!-- another -->\n" +
                 gpu(0, 1, 0, 0, block(1, 1, -1, 1, step(0, "s", "i 0", "i 0", 1)) + block(0, -1, -1, 0, "")),
             2);
    const Schedule schedule = interop::parse_msccl(text, "bc.xml");
    CHECK(schedule.channels == 2);
    REQUIRE(schedule.program(RankId{0}).size() == 1);  // the empty one does nothing
    CHECK(schedule.program(RankId{0})[0].channel == 1);
    CHECK(faults(schedule).empty());
}

TEST_CASE("MSCCL: what is wrong with a file is said with its place", "[interop][error]") {
    // Lines: 1 algo, 2 gpu 0, 3 tb 0, 4 and 5 its steps, 7 tb 1, 8 its step, 11 gpu 1.
    const std::string good =
        algo("allreduce", 2, 2, 1,
             gpu(0, 2, 0, 1,
                 block(0, 1, 1, 0, step(0, "s", "i 0", "s 0", 1) + step(1, "r", "i 0", "s 0", 1, "-1 -1", 1)) +
                     block(1, -1, -1, 0, step(0, "re", "s 0", "i 0", 1, "0 1"))) +
                 gpu(1, 2, 0, 1,
                     block(0, 0, 0, 0, step(0, "s", "i 0", "s 0", 1) + step(1, "r", "i 0", "s 0", 1, "-1 -1", 1)) +
                         block(1, -1, -1, 0, step(0, "re", "s 0", "i 0", 1, "0 1"))));
    CHECK_NOTHROW(interop::parse_msccl(good, "a.xml"));
    const auto error_with = [&](const std::string& from, const std::string& to) {
        std::string text = good;
        const std::size_t at = text.find(from);
        REQUIRE(at != std::string::npos);
        text.replace(at, from.size(), to);
        try {
            interop::parse_msccl(text, "a.xml");
        } catch (const InputError& error) {
            return std::string(error.what());
        }
        return std::string("no error");
    };
    struct Case {
        std::string from;
        std::string to;
        std::string message;
    };
    const std::vector<Case> cases{
        {"</algo>", "", "a.xml:20:1: is no well-formed XML: Start-end tags mismatch"},
        {"</algo>", "</algo><algo/>", "a.xml:20:9: expected one element at the top, got a second one, `algo`"},
        {"<algo", "<algorithm", "a.xml:20:3: is no well-formed XML: Start-end tags mismatch"},
        {" coll=\"allreduce\"", "", "a.xml:1:1: `algo` lacks the attribute `coll`"},
        {"coll=\"allreduce\"", "coll=\"all_reduce\"",
         "a.xml:1:76: coll: expected one of allreduce, reducescatter, reduce_scatter, allgather, broadcast, reduce, "
         "alltoall, gather, scatter, got `all_reduce` — did you mean `allreduce`?"},
        {"coll=\"allreduce\"", "coll=\"custom\"",
         "a.xml:1:76: coll: expected one of allreduce, reducescatter, reduce_scatter, allgather, broadcast, reduce, "
         "alltoall, gather, scatter, got `custom`"},
        {"inplace=\"1\"", "inplace=\"0\"",
         "a.xml:1:105: outofplace: the algorithm is neither for work in place nor out of place"},
        {"ngpus=\"2\"", "ngpus=\"3\"", "a.xml:1:1: ngpus says 3, and there is no `gpu` with id 2"},
        {"ngpus=\"2\"", "ngpus=\"-2\"", "a.xml:1:66: ngpus: expected a whole number from 1 to 65536, got `-2`"},
        {"ngpus=\"2\"", "ngpus=\"2e0\"", "a.xml:1:66: ngpus: expected a whole number, got `2e0`"},
        {"ngpus=\"2\"", "ngpus=\"2\" npgus=\"2\"",
         "a.xml:1:76: unknown attribute `npgus` of `algo` — did you mean `ngpus`?"},
        {"ngpus=\"2\"", "ngpus=\"2\" ngpus=\"2\"", "a.xml:1:66: ngpus: is there twice"},
        {"proto=\"LL\"", "proto=\"Simpel\"",
         "a.xml:1:22: proto: expected one of Simple, LL, LL128, got `Simpel` — did you mean `Simple`?"},
        {"<gpu id=\"1\"", "<gpu id=\"0\"", "a.xml:11:6: id: gpu 0 is there already"},
        {"<gpu id=\"1\"", "<gpu id=\"2\"", "a.xml:11:6: id: expected a whole number from 0 to 1, got `2`"},
        {"i_chunks=\"2\"", "i_chunks=\"3\"", "a.xml:2:13: i_chunks: expected a whole number from 0 to 2, got `3`"},
        {"<tb id=\"1\"", "<tb id=\"2\"", "a.xml:7:5: id: expected the thread blocks 0 to 1, each once, got 2"},
        {"send=\"1\"", "send=\"0\"", "a.xml:3:12: send: a gpu has no connection to itself"},
        {"send=\"1\"", "send=\"-1\"", "a.xml:4:13: type: sends, and the thread block has no `send`"},
        {"recv=\"1\"", "recv=\"-1\"", "a.xml:5:13: type: receives, and the thread block has no `recv`"},
        {"chan=\"0\"", "chan=\"1\"", "a.xml:3:30: chan: expected a whole number from 0 to 0, got `1`"},
        {"s=\"1\" type", "s=\"2\" type", "a.xml:5:7: s: steps count up from 0: expected 1, got 2"},
        {"type=\"re\"", "type=\"red\"",
         "a.xml:8:13: type: expected one of s, r, rcs, rrc, rrs, rrcs, cpy, re, nop, got `red` — did you mean `re`?"},
        {"srcbuf=\"i\"", "srcbuf=\"x\"", "a.xml:4:22: srcbuf: expected one of i, o, s, got `x`"},
        {"srcoff=\"0\"", "srcoff=\"2\"",
         "a.xml:4:33: srcoff: `i` of gpu 0 has 2 chunks, and 1 from 2 on do not lie in it"},
        {"srcbuf=\"i\"", "srcbuf=\"o\"",
         "a.xml:4:33: srcoff: `o` of gpu 0 has 0 chunks, and 1 from 0 on do not lie in it"},
        {"cnt=\"1\"", "cnt=\"0\"", "a.xml:4:66: cnt: expected a whole number from 1 to 16777216, got `0`"},
        {"depid=\"0\" deps=\"1\"", "depid=\"2\" deps=\"1\"", "a.xml:8:75: depid: there is no thread block 2"},
        {"depid=\"0\" deps=\"1\"", "depid=\"0\" deps=\"2\"", "a.xml:8:85: deps: thread block 0 has no step 2"},
        {"depid=\"0\" deps=\"1\"", "depid=\"0\" deps=\"-1\"",
         "a.xml:8:85: deps: depid and deps name a step together, or are both -1"},
        {"depid=\"0\" deps=\"1\"", "depid=\"1\" deps=\"0\"",
         "a.xml:8:85: deps: step 0 cannot wait for step 0 of its own thread block"},
        {"depid=\"0\" deps=\"1\"", "depid=\"0\" deps=\"0\"",
         "a.xml:8:85: deps: step 0 of thread block 0 has hasdep=\"0\": nobody would be told that it is done"},
        {"hasdep=\"1\"", "hasdep=\"2\"", "a.xml:5:95: hasdep: expected a whole number from 0 to 1, got `2`"},
        {"hasdep=\"0\"/>", "hasdep=\"0\" drain=\"1\"/>",
         "a.xml:4:106: drain: is of a `nop` in a thread block that sends"},
        {"<step s=\"0\"", "<op s=\"0\"", "a.xml:4:1: expected an element `step`, got `op`"},
        {"<tb id=\"1\"", "text <tb id=\"1\"", "a.xml:7:1: expected elements `tb` in `gpu`, got the text `text `"},
        {"<tb id=\"1\" send=\"-1\" recv=\"-1\"", "<tb id=\"1\" send=\"-1\" recv=\"7\"",
         "a.xml:7:22: recv: expected a whole number from -1 to 1, got `7`"},
    };
    for (const Case& each : cases) {
        CAPTURE(each.from, each.to);
        CHECK(error_with(each.from, each.to) == each.message);
    }
    CHECK(error_with(good, "") == "a.xml:1:1: is no well-formed XML: there is no element");
    CHECK_THAT(error_with(good, "operation: all_reduce\n"), Catch::Contains("is no well-formed XML"));
    CHECK_THAT(error_with(good, std::string("\0", 1)), Catch::Contains("binary"));
    // Two thread blocks at one end of a connection.
    CHECK(error_with("<tb id=\"1\" send=\"-1\" recv=\"-1\" chan=\"0\">\n<step s=\"0\" type=\"re\"",
                     "<tb id=\"1\" send=\"1\" recv=\"-1\" chan=\"0\">\n<step s=\"0\" type=\"s\"") ==
          "a.xml:7:12: send: another thread block sends to gpu 1 on channel 0");
}

TEST_CASE("MSCCL: absurd files end with an error", "[interop][error]") {
    const auto error_of = [](const std::string& text) {
        try {
            interop::parse_msccl(text, "a.xml");
        } catch (const InputError& error) {
            return std::string(error.what());
        }
        return std::string("no error");
    };
    // Text beside the element, such as what a tool printed before or behind it; none at all; a name of two lines.
    CHECK(error_of("<algo name=\"x\"/>\nINFO: done\n") ==
          "a.xml:2:1: is no well-formed XML: text beside the element at the top, `INFO: done`");
    CHECK(error_of("INFO <algo name=\"x\"/>") ==
          "a.xml:1:1: is no well-formed XML: text beside the element at the top, `INFO `");
    CHECK(error_of("<!-- none -->\n") == "a.xml:2:1: is no well-formed XML: there is no element");
    CHECK(error_of("<algo name=\"a&#10;b\"/>") ==
          "a.xml:1:7: name: expected one line without control characters, got `a\\nb`");
    std::string deep;
    for (int depth = 0; depth < 100'000; ++depth) {
        deep += "<algo>";
    }
    CHECK_THAT(error_of(deep), Catch::Contains("is no well-formed XML"));
    CHECK_THAT(error_of("<algo name=\"x\" proto=\"LL\" nchannels=\"1\" nchunksperloop=\"99999999999\" ngpus=\"2\" "
                        "coll=\"allreduce\" inplace=\"1\"/>"),
               Catch::Contains("nchunksperloop: expected a whole number from 1 to 16777216"));
    CHECK_THAT(error_of("<algo name=\"x\" proto=\"LL\" nchannels=\"1\" nchunksperloop=\"1\" ngpus=\"65536\" "
                        "coll=\"allreduce\" inplace=\"1\"/>"),
               Catch::Contains("there is no `gpu` with id 0"));
    CHECK_THAT(error_of(algo("allreduce", 1, 1, 1,
                             gpu(0, 1, 0, 16777216, block(0, -1, -1, 0, step(0, "cpy", "i 0", "s 16777216", 1))))),
               Catch::Contains("do not lie in it"));
}
