/* SPDX-License-Identifier: MIT */
#include "view/path.h"

#include <math.h>

static void put_strip(struct json *j, const struct run_path *path)
{
    struct path_carrier carriers[RECORD_PATH_STRIP];
    size_t parts, count = path_carriers(path, carriers, &parts);
    if (!count)
        return;
    json_object_begin(j, "strip");
    json_double(j, "part_s", path->strip_s);
    json_array_begin(j, "ranks");
    for (size_t i = 0; i < parts; i++)
        if (path->strip[i] >= 0)
            json_int(j, NULL, path->strip[i]);
        else
            json_null(j, NULL);
    json_array_end(j);
    json_object_end(j);
}

static void put_place(struct json *j, const struct run *run, const struct run_path_item *item)
{
    const struct graph_node *n = NULL;
    if (item->node && item->node < run->graph.count)
        n = &run->graph.nodes[item->node];
    if (n)
        json_uint(j, "node", item->node);
    json_string(j, "kind", n ? graph_kind_name(n->kind) : NULL);
    json_string(j, "name", n ? n->name : item->name);
    json_string(j, "procedure", !n ? NULL : n->kind == GRAPH_PROCEDURE ? n->name : n->procedure);
    json_string(j, "file", n ? n->file : NULL);
    if (n && n->line)
        json_uint(j, "line", n->line);
    else
        json_null(j, "line");
}

static void put_item(struct json *j, const struct run *run, const struct run_path_item *item)
{
    const struct run_path *path = &run->path;
    json_object_begin(j, NULL);
    put_place(j, run, item);
    json_double(j, "share_s", item->share_s);
    json_double(j, "share", path->length_s > 0 ? item->share_s / path->length_s : NAN);
    json_double(j, "exclusive_s", item->exclusive_s);
    json_double(j, "zeroed_length_s", item->zeroed_s);
    json_double(j, "saves_s", run_path_saves(path, item));
    json_double(j, "cpu_s", item->cpu_s);
    json_object_end(j);
}

void path_json(struct json *j, const struct run *run)
{
    const struct run_path *path = &run->path;
    if (!path->known)
        return;
    json_object_begin(j, "critical_path");
    json_double(j, "length_s", path->length_s);
    json_double(j, "mpi_s", path->mpi_s);
    json_double(j, "cpu_s", path->cpu_s);
    json_double(j, "since_s", path->since_s);
    if (path->rank < run->rank_count)
        json_int(j, "rank", run->ranks[path->rank].rank);
    else
        json_null(j, "rank");
    json_bool(j, "on", path->on);
    json_uint(j, "generation", path->generation);
    json_bool(j, "searching", path->searching);
    if (path->top)
        json_uint(j, "top", path->top);
    json_bool(j, "complete", path->complete);
    json_double(j, "covered", path->covered);
    put_strip(j, path);
    json_array_begin(j, "items");
    for (size_t i = 0; i < path->item_count; i++)
        put_item(j, run, &path->items[i]);
    json_array_end(j);
    json_object_end(j);
}
