#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "sim/base/diagnostics.h"
#include "sim/interop/msccl.h"
#include "sim/interop/msccl_names.h"
#include "sim/interop/thread_blocks.h"

namespace lockstep::interop {

using collective::Buffer;
using collective::Schedule;

namespace {

constexpr std::int64_t most_steps = 500'000;
constexpr long long any_size = 1LL << 40;

template <class Value>
void set(pugi::xml_node node, const char* name, Value value) {
    node.append_attribute(name) = value;
}

int number_of(const std::optional<RankId>& rank) { return rank ? static_cast<int>(index(*rank)) : -1; }

void add_step(pugi::xml_node block, std::size_t number, const OutStep& step) {
    pugi::xml_node node = block.append_child("step");
    const auto set_place = [&](const char* buffer, const char* offset, const OutStep::Place& place) {
        set(node, buffer, std::string(1, place.buffer).c_str());
        set(node, offset, static_cast<long long>(place.offset));
    };
    // Of a message each side names its own end for both: where the other end lies is nobody's business here.
    const OutStep::Place source = uses_source(step.kind) ? step.source : step.target;
    const OutStep::Place target = uses_target(step.kind) ? step.target : step.source;
    const bool is_nop = step.kind == MscclStep::nop;
    set(node, "s", static_cast<unsigned>(number));
    set(node, "type", std::string(name_of(step.kind)).c_str());
    set_place("srcbuf", "srcoff", is_nop ? step.source : source);
    set_place("dstbuf", "dstoff", is_nop ? step.target : target);
    set(node, "cnt", step.count);
    set(node, "depid", step.after_block ? static_cast<int>(*step.after_block) : -1);
    set(node, "deps", step.after_block ? static_cast<int>(step.after_step) : -1);
    set(node, "hasdep", step.is_waited_for ? 1 : 0);
    if (step.drains) {
        set(node, "drain", 1);
    }
}

}  // namespace

void write_msccl(std::ostream& out, const Schedule& schedule) {
    const auto coll = coll_of(schedule.operation);
    if (!coll) {
        throw InputError(fmt::format("`{}` cannot be said in MSCCL: it has no name for {}", schedule.algorithm,
                                     collective::name_of(schedule.operation)));
    }
    const bool in_place = schedule.result == Buffer::data;
    pugi::xml_document document;
    pugi::xml_node algo = document.append_child("algo");
    set(algo, "name", schedule.algorithm.c_str());
    set(algo, "proto", "Simple");
    set(algo, "nchannels", schedule.channels);
    set(algo, "nchunksperloop", schedule.chunks);
    set(algo, "ngpus", schedule.ranks);
    set(algo, "coll", coll->c_str());
    set(algo, "inplace", in_place ? 1 : 0);
    set(algo, "outofplace", in_place ? 0 : 1);
    set(algo, "minBytes", 0);
    set(algo, "maxBytes", any_size);
    if (collective::has_root(schedule.operation) && index(schedule.root) != 0) {
        set(algo, "root", static_cast<unsigned>(index(schedule.root)));
    }
    std::int64_t steps_left = most_steps;
    for (std::uint32_t rank = 0; rank < schedule.ranks; ++rank) {
        const OutGpu made = thread_blocks_of(schedule, id_at<RankId>(rank), steps_left);
        const bool gathers = schedule.operation == collective::Operation::all_gather ||
                             schedule.operation == collective::Operation::gather;
        const auto size = [&](MscclBuffer buffer) { return region_of(schedule, buffer, id_at<RankId>(rank)).size; };
        pugi::xml_node gpu = algo.append_child("gpu");
        set(gpu, "id", rank);
        set(gpu, "i_chunks", in_place && gathers ? 0U : size(MscclBuffer::input));
        set(gpu, "o_chunks", in_place && !gathers ? 0U : size(MscclBuffer::output));
        set(gpu, "s_chunks", made.scratch_chunks);
        for (std::size_t id = 0; id < made.blocks.size(); ++id) {
            pugi::xml_node block = gpu.append_child("tb");
            set(block, "id", static_cast<unsigned>(id));
            set(block, "send", number_of(made.blocks[id].send));
            set(block, "recv", number_of(made.blocks[id].receive));
            set(block, "chan", made.blocks[id].channel);
            for (std::size_t number = 0; number < made.blocks[id].steps.size(); ++number) {
                add_step(block, number, made.blocks[id].steps[number]);
            }
        }
    }
    document.save(out, "  ", pugi::format_indent | pugi::format_no_declaration);
}

}  // namespace lockstep::interop
