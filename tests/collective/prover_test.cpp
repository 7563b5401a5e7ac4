#include "sim/collective/prover.h"

#include <algorithm>
#include <limits>

#include "tests/collective/proofs.h"
#include <catch2/catch.hpp>

using namespace lockstep;
using namespace lockstep::collective;

// What the prover accepts and what it says of what it does not, on programs small enough to be checked by eye.

namespace {

using Programs = std::vector<RankProgram>;

/// The schedule of these programs, one for each rank.
Schedule schedule_of(Operation operation, std::uint32_t chunks, Programs programs) {
    return {.algorithm = "by hand",
            .operation = operation,
            .ranks = static_cast<std::uint32_t>(programs.size()),
            .chunks = chunks,
            .result = operation == Operation::all_to_all || operation == Operation::all_to_all_v ||
                              operation == Operation::send_recv
                          ? Buffer::received
                          : Buffer::data,
            .program = [programs = std::move(programs)](RankId rank) { return programs[index(rank)]; }};
}

Thread thread(std::vector<Instruction> body) { return {.blocks = {{.body = std::move(body)}}}; }
RankProgram program(std::vector<Instruction> body) { return {thread(std::move(body))}; }
ChunkIndex at(std::uint32_t chunk) { return {.offset = chunk}; }

Instruction send(std::uint32_t peer, std::uint32_t chunk = 0) {
    return {.verb = Verb::send, .peer = RankId{peer}, .chunk = at(chunk)};
}
Instruction receive(std::uint32_t peer, std::uint32_t chunk = 0) {
    return {.verb = Verb::receive, .peer = RankId{peer}, .chunk = at(chunk)};
}
Instruction receive_reduce(std::uint32_t peer, std::uint32_t chunk = 0) {
    return {.verb = Verb::receive_reduce, .peer = RankId{peer}, .chunk = at(chunk)};
}
Instruction signal(std::uint32_t event) { return {.verb = Verb::signal, .event = event}; }
Instruction wait(std::uint32_t event) { return {.verb = Verb::wait, .event = event}; }

/// All-reduce of two ranks that swap.
Programs swap_and_add() { return {program({send(1), receive_reduce(1)}), program({send(0), receive_reduce(0)})}; }

/// Both orders of turns find nothing.
bool holds(const Schedule& schedule) {
    return prove(schedule, {1000}).holds() && prove(schedule, {1000}, Turns::backward).holds();
}

/// The findings, forward.
std::vector<std::string> found(const Schedule& schedule) { return texts(prove(schedule, {1000})); }

}  // namespace

TEST_CASE("prover: what arrives is stored or added, and every operation has its own promise", "[collective][prover]") {
    CHECK(holds(schedule_of(Operation::all_reduce, 1, swap_and_add())));
    CHECK(
        holds(schedule_of(Operation::reduce_scatter, 2,
                          {program({send(1, 1), receive_reduce(1, 0)}), program({send(0, 0), receive_reduce(0, 1)})})));
    CHECK(holds(schedule_of(Operation::all_gather, 2,
                            {program({send(1, 0), receive(1, 1)}), program({send(0, 1), receive(0, 0)})})));
    Instruction from_0 = receive(0, 0);
    from_0.buffer = Buffer::received;
    Instruction from_1 = receive(1, 1);
    from_1.buffer = Buffer::received;
    CHECK(holds(schedule_of(Operation::all_to_all, 2, {program({send(1, 1), from_1}), program({send(0, 0), from_0})})));
    Schedule rooted = schedule_of(Operation::broadcast, 1, {program({receive(1)}), program({send(0)})});
    rooted.root = RankId{1};
    CHECK(holds(rooted));
    rooted = schedule_of(Operation::reduce, 1, {program({send(1)}), program({receive_reduce(0)})});
    rooted.root = RankId{1};
    CHECK(holds(rooted));
    rooted = schedule_of(Operation::gather, 2, {program({send(1, 0)}), program({receive(0, 0)})});
    rooted.root = RankId{1};
    CHECK(holds(rooted));
    rooted = schedule_of(Operation::scatter, 2, {program({receive(1, 0)}), program({send(0, 0)})});
    rooted.root = RankId{1};
    CHECK(holds(rooted));
    Instruction shifted = receive(2);
    shifted.buffer = Buffer::received;
    Programs ring;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
        shifted.peer = RankId{(rank + 2) % 3};
        ring.push_back(program({send((rank + 1) % 3), shifted}));
    }
    CHECK(holds(schedule_of(Operation::send_recv, 1, ring)));
}

TEST_CASE("prover: in a barrier everybody hears of everybody, however often", "[collective][prover]") {
    // Dissemination over 3 ranks: to rank + 1, then to rank + 2, which has passed on this rank's own by then.
    Programs programs;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
        programs.push_back(program({send((rank + 1) % 3), receive_reduce((rank + 2) % 3), send((rank + 2) % 3),
                                    receive_reduce((rank + 1) % 3)}));
    }
    CHECK(holds(schedule_of(Operation::barrier, 1, programs)));
    CHECK(found(schedule_of(Operation::all_reduce, 1, programs)).front() ==
          "doubled: rank 0 ends with the contribution of rank 0 2 times in chunk 0");
    programs[1].front().blocks.front().body.resize(2);
    programs[2].front().blocks.front().body.pop_back();
    programs[0].front().blocks.front().body.pop_back();
    programs[0].front().blocks.front().body.pop_back();
    CHECK_FALSE(holds(schedule_of(Operation::barrier, 1, programs)));
}

TEST_CASE("prover: pairs that have nothing for each other need no message", "[collective][prover]") {
    Instruction into = receive(0, 0);
    into.buffer = Buffer::received;
    Schedule schedule = schedule_of(Operation::all_to_all_v, 2, {program({send(1, 1)}), program({into})});
    schedule.sizes = std::make_shared<const SizeMatrix>(SizeMatrix{.ranks = 2, .bytes = {{5}, {7}, {0}, {9}}});
    CHECK(holds(schedule));
    CHECK(prove(schedule, {12}).bytes_out == std::vector<std::int64_t>{7, 0});
    CHECK(prove(schedule, {12}).bytes_in == std::vector<std::int64_t>{0, 7});
    schedule.sizes = std::make_shared<const SizeMatrix>(SizeMatrix{.ranks = 2, .bytes = {{5}, {7}, {1}, {9}}});
    CHECK(found(schedule) ==
          std::vector<std::string>{"missing: rank 0 ends without the contribution of rank 1 in chunk 1"});
}

TEST_CASE("prover: copies and additions of a rank's own, through scratch, and messages of scattered chunks",
          "[collective][prover]") {
    // Rank 1 takes both chunks of rank 0 as one message in reverse order into scratch, adds them from there.
    const auto reversed = std::make_shared<const std::vector<std::uint32_t>>(std::vector<std::uint32_t>{1, 0});
    const Instruction both{.verb = Verb::send, .peer = RankId{1}, .chunks = reversed};
    const Instruction take{.verb = Verb::receive, .buffer = Buffer::scratch, .peer = RankId{0}, .count = 2};
    const auto add = [](std::uint32_t chunk, std::uint32_t from) {
        return Instruction{.verb = Verb::reduce, .chunk = at(chunk), .from_buffer = Buffer::scratch, .from = at(from)};
    };
    Schedule schedule = schedule_of(Operation::reduce, 2, {program({both}), program({take, add(0, 1), add(1, 0)})});
    schedule.root = RankId{1};
    schedule.scratch_chunks = 2;
    CHECK(holds(schedule));
    CHECK(prove(schedule, {1000}).messages == 1);
    CHECK(prove(schedule, {1000}).bytes_in == std::vector<std::int64_t>{0, 1000});
    schedule.program = [=](RankId rank) {
        return rank == RankId{0} ? program({both}) : program({take, add(0, 0), add(1, 1)});
    };
    CHECK(found(schedule).front() == "misplaced: rank 1 in step 1 adds data of chunk 1 of its own to data of chunk 0");
    // A copy is not an addition: the rank's own is gone.
    const Instruction copy{.verb = Verb::copy, .count = 2, .from_buffer = Buffer::scratch};
    const Instruction in_order{.verb = Verb::send, .peer = RankId{1}, .count = 2};
    schedule.program = [=](RankId rank) { return rank == RankId{0} ? program({in_order}) : program({take, copy}); };
    CHECK(found(schedule) ==
          std::vector<std::string>{"missing: rank 1 ends without the contribution of rank 1 in chunk 0; that of rank 1 "
                                   "was overwritten by rank 1 in step 1",
                                   "missing: rank 1 ends without the contribution of rank 1 in chunk 1; that of rank 1 "
                                   "was overwritten by rank 1 in step 1"});
}

TEST_CASE("prover: races between threads of a rank", "[collective][prover]") {
    // One thread adds to the chunk that another sends: right only if the send comes first.
    Programs programs = swap_and_add();
    programs[0] = {thread({send(1)}), thread({receive_reduce(1)})};
    const Schedule schedule = schedule_of(Operation::all_reduce, 1, programs);
    CHECK(found(schedule) ==
          std::vector<std::string>{"race: rank 0 in step 0 of thread 1 writes chunk 0, which thread 0 reads in step 0: "
                                   "nothing says which comes first"});
    CHECK(texts(prove(schedule, {1000}, Turns::backward)) ==
          std::vector<std::string>{"doubled: rank 1 ends with the contribution of rank 1 2 times in chunk 0"});
    // A signal puts them in order,
    programs[0] = {thread({send(1), signal(0)}), thread({wait(0), receive_reduce(1)})};
    CHECK(holds(schedule_of(Operation::all_reduce, 1, programs)));
    // and so does an answer: rank 1 sends only when it has what thread 0 sent.
    programs = {{thread({send(1)}), thread({receive(1)})}, program({receive_reduce(0), send(0)})};
    CHECK(holds(schedule_of(Operation::all_reduce, 1, programs)));
    // What is not in data is said to be elsewhere.
    const Instruction aside{.verb = Verb::copy, .buffer = Buffer::scratch};
    Instruction send_aside = send(1);
    send_aside.buffer = Buffer::scratch;
    Schedule with_scratch =
        schedule_of(Operation::broadcast, 1, {{thread({aside}), thread({send_aside})}, program({receive(0)})});
    with_scratch.scratch_chunks = 1;
    CHECK(found(with_scratch) ==
          std::vector<std::string>{"race: rank 0 in step 0 of thread 1 reads chunk 0 of scratch, which thread 0 writes "
                                   "in step 0: nothing says which comes first"});
    with_scratch = schedule_of(Operation::broadcast, 1, {program({send_aside}), program({receive(0)})});
    with_scratch.scratch_chunks = 1;
    CHECK(found(with_scratch).front() == "absent: rank 0 in step 0 sends chunk 0 of scratch, which it does not have");
    // Reading at the same time is no race.
    Thread other = thread({send(2)});
    other.channel = 1;
    Thread take = thread({receive(0)});
    take.channel = 1;
    CHECK(holds(schedule_of(Operation::broadcast, 1, {{thread({send(1)}), other}, program({receive(0)}), {take}})));
}

TEST_CASE("prover: races in which all orders of turns end well are races", "[collective][prover]") {
    // Thread 1 stores what is there already while thread 0 sends it: harmless only where chunks change all at once.
    const Instruction onto_itself{.verb = Verb::copy};
    const Programs copying{{thread({send(1)}), thread({onto_itself})}, program({receive(0)})};
    const Schedule schedule = schedule_of(Operation::broadcast, 1, copying);
    for (const Turns turns : {Turns::forward, Turns::backward}) {
        const Proof proof = prove(schedule, {1000}, turns);
        REQUIRE(proof.findings.size() == 1);
        CHECK(proof.findings.front().fault == Fault::race);
        CHECK(proof.findings.front().rank == RankId{0});
        CHECK(proof.findings.front().chunk == 0);
    }
}

TEST_CASE("prover: of an event that several threads signal only the last wait tells all", "[collective][prover]") {
    // Threads 0 and 1 send, thread 2 adds what comes back. It must have heard of both sends.
    const auto exchange = [](std::vector<Instruction> last) {
        Thread first = thread({send(1), signal(0)});
        Thread second = thread({send(2), signal(0)});
        Programs programs{{first, second, thread(std::move(last))}};
        for (std::uint32_t rank = 1; rank < 3; ++rank) {
            programs.push_back(program({send(0), receive_reduce(0), send(3 - rank), receive_reduce(3 - rank)}));
            programs.back().front().blocks.front().body = {send(0), send(3 - rank), receive_reduce(0),
                                                           receive_reduce(3 - rank)};
        }
        return schedule_of(Operation::all_reduce, 1, programs);
    };
    CHECK(holds(exchange({wait(0), wait(0), receive_reduce(1), receive_reduce(2)})));
    const auto early = found(exchange({wait(0), receive_reduce(1), wait(0), receive_reduce(2)}));
    REQUIRE_FALSE(early.empty());
    CHECK_THAT(early.front(), Catch::StartsWith("race: rank 0 in step 1 of thread 2 writes chunk 0, which thread "));
}

TEST_CASE("prover: threads of a rank wait for each other by events", "[collective][prover]") {
    // Rank 0 passes on what another thread of it received.
    Thread sender = thread({wait(7), send(2)});
    sender.channel = 1;
    Thread receiver = thread({receive(0)});
    receiver.channel = 1;
    Schedule schedule = schedule_of(Operation::broadcast, 1,
                                    {{sender, thread({receive(1), signal(7)})}, program({send(0)}), {receiver}});
    schedule.root = RankId{1};
    CHECK(holds(schedule));
    CHECK(prove(schedule, {1000}).depth == 2);
    // Without the signal it waits for ever, and so does rank 2.
    schedule = schedule_of(Operation::broadcast, 1, {{sender, thread({receive(1)})}, program({send(0)}), {receiver}});
    schedule.root = RankId{1};
    CHECK(found(schedule) ==
          std::vector<std::string>{"deadlock: rank 0 in step 0 of thread 0 waits for ever for a signal of event 7",
                                   "deadlock: rank 2 in step 0 waits for ever on channel 1 for a message from rank 0",
                                   "missing: rank 2 ends without the contribution of rank 1 in chunk 0"});
}

TEST_CASE("prover: switches add up and copy", "[collective][prover]") {
    const auto on_switch = [](Verb verb, std::uint32_t peer, std::uint32_t chunk) {
        return Instruction{.verb = verb, .peer = RankId{peer}, .chunk = at(chunk)};
    };
    // Rank 1 is the head of the only chunk.
    Schedule schedule =
        schedule_of(Operation::all_reduce, 1,
                    {program({on_switch(Verb::contribute, 1, 0), on_switch(Verb::receive_multicast, 1, 0)}),
                     program({on_switch(Verb::contribute, 1, 0), on_switch(Verb::reduce_in_switch, 1, 0),
                              on_switch(Verb::multicast, 1, 0), on_switch(Verb::receive_multicast, 1, 0)})});
    schedule.groups = {{RankId{1}, RankId{0}}};
    CHECK(holds(schedule));
    const Proof proof = prove(schedule, {1000});
    CHECK(proof.messages == 2);  // a sum and a multicast
    CHECK(proof.depth == 2);
    CHECK(proof.bytes_out == std::vector<std::int64_t>{1000, 2000});
    CHECK(proof.bytes_in == std::vector<std::int64_t>{1000, 2000});
    // The same as one: the sum goes to all.
    schedule.program = [&](RankId) {
        return program({on_switch(Verb::contribute_to_all, 0, 0), on_switch(Verb::receive_sum, 0, 0)});
    };
    CHECK(holds(schedule));
    CHECK(prove(schedule, {1000}).messages == 1);
    CHECK(prove(schedule, {1000}).depth == 1);
    schedule.program = [&](RankId rank) {
        return rank == RankId{0}
                   ? program({on_switch(Verb::receive_sum, 0, 0)})
                   : program({on_switch(Verb::contribute_to_all, 0, 0), on_switch(Verb::receive_sum, 0, 0)});
    };
    const auto stuck = found(schedule);
    REQUIRE(stuck.size() >= 3);
    CHECK(stuck[0] ==
          "deadlock: rank 0 in step 0 waits for ever on channel 0 for what rank 0 is to add in the switches");
    CHECK(stuck[1] ==
          "deadlock: rank 1 in step 1 waits for ever on channel 0 for what rank 0 is to add in the switches");
    CHECK(stuck[2] ==
          "untaken: rank 1 in step 0 offers chunk 0 on channel 0 to a sum in the switches to which others of "
          "group 0 never add");
}

TEST_CASE("prover: says which contribution is missing and where it was overwritten", "[collective][prover]") {
    // Rank 1 stores instead of adding, and passes the rest on: everybody lacks its contribution.
    Programs programs{program({send(1), receive(2)}), program({receive(0), send(2)}),
                      program({receive_reduce(1), send(0)})};
    const Schedule schedule = schedule_of(Operation::all_reduce, 1, programs);
    const Proof proof = prove(schedule, {1000});
    REQUIRE(proof.findings.size() == 3);
    CHECK(proof.findings[0].fault == Fault::missing);
    CHECK(proof.findings[0].rank == RankId{0});
    CHECK(proof.findings[0].chunk == 0);
    CHECK(proof.findings[0].text ==
          "rank 0 ends without the contribution of rank 1 in chunk 0; that of rank 1 was "
          "overwritten by rank 1 in step 0");
    CHECK(proof.findings[1].text ==
          "rank 1 ends without the contribution of rank 1 and 1 other in chunk 0; that of "
          "rank 1 was overwritten by rank 1 in step 0");
    CHECK(proof.findings[2].text ==
          "rank 2 ends without the contribution of rank 1 in chunk 0; that of rank 1 was "
          "overwritten by rank 1 in step 0");
}

TEST_CASE("prover: data in the wrong place, and data that is not there", "[collective][prover]") {
    CHECK(found(schedule_of(Operation::all_gather, 2,
                            {program({send(1, 0), receive(1, 1)}), program({send(0, 1), receive(0, 1)})})) ==
          std::vector<std::string>{
              "missing: rank 1 ends without the contribution of rank 0 in chunk 0",
              "misplaced: rank 1 ends with data of chunk 0 in chunk 1, where chunk 1 of rank 1 is due"});
    CHECK(found(schedule_of(Operation::all_gather, 2,
                            {program({send(1, 1), receive(1, 1)}), program({send(0, 1), receive(0, 0)})})) ==
          std::vector<std::string>{"absent: rank 0 in step 0 sends chunk 1, which it does not have",
                                   "missing: rank 1 ends without the contribution of rank 0 in chunk 0"});
    CHECK(found(schedule_of(Operation::all_gather, 2,
                            {program({send(1, 0), receive_reduce(1, 1)}), program({send(0, 1), receive(0, 0)})})) ==
          std::vector<std::string>{"absent: rank 0 in step 1 adds to chunk 1, which it does not have"});
    CHECK(found(schedule_of(Operation::all_reduce, 2,
                            {program({send(1, 0), receive_reduce(1, 0)}), program({send(0, 0), receive_reduce(0, 1)})}))
              .front() == "misplaced: rank 1 in step 1 adds data of chunk 0 from rank 0 to data of chunk 1");
    Instruction two = send(1);
    two.count = 2;
    CHECK(found(schedule_of(Operation::broadcast, 2, {program({two}), program({receive(0)})})).front() ==
          "misplaced: rank 1 in step 0 takes 2 chunks of rank 0 into 1 chunk");
}

TEST_CASE("prover: what nobody takes", "[collective][prover]") {
    Programs programs = swap_and_add();
    auto& body = programs[1].front().blocks.front().body;
    body.push_back(send(0));
    body.push_back(send(0));
    body.push_back(signal(3));
    const Proof proof = prove(schedule_of(Operation::all_reduce, 1, programs), {1000});
    REQUIRE(proof.findings.size() == 2);
    CHECK(proof.findings[0].fault == Fault::untaken);
    CHECK(proof.findings[0].rank == RankId{1});
    CHECK(proof.findings[0].step == 2);
    CHECK(proof.findings[0].text ==
          "rank 1 in step 2 sends chunk 0 to rank 0 on channel 0; the message is never taken, nor is the next one");
    CHECK(proof.findings[1].text == "rank 1 in step 4 signals event 3, for which it never waits");
}

TEST_CASE("prover: a deadlock names who waits where for whom, those that wait for an ended rank first",
          "[collective][prover]") {
    const Programs circle{program({receive(2), send(1)}), program({receive(0), send(2)}),
                          program({receive(1), send(0)})};
    const Proof proof = prove(schedule_of(Operation::barrier, 1, circle), {0});
    REQUIRE(proof.findings.size() >= 3);
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
        CHECK(proof.findings[rank].fault == Fault::deadlock);
        CHECK(proof.findings[rank].rank == RankId{rank});
        CHECK(proof.findings[rank].step == 0);
    }
    CHECK(proof.findings[0].text == "rank 0 in step 0 waits for ever on channel 0 for a message from rank 2");
    const Programs broken{program({receive(2), send(1)}), program({receive(0), send(2)}), program({})};
    CHECK(found(schedule_of(Operation::barrier, 1, broken)).front() ==
          "deadlock: rank 0 in step 0 waits for ever on channel 0 for a message from rank 2, which has ended");
}

TEST_CASE("prover: what is not a program is refused with its place", "[collective][prover][error]") {
    const auto complaint = [](const Instruction& instruction) {
        Programs programs = swap_and_add();
        programs[1].front().blocks.front().body.push_back(instruction);
        Schedule schedule = schedule_of(Operation::all_reduce, 1, programs);
        schedule.groups = {{RankId{0}, RankId{1}}, {RankId{0}}};
        const Proof proof = prove(schedule, {1000});
        REQUIRE_FALSE(proof.holds());
        CHECK(proof.findings.front().fault == Fault::malformed);
        CHECK(proof.findings.front().rank == RankId{1});
        CHECK(proof.findings.front().step == 2);
        return proof.findings.front().text;
    };
    const auto list = std::make_shared<const std::vector<std::uint32_t>>(std::vector<std::uint32_t>{9});
    const auto empty = std::make_shared<const std::vector<std::uint32_t>>();
    CHECK(complaint(send(2)) == "rank 1 in step 2: peer 2 of 2 ranks");
    CHECK(complaint(send(1)) == "rank 1 in step 2: a message to or from itself");
    CHECK(complaint(send(0, 1)) == "rank 1 in step 2 names chunk 1, where there are 1");
    CHECK(complaint({.verb = Verb::send, .chunks = list}) == "rank 1 in step 2 names chunk 9, where there are 1");
    CHECK(complaint({.verb = Verb::send, .chunks = empty}) == "rank 1 in step 2: no chunks");
    CHECK(complaint({.verb = Verb::send, .count = 0}) == "rank 1 in step 2: no chunks");
    CHECK(complaint({.verb = Verb::send, .buffer = Buffer::scratch}) ==
          "rank 1 in step 2 names chunk 0 of scratch, where there are 0");
    CHECK(complaint({.verb = Verb::send, .chunk = {.modulus = 0}}) == "rank 1 in step 2: chunks modulo 0");
    CHECK(complaint({.verb = Verb::send, .chunk = {.modulus = 2, .order = list}}) ==
          "rank 1 in step 2: an order of 1 blocks for 2");
    CHECK(complaint({.verb = Verb::copy, .from = at(5)}) == "rank 1 in step 2 names chunk 5, where there are 1");
    CHECK(complaint({.verb = Verb::copy, .chunks = list}) == "rank 1 in step 2: a list of chunks in a local copy");
    CHECK(complaint({.verb = Verb::contribute, .group = 2}) == "rank 1 in step 2: group 2 of 2");
    CHECK(complaint({.verb = Verb::contribute, .group = 1}) == "rank 1 in step 2: rank 1 is not in group 1");
    CHECK(complaint({.verb = Verb::multicast}) == "rank 1 in step 2: a multicast in the name of rank 0");
    CHECK(complaint({.verb = Verb::reduce_in_switch}) == "rank 1 in step 2: a reduction in the name of rank 0");
}

TEST_CASE("prover: two threads may not share an end of a connection, nor a loop a list",
          "[collective][prover][error]") {
    Programs programs = swap_and_add();
    programs[0] = {thread({send(1)}), thread({receive_reduce(1)})};
    CHECK(found(schedule_of(Operation::all_reduce, 1, programs)).front().starts_with("race"));  // one end each
    programs[0].push_back(thread({send(1)}));
    CHECK(found(schedule_of(Operation::all_reduce, 1, programs)) ==
          std::vector<std::string>{
              "malformed: rank 0 in step 0 of thread 2: two threads, 0 and 2, send to rank 1 on channel 0"});
    programs = swap_and_add();
    programs[0].front().blocks.front().body.front().chunks =
        std::make_shared<const std::vector<std::uint32_t>>(std::vector<std::uint32_t>{0});
    CHECK(holds(schedule_of(Operation::all_reduce, 1, programs)));
    programs[0].front().rounds = 2;
    CHECK(found(schedule_of(Operation::all_reduce, 1, programs)) ==
          std::vector<std::string>{"malformed: rank 0 in step 0: a list of chunks in a loop"});
}

TEST_CASE("prover: schedules that make no sense as a whole", "[collective][prover][error]") {
    const auto complaint = [](const Schedule& schedule) {
        const Proof proof = prove(schedule, {1000});
        REQUIRE(proof.findings.size() == 1);
        CHECK(proof.findings.front().fault == Fault::malformed);
        return proof.findings.front().text;
    };
    Schedule schedule = schedule_of(Operation::all_gather, 3, swap_and_add());
    CHECK(complaint(schedule) == "3 chunks do not make 2 equal blocks, one for each rank");
    schedule.chunks = 0;
    CHECK(complaint(schedule) == "a schedule for 2 ranks and 0 chunks");
    schedule = schedule_of(Operation::reduce, 1, swap_and_add());
    schedule.root = RankId{2};
    CHECK(complaint(schedule) == "root 2 of 2 ranks");
    schedule = schedule_of(Operation::all_to_all_v, 2, swap_and_add());
    CHECK(complaint(schedule) == "all_to_all_v without the sizes of 2 ranks");
    schedule = schedule_of(Operation::all_reduce, 1, swap_and_add());
    schedule.groups = {{RankId{0}, RankId{0}}};
    CHECK(complaint(schedule) == "group 0 has rank 0 twice");
    schedule.groups = {{RankId{0}, RankId{5}}};
    CHECK(complaint(schedule) == "group 0 has rank 5 of 2");
    schedule.groups.clear();
    schedule.result = Buffer::scratch;
    CHECK(complaint(schedule) == "a result of 1 chunks due in a scratch buffer of 0");
    schedule.result = Buffer::data;
    schedule.program = nullptr;
    CHECK(complaint(schedule) == "a schedule without programs");
    schedule = schedule_of(Operation::all_reduce, std::numeric_limits<std::uint32_t>::max(), swap_and_add());
    CHECK(complaint(schedule) == "2 ranks with 4294967295 chunks and 0 of scratch are more than can be played");
}

TEST_CASE("prover: loops without end are refused, those without instructions skipped", "[collective][prover]") {
    constexpr std::uint32_t most = std::numeric_limits<std::uint32_t>::max();
    Programs programs = swap_and_add();
    programs[0].push_back(
        {.channel = 1, .rounds = most, .blocks = {{.iterations = most}, {.iterations = 0, .body = {send(9)}}}});
    CHECK(holds(schedule_of(Operation::all_reduce, 1, programs)));
    programs[0].back().blocks.push_back({.iterations = most, .body = {signal(0)}});
    CHECK(found(schedule_of(Operation::all_reduce, 1, programs)).front() ==
          "malformed: rank 0 in step 0 of thread 1: more instructions than can be played");
}

TEST_CASE("prover: counts contributions up to 255", "[collective][prover]") {
    Programs programs = swap_and_add();
    const Instruction twice{.verb = Verb::reduce};  // adds the chunk to itself
    programs[0].front().blocks.push_back({.iterations = 3, .body = {twice}});
    CHECK(found(schedule_of(Operation::all_reduce, 1, programs)) ==
          std::vector<std::string>{
              "doubled: rank 0 ends with the contribution of rank 0 and 1 other 8 times in chunk 0"});
    programs[0].front().blocks.back().iterations = 40;
    CHECK(found(schedule_of(Operation::all_reduce, 1, programs)).front() ==
          "doubled: rank 0 ends with the contribution of rank 0 and 1 other 255 times in chunk 0");
}

TEST_CASE("prover: transfers tell what came from whom in which step", "[collective][prover]") {
    // Two pieces down a chain of three: the second piece follows the first on each connection.
    const auto both = [](Instruction instruction, std::uint32_t piece) {
        instruction.chunk = at(piece);
        return instruction;
    };
    const Schedule chain = schedule_of(
        Operation::broadcast, 2,
        {program({send(1, 0), send(1, 1)}), program({receive(0, 0), both(send(2), 0), receive(0, 1), both(send(2), 1)}),
         program({receive(1, 0), receive(1, 1)})});
    const Proof proof = prove(chain, {1001}, Turns::forward, Record::transfers);
    REQUIRE(proof.holds());
    REQUIRE(proof.transfers.size() == 4);
    struct Row {
        std::uint32_t step;
        std::uint32_t turn;
        std::uint32_t to;
        std::uint32_t chunk;
        std::int64_t bytes;
    };
    // 1001 bytes in two chunks: 500 and 501.
    const Row rows[] = {{1, 1, 1, 0, 500}, {1, 2, 1, 1, 501}, {2, 2, 2, 0, 500}, {2, 3, 2, 1, 501}};
    for (std::size_t i = 0; i < 4; ++i) {
        const Transfer& transfer = proof.transfers[i];
        CAPTURE(i);
        CHECK(transfer.step == rows[i].step);
        CHECK(transfer.turn == rows[i].turn);
        CHECK(transfer.to == RankId{rows[i].to});
        CHECK(transfer.from == RankId{rows[i].to - 1});
        CHECK(transfer.chunks == std::vector<std::uint32_t>{rows[i].chunk});
        CHECK(transfer.contents == std::vector<Content>{{.chunk = rows[i].chunk, .ranks = {{0, 1}}}});
        CHECK(transfer.bytes.value == rows[i].bytes);
    }
    CHECK(proof.depth == 2);
    CHECK(prove(chain, {1001}).transfers.empty());
}

TEST_CASE("prover: a drain makes one message follow the other", "[collective][prover]") {
    const auto fan_out = [](std::vector<Instruction> body) {
        return schedule_of(Operation::broadcast, 1,
                           {program(std::move(body)), program({receive(0)}), program({receive(0)})});
    };
    CHECK(prove(fan_out({send(1), send(2)}), {1000}).depth == 1);
    const Proof drained = prove(fan_out({send(1), {.verb = Verb::drain, .peer = RankId{1}}, send(2)}), {1000});
    CHECK(drained.holds());
    CHECK(drained.depth == 2);
}

TEST_CASE("prover: what ranks start with", "[collective][prover]") {
    Schedule schedule = schedule_of(Operation::all_to_all, 4, swap_and_add());
    schedule.scratch_chunks = 3;
    const auto data = initial_contents(schedule, RankId{1}, Buffer::data);
    REQUIRE(data.size() == 4);
    CHECK(data[2] == Content{.chunk = 2, .ranks = {{1, 1}}});
    const auto received = initial_contents(schedule, RankId{1}, Buffer::received);
    CHECK(received[1].ranks.empty());
    CHECK(received[2] == Content{.chunk = 2, .ranks = {{1, 1}}});
    CHECK(initial_contents(schedule, RankId{1}, Buffer::scratch) == std::vector<Content>(3));
}

// Programs of anything at all: no crash, no endless run, and the same answer twice.

namespace {

ChunkIndex any_index(Draw& draw, std::uint32_t chunks) {
    const std::vector<std::uint32_t> numbers{0,          0,      1, 2,
                                             chunks - 1, chunks, 7, std::numeric_limits<std::uint32_t>::max()};
    ChunkIndex chunk{.offset = draw.one_in(3) ? draw.of(numbers) : 0,
                     .first = draw.one_in(20) ? draw.of(numbers) : draw.below(chunks)};
    chunk.modulus = draw.one_in(20) ? draw.of(numbers) : chunks;
    chunk.stride = static_cast<std::int32_t>(draw.one_in(20) ? draw.of(numbers) : draw.below(3)) - 1;
    chunk.scale = draw.one_in(20) ? draw.of(numbers) : 1;
    if (draw.one_in(10)) {
        chunk.order = std::make_shared<const std::vector<std::uint32_t>>(std::vector<std::uint32_t>{2, 1, 0, 5});
    }
    return chunk;
}

Instruction any_instruction(Draw& draw, std::uint32_t ranks, std::uint32_t chunks) {
    const std::vector<Buffer> buffers{Buffer::data, Buffer::data, Buffer::received, Buffer::scratch};
    Instruction made{.verb = static_cast<Verb>(draw.below(static_cast<std::uint32_t>(Verb::drain) + 1)),
                     .buffer = draw.of(buffers),
                     .peer = RankId{draw.below(ranks + (draw.one_in(30) ? 1 : 0))},
                     .chunk = any_index(draw, chunks)};
    made.count = draw.one_in(10) ? draw.below(4) : 1;
    made.group = draw.one_in(30) ? 2 : draw.below(2);
    made.from_buffer = draw.of(buffers);
    made.from = any_index(draw, chunks);
    made.event = draw.below(2);
    if (draw.one_in(12)) {
        made.chunks = std::make_shared<const std::vector<std::uint32_t>>(
            std::vector<std::uint32_t>{draw.below(chunks), draw.below(chunks + 1)});
    }
    return made;
}

RankProgram any_program(Draw& draw, std::uint32_t ranks, std::uint32_t chunks) {
    RankProgram made(1 + draw.below(2));
    for (Thread& thread : made) {
        thread.channel = draw.below(2);
        thread.rounds = draw.one_in(8) ? draw.below(4) : 1;
        thread.round_stride = draw.below(2);
        thread.blocks.resize(1 + draw.below(2));
        for (Block& block : thread.blocks) {
            block.iterations = draw.one_in(6) ? draw.below(5) : 1;
            for (std::uint32_t i = draw.below(6); i > 0; --i) {
                block.body.push_back(any_instruction(draw, ranks, chunks));
            }
        }
    }
    return made;
}

}  // namespace

TEST_CASE("prover: survives programs of anything at all", "[collective][prover]") {
    const auto seed = GENERATE(range(0U, 8U));
    Draw draw(seed);
    std::size_t played = 0;
    for (int trial = 0; trial < 500; ++trial) {
        const std::uint32_t ranks = 1 + draw.below(4);
        const std::uint32_t chunks = ranks * (1 + draw.below(2));
        Programs programs;
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            programs.push_back(any_program(draw, ranks, chunks));
        }
        Schedule schedule =
            schedule_of(operations()[draw.below(static_cast<std::uint32_t>(operations().size()))], chunks, programs);
        schedule.scratch_chunks = draw.below(3);
        schedule.sizes = std::make_shared<const SizeMatrix>(
            SizeMatrix{.ranks = ranks, .bytes = std::vector<Bytes>(std::size_t{ranks} * ranks, Bytes{3})});
        schedule.groups.resize(2);
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            schedule.groups[rank % 2].push_back(id_at<RankId>(rank));
            if (rank % 2 == 1) {
                schedule.groups[0].push_back(id_at<RankId>(rank));
            }
        }
        for (const Turns turns : {Turns::forward, Turns::backward}) {
            const Proof proof = prove(schedule, {1000}, turns, Record::transfers);
            CHECK(proof.findings.size() <= 10);
            CHECK(texts(proof) == texts(prove(schedule, {1000}, turns)));
            played += proof.steps.empty() ? 0 : 1;
        }
    }
    CHECK(played > 20);  // not all of it is refused before it is played
}
