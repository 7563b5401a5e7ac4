#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/base/units.h"
#include "sim/workload/layers.h"
#include "sim/workload/task_graph.h"

namespace lockstep::workload {

/// Gradients that are all-reduced together.
struct Bucket {
    Bytes bytes;
    std::size_t completed_by = 0;  ///< the layer whose backward pass makes the last of them
};

/// Gathers the gradients of `layers` as PyTorch's DistributedDataParallel does once it knows the order in which they
/// become ready: tensors in reverse order; one is never split; a bucket closes with the tensor that takes it to its cap
/// or beyond. first_cap: of the first bucket; cap: of the others; each at least 1 byte. Returns: the buckets in the
/// order in which they are completed; the last may be smaller than its cap. Source: PyTorch,
/// torch/csrc/distributed/c10d/reducer.cpp, compute_bucket_assignment_by_size.
std::vector<Bucket> gradient_buckets(std::span<const Layer> layers, Bytes first_cap, Bytes cap);

/// When the all-reduce of a bucket is issued.
enum class Overlap : std::uint8_t { with_backward, after_backward };

/// The stream of kernels and the stream of the gradients' all-reduces.
inline constexpr StreamId compute_stream{0};
inline constexpr StreamId data_parallel_stream{1};

/// What differs from one kind of GPU to another.
struct GpuSpeed {
    std::optional<FlopRate> rate;  ///< reached in FLOPs of layers; absent where they are given as times
    Seconds optimizer;
};

/// The call of each bucket, all of the family `gradients`. how: its algorithm or schedule.
std::vector<CollectiveCall> gradient_calls(std::span<const Bucket> buckets, const CollectiveCall& how,
                                           std::uint32_t communicator);

/// A step of data-parallel training: forward in order, backward in reverse, the all-reduce of each bucket, and the
/// optimizer once all are done. Call i is that of bucket i.
Program data_parallel_program(std::span<const Layer> layers, std::span<const Bucket> buckets, Overlap overlap,
                              const GpuSpeed& speed);

}  // namespace lockstep::workload
