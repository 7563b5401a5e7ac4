#pragma once

#include <filesystem>
#include <ostream>
#include <string>
#include <string_view>

#include "sim/collective/schedule.h"

namespace lockstep::interop {

/// Reads an algorithm in MSCCL's XML, as msccl-tools writes it and NCCL's executors of it take it.
///
/// A thread block becomes a thread on its channel, a step one or more instructions, a dependency a signal and a wait.
/// `i` is Buffer::data. `o` is the same in place and Buffer::received out of place, where the result is then due there.
/// Steps that receive and pass on without storing (`rrs`), or that add what they receive to something else than their
/// target, go through scratch of their own. Sends do not wait, as everywhere here; in the executor a thread block is
/// busy until a send has left it.
///
/// Not kept: `proto`, `minBytes`, `maxBytes` (they say when a library would choose the algorithm). Of our own: `root`
/// of `algo` (rank 0 if absent) and `drain` of a `nop` (Verb::drain to the thread block's receiver).
///
/// Throws: InputError with the position for what is no XML, for elements, attributes and values that the format does
/// not have, chunks, peers, thread blocks and steps that do not exist, and more than two million steps.
/// Source: github.com/microsoft/msccl-tools, msccl/language/ir.py; github.com/Azure/msccl-executor-nccl,
/// src/misc/msccl/msccl_parser.cc and src/device/msccl_kernel.cu.
collective::Schedule read_msccl(const std::filesystem::path& path);
/// As read_msccl, from memory; `name` stands for the file in messages.
collective::Schedule parse_msccl(std::string_view text, const std::string& name);

/// Writes a schedule in that format, loops unrolled. Each thread is spread over thread blocks of one receiver and one
/// sender; what a step has to follow in other thread blocks it depends on. Scattered chunks are packed in scratch, and
/// what all_to_all leaves where it was is copied. Read back, the schedule sends the same messages of the same size in
/// the same order of causes (sizes that the chunks divide).
/// Throws: InputError for what MSCCL has no word for: sums and copies in switches, an operation that it does not know
/// (all_to_all_v, send_recv, permutation, barrier), events that several threads signal or wait for, and more than half
/// a million steps; before anything is written.
void write_msccl(std::ostream& out, const collective::Schedule& schedule);

}  // namespace lockstep::interop
