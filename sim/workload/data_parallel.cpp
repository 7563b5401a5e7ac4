#include "sim/workload/data_parallel.h"

#include <ranges>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace lockstep::workload {

namespace {

Seconds time_of(const Work& work, const GpuSpeed& speed) {
    if (const Seconds* const time = std::get_if<Seconds>(&work)) {
        return *time;
    }
    if (!speed.rate) {
        throw std::invalid_argument("a layer is given in FLOPs and the GPU without a rate");
    }
    return std::get<Flops>(work) / *speed.rate;
}

TaskId append(Program& program, Task task) {
    program.push_back(std::move(task));
    return id_at<TaskId>(program.size() - 1);
}

}  // namespace

std::vector<Bucket> gradient_buckets(std::span<const Layer> layers, Bytes first_cap, Bytes cap) {
    if (first_cap.value < 1 || cap.value < 1) {
        throw std::invalid_argument("the cap of a bucket is at least 1 byte");
    }
    std::vector<Bucket> buckets;
    Bytes gathered;
    std::size_t completed_by = 0;
    const auto close = [&] {
        buckets.push_back({gathered, completed_by});
        gathered = {};
    };
    for (std::size_t layer = layers.size(); layer-- > 0;) {
        for (const Bytes gradient : layers[layer].gradients | std::views::reverse) {
            gathered += gradient;
            completed_by = layer;
            if (gathered >= (buckets.empty() ? first_cap : cap)) {
                close();
            }
        }
    }
    if (gathered.value > 0) {
        close();
    }
    return buckets;
}

std::vector<CollectiveCall> gradient_calls(std::span<const Bucket> buckets, const CollectiveCall& how,
                                           std::uint32_t communicator) {
    std::vector<CollectiveCall> calls;
    calls.reserve(buckets.size());
    for (const Bucket& bucket : buckets) {
        calls.push_back({.name = "gradients",
                         .kind = Parallelism::data,
                         .request = {.operation = collective::Operation::all_reduce, .bytes = bucket.bytes},
                         .algorithm = how.algorithm,
                         .communicator = communicator,
                         .schedule = how.schedule});
    }
    return calls;
}

Program data_parallel_program(std::span<const Layer> layers, std::span<const Bucket> buckets, Overlap overlap,
                              const GpuSpeed& speed) {
    Program program;
    program.reserve(2 * layers.size() + buckets.size() + 1);
    for (const Layer& layer : layers) {
        append(program,
               {.label = layer.name + " forward", .stream = compute_stream, .duration = time_of(layer.forward, speed)});
    }
    std::vector<TaskId> reduced;
    reduced.reserve(buckets.size());
    const auto reduce = [&](TaskId ready) {
        const std::size_t bucket = reduced.size();
        reduced.push_back(append(program, {.label = fmt::format("gradients bucket {}", bucket),
                                           .stream = data_parallel_stream,
                                           .call = id_at<CallId>(bucket),
                                           .after = {ready}}));
    };
    TaskId last{};
    for (std::size_t layer = layers.size(); layer-- > 0;) {
        last = append(program, {.label = layers[layer].name + " backward",
                                .stream = compute_stream,
                                .duration = time_of(layers[layer].backward, speed)});
        while (overlap == Overlap::with_backward && reduced.size() < buckets.size() &&
               buckets[reduced.size()].completed_by == layer) {
            reduce(last);
        }
    }
    while (reduced.size() < buckets.size()) {
        reduce(last);
    }
    append(program,
           {.label = "optimizer", .stream = compute_stream, .duration = speed.optimizer, .after = std::move(reduced)});
    return program;
}

}  // namespace lockstep::workload
