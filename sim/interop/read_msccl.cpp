#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/base/diagnostics.h"
#include "sim/base/text_file.h"
#include "sim/interop/msccl.h"
#include "sim/interop/msccl_names.h"
#include "sim/interop/xml_element.h"

namespace lockstep::interop {

using collective::Block;
using collective::Buffer;
using collective::ChunkIndex;
using collective::Instruction;
using collective::Operation;
using collective::RankProgram;
using collective::Schedule;
using collective::Thread;
using collective::Verb;

namespace {

constexpr std::int64_t most_ranks = 1 << 16;
constexpr std::int64_t most_chunks = 1 << 24;
constexpr std::int64_t most_channels = 1024;
constexpr std::int64_t most_steps = 1 << 21;
constexpr std::int64_t most_bytes = std::int64_t{1} << 62;

/// A run of chunks, as a step names it and as we do.
struct Run {
    Buffer buffer = Buffer::data;
    std::uint32_t first = 0;

    bool operator==(const Run&) const = default;
};

/// A step that another one waits for: its thread block and its number there.
using StepKey = std::pair<std::int64_t, std::int64_t>;

struct Step {
    XmlElement at;
    MscclStep kind = MscclStep::nop;
    Run source = {};
    Run target = {};
    std::uint32_t count = 0;
    std::optional<StepKey> after = {};
    bool is_waited_for = false;
    bool drains = false;
};

struct ThreadBlock {
    XmlElement at;
    std::int64_t id = 0;
    std::optional<RankId> send = {};
    std::optional<RankId> receive = {};
    std::uint32_t channel = 0;
    std::vector<Step> steps = {};
};

/// Chunks of a GPU's buffers.
struct Sizes {
    std::int64_t input = 0;
    std::int64_t output = 0;
    std::int64_t scratch = 0;
};

class Reader {
  public:
    explicit Reader(const XmlFile& file) : file_(&file) {}

    Schedule read() {
        XmlElement algo(*file_, file_->root(), "algo");
        read_head(algo);
        auto programs = std::make_shared<std::vector<RankProgram>>(schedule_.ranks);
        std::vector<bool> is_read(schedule_.ranks, false);
        for (XmlElement& gpu : algo.children("gpu")) {
            const auto id = static_cast<std::size_t>(gpu.count("id", 0, std::int64_t{schedule_.ranks} - 1));
            if (is_read[id]) {
                gpu.fail("id", fmt::format("gpu {} is there already", id));
            }
            is_read[id] = true;
            rank_ = id_at<RankId>(id);
            (*programs)[id] = read_gpu(gpu);
        }
        const auto missing = std::ranges::find(is_read, false);
        if (missing != is_read.end()) {
            algo.fail(fmt::format("ngpus says {}, and there is no `gpu` with id {}", schedule_.ranks,
                                  missing - is_read.begin()));
        }
        schedule_.scratch_chunks = static_cast<std::uint32_t>(most_scratch_);
        schedule_.program = [programs](RankId rank) { return (*programs)[index(rank)]; };
        return std::move(schedule_);
    }

  private:
    void read_head(XmlElement& algo) {
        schedule_.algorithm = algo.text("name");
        if (schedule_.algorithm.empty()) {
            algo.fail("name", "expected a name, got an empty one");
        }
        if (!is_one_line(schedule_.algorithm)) {
            algo.fail("name", fmt::format("expected one line without control characters, got {}",
                                          excerpt(schedule_.algorithm)));
        }
        static const std::array<std::string, 3> protocols{"Simple", "LL", "LL128"};
        algo.one_of("proto", protocols);
        schedule_.operation = operation_of(algo.one_of("coll", msccl_operation_names()));
        schedule_.ranks = static_cast<std::uint32_t>(algo.count("ngpus", 1, most_ranks));
        schedule_.channels = static_cast<std::uint32_t>(algo.count("nchannels", 1, most_channels));
        schedule_.chunks = static_cast<std::uint32_t>(algo.count("nchunksperloop", 1, most_chunks));
        const bool in_place = algo.count("inplace", 0, 1) == 1;
        const bool out_of_place = algo.find_count("outofplace", 0, 1).value_or(in_place ? 0 : 1) == 1;
        if (!in_place && !out_of_place) {
            algo.fail("outofplace", "the algorithm is neither for work in place nor out of place");
        }
        // One that can do both is read as if in place, where what it copies from `i` to `o` is there already.
        schedule_.result = in_place ? Buffer::data : Buffer::received;
        algo.find_count("minBytes", 0, most_bytes);
        algo.find_count("maxBytes", 0, most_bytes);
        algo.find("redop");
        if (const auto root = algo.find_count("root", 0, std::int64_t{schedule_.ranks} - 1)) {
            if (!collective::has_root(schedule_.operation)) {
                algo.fail("root", fmt::format("{} has no root", collective::name_of(schedule_.operation)));
            }
            schedule_.root = id_at<RankId>(static_cast<std::size_t>(*root));
        }
        if (has_blocks(schedule_.operation) && schedule_.chunks % schedule_.ranks != 0) {
            algo.fail("nchunksperloop",
                      fmt::format("{} has a block of chunks for each rank: expected a multiple of {}, got {}",
                                  collective::name_of(schedule_.operation), schedule_.ranks, schedule_.chunks));
        }
        algo.finish();
    }

    RankProgram read_gpu(XmlElement& gpu) {
        const Region input = region_of(schedule_, MscclBuffer::input, rank_);
        const Region output = region_of(schedule_, MscclBuffer::output, rank_);
        sizes_ = {.input = gpu.count("i_chunks", 0, input.size),
                  .output = gpu.count("o_chunks", 0, output.size),
                  .scratch = gpu.count("s_chunks", 0, most_chunks)};
        gpu.finish();
        scratch_ = sizes_.scratch;
        std::vector<ThreadBlock> blocks;
        for (XmlElement& block : gpu.children("tb")) {
            blocks.push_back(read_thread_block(block));
        }
        std::ranges::stable_sort(blocks, {}, &ThreadBlock::id);
        for (std::size_t at = 0; at < blocks.size(); ++at) {
            if (blocks[at].id != static_cast<std::int64_t>(at)) {
                blocks[at].at.fail("id", fmt::format("expected the thread blocks 0 to {}, each once, got {}",
                                                     blocks.size() - 1, blocks[at].id));
            }
        }
        require_own_ends(blocks);
        RankProgram program = threads_of(blocks);
        most_scratch_ = std::max(most_scratch_, scratch_);
        if (most_scratch_ > most_chunks) {
            gpu.fail(fmt::format("needs more than {} chunks of scratch", most_chunks));
        }
        return program;
    }

    std::optional<RankId> read_peer(XmlElement& block, std::string_view attribute) const {
        const std::int64_t peer = block.count(attribute, -1, std::int64_t{schedule_.ranks} - 1);
        if (peer == static_cast<std::int64_t>(index(rank_))) {
            block.fail(attribute, "a gpu has no connection to itself");
        }
        return peer < 0 ? std::nullopt : std::optional(id_at<RankId>(static_cast<std::size_t>(peer)));
    }

    ThreadBlock read_thread_block(XmlElement& element) {
        ThreadBlock block{.at = element};
        block.id = element.count("id", 0, most_steps);
        block.send = read_peer(element, "send");
        block.receive = read_peer(element, "recv");
        block.channel = static_cast<std::uint32_t>(element.count("chan", 0, std::int64_t{schedule_.channels} - 1));
        element.finish();
        for (XmlElement& step : element.children("step")) {
            if (++steps_ > most_steps) {
                step.fail(fmt::format("the file has more than {} steps", most_steps));
            }
            block.steps.push_back(read_step(step, block));
        }
        return block;
    }

    Step read_step(XmlElement& element, const ThreadBlock& block) {
        Step step{.at = element};
        const auto number = static_cast<std::int64_t>(block.steps.size());
        if (element.count("s", 0, most_steps) != number) {
            element.fail("s", fmt::format("steps count up from 0: expected {}, got {}", number, element.text("s")));
        }
        step.kind = msccl_step_named(element.one_of("type", msccl_step_names()));
        const bool is_nop = step.kind == MscclStep::nop;
        step.count = static_cast<std::uint32_t>(element.count("cnt", is_nop ? 0 : 1, most_chunks));
        step.source = read_run(element, "srcbuf", "srcoff", uses_source(step.kind), step.count);
        step.target = read_run(element, "dstbuf", "dstoff", uses_target(step.kind), step.count);
        if (sends(step.kind) && !block.send) {
            element.fail("type", "sends, and the thread block has no `send`");
        }
        if (receives(step.kind) && !block.receive) {
            element.fail("type", "receives, and the thread block has no `recv`");
        }
        const std::int64_t after = element.count("depid", -1, most_steps);
        const std::int64_t after_step = element.count("deps", -1, most_steps);
        if ((after < 0) != (after_step < 0)) {
            element.fail("deps", "depid and deps name a step together, or are both -1");
        }
        if (after >= 0) {
            step.after = {after, after_step};
        }
        step.is_waited_for = element.count("hasdep", 0, 1) == 1;
        step.drains = element.find_count("drain", 0, 1).value_or(0) == 1;
        if (step.drains && (!is_nop || !block.send)) {
            element.fail("drain", "is of a `nop` in a thread block that sends");
        }
        element.finish();
        return step;
    }

    /// The chunks that a step names. Those that it does not use (a sender's note on where they end up) may be anything.
    Run read_run(XmlElement& element, std::string_view buffer, std::string_view offset, bool is_used,
                 std::uint32_t count) const {
        static const std::array<std::string, 3> names{"i", "o", "s"};
        const std::string name = element.one_of(buffer, names);
        const std::int64_t size = name == "i" ? sizes_.input : name == "o" ? sizes_.output : sizes_.scratch;
        const std::int64_t at = element.count(offset, -1, most_chunks);
        if (!is_used) {
            return {};
        }
        if (at < 0 || at + count > size) {
            element.fail(offset, fmt::format("`{}` of gpu {} has {} chunks, and {} from {} on do not lie in it", name,
                                             index(rank_), size, count, at));
        }
        if (name == "s") {
            return {Buffer::scratch, static_cast<std::uint32_t>(at)};
        }
        const Region region = region_of(schedule_, name == "i" ? MscclBuffer::input : MscclBuffer::output, rank_);
        return {region.buffer, region.first + static_cast<std::uint32_t>(at)};
    }

    /// Throws: InputError for two thread blocks that use one end of a connection.
    static void require_own_ends(const std::vector<ThreadBlock>& blocks) {
        std::set<std::tuple<std::uint32_t, bool, RankId>> ends;
        for (const ThreadBlock& block : blocks) {
            const auto claim = [&](const std::optional<RankId>& peer, bool is_sender) {
                const bool is_used = std::ranges::any_of(
                    block.steps, [&](const Step& step) { return is_sender ? sends(step.kind) : receives(step.kind); });
                if (peer && is_used && !ends.emplace(block.channel, is_sender, *peer).second) {
                    block.at.fail(is_sender ? "send" : "recv",
                                  fmt::format("another thread block {} gpu {} on channel {}",
                                              is_sender ? "sends to" : "receives from", index(*peer), block.channel));
                }
            };
            claim(block.send, true);
            claim(block.receive, false);
        }
    }

    RankProgram threads_of(const std::vector<ThreadBlock>& blocks) {
        // An event for each step that waits, since a signal is used up by the wait that it lets go on.
        std::map<StepKey, std::vector<std::uint32_t>> signals;
        std::map<const Step*, std::uint32_t> waits;
        std::uint32_t events = 0;
        for (const ThreadBlock& block : blocks) {
            for (std::size_t number = 0; number < block.steps.size(); ++number) {
                const Step& step = block.steps[number];
                if (step.after && require_step(blocks, block, static_cast<std::int64_t>(number), step)) {
                    signals[*step.after].push_back(events);
                    waits.emplace(&step, events++);
                }
            }
        }
        RankProgram program;
        for (const ThreadBlock& block : blocks) {
            Block made;
            const auto spare = static_cast<std::uint32_t>(scratch_);  // of this thread block's own
            for (std::size_t number = 0; number < block.steps.size(); ++number) {
                const Step& step = block.steps[number];
                if (const auto wait = waits.find(&step); wait != waits.end()) {
                    made.body.push_back({.verb = Verb::wait, .peer = rank_, .event = wait->second});
                }
                append(made.body, step, block, spare);
                const auto found = signals.find({block.id, static_cast<std::int64_t>(number)});
                for (const std::uint32_t event :
                     found == signals.end() ? std::vector<std::uint32_t>() : found->second) {
                    made.body.push_back({.verb = Verb::signal, .peer = rank_, .event = event});
                }
            }
            if (!made.body.empty()) {
                program.push_back({.channel = block.channel, .blocks = {std::move(made)}});
            }
        }
        return program;
    }

    /// Whether the step has to wait: not for an earlier one of its own thread block. Throws: InputError for a step that
    /// does not exist, does not say that it is waited for, or comes no earlier.
    static bool require_step(const std::vector<ThreadBlock>& blocks, const ThreadBlock& block, std::int64_t number,
                             const Step& step) {
        const auto [id, earlier] = *step.after;
        if (id >= static_cast<std::int64_t>(blocks.size())) {
            step.at.fail("depid", fmt::format("there is no thread block {}", id));
        }
        const std::vector<Step>& steps = blocks[static_cast<std::size_t>(id)].steps;
        if (earlier >= static_cast<std::int64_t>(steps.size())) {
            step.at.fail("deps", fmt::format("thread block {} has no step {}", id, earlier));
        }
        if (id == block.id) {
            if (earlier >= number) {
                step.at.fail("deps",
                             fmt::format("step {} cannot wait for step {} of its own thread block", number, earlier));
            }
            return false;
        }
        if (!steps[static_cast<std::size_t>(earlier)].is_waited_for) {
            step.at.fail("deps", fmt::format("step {} of thread block {} has hasdep=\"0\": nobody would be told that "
                                             "it is done",
                                             earlier, id));
        }
        return true;
    }

    void append(std::vector<Instruction>& body, const Step& step, const ThreadBlock& block, std::uint32_t spare) {
        const auto at = [](std::uint32_t first) { return ChunkIndex{.offset = first}; };
        const auto move = [&](Verb verb, RankId peer, const Run& run) {
            body.push_back(
                {.verb = verb, .buffer = run.buffer, .peer = peer, .chunk = at(run.first), .count = step.count});
        };
        const auto local = [&](Verb verb, const Run& from, const Run& to) {
            if (from == to && verb == Verb::copy) {
                return;  // in place, from `i` to `o`
            }
            body.push_back({.verb = verb,
                            .buffer = to.buffer,
                            .peer = rank_,
                            .chunk = at(to.first),
                            .count = step.count,
                            .from_buffer = from.buffer,
                            .from = at(from.first)});
        };
        const Run held{Buffer::scratch, spare};
        const auto use_spare = [&] { scratch_ = std::max<std::int64_t>(scratch_, std::int64_t{spare} + step.count); };
        const auto receive_and_add = [&] {
            if (step.source == step.target) {
                move(Verb::receive_reduce, *block.receive, step.target);
                return;
            }
            use_spare();
            move(Verb::receive, *block.receive, held);
            local(Verb::copy, step.source, step.target);
            local(Verb::reduce, held, step.target);
        };
        switch (step.kind) {
            case MscclStep::send:
                move(Verb::send, *block.send, step.source);
                break;
            case MscclStep::receive:
                move(Verb::receive, *block.receive, step.target);
                break;
            case MscclStep::receive_copy_send:
                move(Verb::receive, *block.receive, step.target);
                move(Verb::send, *block.send, step.target);
                break;
            case MscclStep::receive_reduce_copy:
                receive_and_add();
                break;
            case MscclStep::receive_reduce_copy_send:
                receive_and_add();
                move(Verb::send, *block.send, step.target);
                break;
            case MscclStep::receive_reduce_send:
                use_spare();
                move(Verb::receive, *block.receive, held);
                local(Verb::reduce, step.source, held);
                move(Verb::send, *block.send, held);
                break;
            case MscclStep::copy:
                local(Verb::copy, step.source, step.target);
                break;
            case MscclStep::reduce:
                local(Verb::reduce, step.source, step.target);
                break;
            case MscclStep::nop:
                if (step.drains) {
                    body.push_back({.verb = Verb::drain, .peer = *block.send});
                }
                break;
        }
    }

    const XmlFile* file_;
    Schedule schedule_ = {};
    RankId rank_{};
    Sizes sizes_ = {};
    std::int64_t scratch_ = 0;       ///< chunks that the rank at hand needs so far
    std::int64_t most_scratch_ = 0;  ///< of all ranks so far
    std::int64_t steps_ = 0;
};

}  // namespace

Schedule parse_msccl(std::string_view text, const std::string& name) {
    require_text(text, name);
    const XmlFile file(text, name);
    return Reader(file).read();
}

Schedule read_msccl(const std::filesystem::path& path) { return parse_msccl(read_text_file(path), path.string()); }

}  // namespace lockstep::interop
