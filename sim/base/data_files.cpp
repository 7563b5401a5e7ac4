#include "sim/base/data_files.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "sim/base/diagnostics.h"

namespace lockstep {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view extension = ".yaml";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The run of digits at `at`, without leading zeros; moves `at` past it.
std::string_view digits_at(std::string_view text, std::size_t& at) {
    while (at < text.size() && text[at] == '0') {
        ++at;
    }
    const std::size_t begin = at;
    while (at < text.size() && is_digit(text[at])) {
        ++at;
    }
    return text.substr(begin, at - begin);
}

bool is_folder(const fs::path& path) {
    std::error_code ignored;
    return fs::is_directory(path, ignored);
}

/// Whether there is something that can be meant as a file: whether it can be read is for the one who opens it to say.
bool is_file(const fs::path& path) {
    std::error_code ignored;
    const fs::file_status status = fs::status(path, ignored);
    return fs::exists(status) && !fs::is_directory(status);
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a.size() && j < b.size()) {
        if (is_digit(a[i]) && is_digit(b[j])) {
            const std::string_view left = digits_at(a, i);
            const std::string_view right = digits_at(b, j);
            if (left.size() != right.size()) {
                return left.size() < right.size();
            }
            if (left != right) {
                return left < right;
            }
        } else {
            if (a[i] != b[j]) {
                return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
            }
            ++i;
            ++j;
        }
    }
    if (i < a.size() || j < b.size()) {
        return j < b.size();
    }
    return a < b;  // equal but for leading zeros
}

DataFiles::DataFiles(fs::path root) : root_(std::move(root)) {
    for (const std::string_view folder : {"topologies", "models", "workloads"}) {
        if (!is_folder(root_ / folder)) {
            throw InputError(
                {root_.string(), 0, 0},
                fmt::format("expected the folder with Lockstep's data, but it has no folder `{}`", folder));
        }
    }
}

DataFiles DataFiles::locate() {
    // Read before any thread is started; nothing here writes the environment.
    if (const char* const told = std::getenv("LOCKSTEP_DATA"); told != nullptr && *told != '\0') {
        try {
            return DataFiles(told);
        } catch (const InputError& error) {
            throw InputError(fmt::format("LOCKSTEP_DATA: {}", error.what()));
        }
    }
    std::error_code unknown;
    const fs::path executable = fs::read_symlink("/proc/self/exe", unknown);
    if (!unknown) {
        const fs::path installed = executable.parent_path().parent_path() / "share" / "lockstep";
        if (is_folder(installed)) {
            return DataFiles(installed);
        }
    }
    if (is_folder(fs::path(LOCKSTEP_SOURCE_DIR) / "topologies")) {
        return DataFiles(LOCKSTEP_SOURCE_DIR);
    }
    throw InputError(
        "Lockstep's data (topologies, models, workloads) is neither at share/lockstep of the installation nor in the "
        "source tree; set LOCKSTEP_DATA to the folder that holds it");
}

std::vector<std::string> DataFiles::names(std::string_view folder) const {
    std::vector<std::string> names;
    std::error_code failure;
    const fs::path directory = root_ / folder;
    for (fs::directory_iterator it(directory, failure), end; !failure && it != end; it.increment(failure)) {
        if (it->path().extension() == extension && is_file(it->path())) {
            names.push_back(it->path().stem().string());
        }
    }
    if (failure) {
        throw InputError({directory.string(), 0, 0}, fmt::format("cannot be listed: {}", failure.message()));
    }
    std::ranges::sort(names, natural_less);
    return names;
}

fs::path DataFiles::resolve(std::string_view folder, std::string_view name_or_path) const {
    const bool looks_like_a_path =
        name_or_path.find('/') != std::string_view::npos || name_or_path.ends_with(extension);
    if (looks_like_a_path || (!name_or_path.empty() && is_file(name_or_path))) {
        return name_or_path;
    }
    fs::path shipped = root_ / folder / fmt::format("{}{}", name_or_path, extension);
    if (!name_or_path.empty() && is_file(shipped)) {
        return shipped;
    }
    throw InputError(fmt::format("{}: neither a file nor one of the shipped {}{}", excerpt(name_or_path), folder,
                                 suggestion(name_or_path, names(folder))));
}

}  // namespace lockstep
