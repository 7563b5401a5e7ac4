#include "sim/cli/targets.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/diagnostics.h"

namespace lockstep::cli {

namespace fs = std::filesystem;

namespace {

constexpr int most_links = 40;  // as the kernel follows

std::string reason(int error) { return std::generic_category().message(error); }

[[noreturn]] void refuse(const std::string& target, std::string_view why) {
    throw InputError(fmt::format("cannot write {}: {}", excerpt(target), why));
}

/// The descriptor of this process that a path in its last part names (`/proc/self/fd/1`, `/dev/fd/1`).
std::optional<int> descriptor_at(const fs::path& folder, const std::string& name) {
    int descriptor = 0;
    const char* const end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data(), end, descriptor);
    if (error != std::errc() || stop != end || descriptor < 0) {
        return std::nullopt;
    }
    for (const char* const own : {"/proc/self/fd", "/proc/thread-self/fd", "/dev/fd"}) {
        std::error_code none;
        if (folder == fs::canonical(own, none) && !none) {
            return descriptor;
        }
    }
    return std::nullopt;
}

/// What a file is by itself, whatever its names.
struct Identity {
    dev_t device;
    ino_t number;
    bool operator==(const Identity& other) const { return device == other.device && number == other.number; }
};

/// None for what cannot be asked, and for devices: a terminal or /dev/null takes any number of results.
std::optional<Identity> identity_of(int error, const struct stat& status) {
    if (error != 0 || S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) {
        return std::nullopt;
    }
    return Identity{status.st_dev, status.st_ino};
}

std::optional<Identity> identity_of(int descriptor) {
    struct stat status {};
    const int error = ::fstat(descriptor, &status);
    return identity_of(error, status);
}

std::optional<Identity> identity_of(const Target& target) {
    if (target.kind == TargetKind::descriptor) {
        return identity_of(target.descriptor);
    }
    struct stat status {};
    const int error = ::stat(target.place.c_str(), &status);
    return identity_of(error, status);
}

void check_descriptor(const std::string& name, int descriptor) {
    if (descriptor == STDOUT_FILENO) {
        return;  // as for text: found out when it is written
    }
    const int flags = ::fcntl(descriptor, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) {
        refuse(name, reason(EBADF));
    }
}

void check_place(const std::string& name, const Target& target) {
    std::error_code error;
    if (name.back() == '/' || fs::is_directory(target.place, error)) {
        refuse(name, "it is a directory");
    }
    const fs::path folder = target.place.parent_path();
    if (!fs::is_directory(folder, error)) {
        refuse(name, fmt::format("there is no folder {}", excerpt(folder.string())));
    }
    const bool exists = ::access(target.place.c_str(), F_OK) == 0;
    if (exists && ::access(target.place.c_str(), W_OK) != 0) {
        refuse(name, reason(errno));
    }
    if (target.kind == TargetKind::file && ::access(folder.c_str(), W_OK | X_OK) != 0) {
        refuse(name, reason(errno));
    }
    // A file that takes its place would take it from the stream, too.
    constexpr std::array streams{std::pair(STDOUT_FILENO, "output"), std::pair(STDERR_FILENO, "error")};
    for (const auto& [stream, what] : streams) {
        if (const auto identity = identity_of(target); identity && identity == identity_of(stream)) {
            refuse(name, fmt::format("standard {} goes there already", what));
        }
    }
}

bool are_one(const Target& one, const Target& other) {
    if (one.kind == TargetKind::descriptor && other.kind == TargetKind::descriptor &&
        one.descriptor == other.descriptor) {
        return true;
    }
    if (one.kind != TargetKind::descriptor && other.kind != TargetKind::descriptor && one.place == other.place) {
        return one.place != "/dev/null";  // which takes any number of results
    }
    const auto identity = identity_of(one);
    return identity && identity == identity_of(other);
}

}  // namespace

Target resolve_target(const std::string& target) {
    if (target == "-") {
        return {TargetKind::descriptor, STDOUT_FILENO, {}};
    }
    std::error_code error;
    fs::path path = fs::absolute(target, error);
    for (int followed = 0; followed <= most_links; ++followed) {
        const fs::path folder = fs::weakly_canonical(path.parent_path(), error);
        if (error) {
            refuse(target, error.message());
        }
        const fs::path place = folder / path.filename();
        // Before links are read: that of a descriptor leads to the file behind it, which must not be replaced.
        if (const auto descriptor = descriptor_at(folder, path.filename().string())) {
            return {TargetKind::descriptor, *descriptor, {}};
        }
        struct stat status {};
        if (::lstat(place.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) {
            const bool is_special = ::stat(place.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
            return {is_special ? TargetKind::in_place : TargetKind::file, -1, place};
        }
        // Descriptors of other processes may be links that lead nowhere: pipes.
        if (::stat(place.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
            const fs::path end = fs::canonical(place, error);
            return {TargetKind::in_place, -1, error ? place : end};
        }
        path = folder / fs::read_symlink(place, error);  // an absolute one stays as it is
    }
    refuse(target, reason(ELOOP));
}

bool is_standard_output(const std::string& target) {
    if (target.empty()) {
        return false;
    }
    const Target resolved = resolve_target(target);
    return resolved.kind == TargetKind::descriptor && resolved.descriptor == STDOUT_FILENO;
}

void check_targets(std::span<const std::string> targets) {
    std::vector<Target> others;
    for (const std::string& name : targets) {
        if (name.empty()) {
            throw InputError("an output needs a path, or - for standard output");
        }
        const Target target = resolve_target(name);
        if (target.kind == TargetKind::descriptor) {
            check_descriptor(name, target.descriptor);
        } else {
            check_place(name, target);
        }
        if (std::ranges::any_of(others, [&](const Target& other) { return are_one(target, other); })) {
            throw InputError(fmt::format("two results cannot both go to {}", excerpt(name)));
        }
        others.push_back(target);
    }
    const Target text{TargetKind::descriptor, STDOUT_FILENO, {}};
    const bool is_taken = std::ranges::any_of(others, [](const Target& other) {
        return other.kind == TargetKind::descriptor && other.descriptor == STDOUT_FILENO;
    });
    for (std::size_t at = 0; at < others.size() && !is_taken; ++at) {
        if (are_one(text, others[at])) {
            refuse(targets[at], "standard output goes there already");
        }
    }
}

void refuse_inputs_as_targets(std::span<const std::string> targets, std::span<const InputPath> inputs) {
    for (const std::string& target : targets) {
        if (is_standard_output(target)) {
            continue;
        }
        for (const InputPath& input : inputs) {
            std::error_code none;  // a file that does not exist is no input
            if (fs::is_regular_file(target, none) && fs::equivalent(target, input.path, none)) {
                throw InputError(
                    fmt::format("cannot write {}: it is the {} that is read", excerpt(target), input.role));
            }
        }
    }
}

}  // namespace lockstep::cli
