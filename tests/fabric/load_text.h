#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/data_files.h"
#include "sim/base/yaml.h"
#include "sim/fabric/load_fabric.h"

namespace lockstep::fabric {

/// The fabric of a topology written in a test, with the shipped catalogue.
inline Fabric load_text(std::string_view text) {
    return load_fabric(YamlFile::parse(text, "t.yaml"), DataFiles(LOCKSTEP_SOURCE_DIR));
}

/// A shipped topology with parameters: `{{"nodes", "4"}}`.
inline Fabric load_shipped(std::string_view name,
                           std::initializer_list<std::pair<std::string_view, std::string_view>> parameters = {}) {
    const DataFiles data(LOCKSTEP_SOURCE_DIR);
    YamlFile file = YamlFile::load(data.resolve("topologies", name));
    for (const auto& [parameter, value] : parameters) {
        file.parameters().set(parameter, value);
    }
    return load_fabric(file, data);
}

/// The message with which loading fails; empty if it does not.
inline std::string load_error(std::string_view text) {
    try {
        load_text(text);
    } catch (const InputError& error) {
        return error.what();
    }
    return {};
}

/// How many vertices have a name that starts so.
inline std::size_t count_named(const Fabric& fabric, std::string_view prefix) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < fabric.vertex_count(); ++i) {
        count += fabric.vertex(id_at<VertexId>(i)).name.starts_with(prefix) ? 1 : 0;
    }
    return count;
}

/// Full-duplex links whose ends have names that start so.
inline std::size_t count_links(const Fabric& fabric, std::string_view from, std::string_view to) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < fabric.link_count(); ++i) {
        const auto link = id_at<LinkId>(i);
        count += fabric.vertex(fabric.from(link)).name.starts_with(from) &&
                         fabric.vertex(fabric.to(link)).name.starts_with(to)
                     ? 1
                     : 0;
    }
    return from == to ? count / 2 : count;
}

/// The links from one vertex to another.
inline std::vector<LinkId> links_between(const Fabric& fabric, std::string_view from, std::string_view to) {
    std::vector<LinkId> links;
    for (const LinkId link : fabric.links_out_of(fabric.find(from).value())) {
        if (fabric.vertex(fabric.to(link)).name == to) {
            links.push_back(link);
        }
    }
    return links;
}

}  // namespace lockstep::fabric
