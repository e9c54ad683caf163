# SPDX-License-Identifier: MIT
"""Wrappers of collectives: each has its number on its communicator and says when it begins (see
collective.h), recorded or not."""

from pairs import COMES

# Who waits for whom, by class.
WAITS = {
    "bcast": "FROM_ROOT", "scatter": "FROM_ROOT", "scatterv": "FROM_ROOT",
    "gather": "TO_ROOT", "gatherv": "TO_ROOT", "reduce": "TO_ROOT",
    "scan": "LOWER", "exscan": "LOWER",
    "barrier": "ALL", "allgather": "ALL", "allgatherv": "ALL", "allreduce": "ALL",
    "alltoall": "ALL", "alltoallv": "ALL", "alltoallw": "ALL",
    "reduce_scatter": "ALL", "reduce_scatter_block": "ALL", "comm_make": "ALL",
    "neighbor_allgather": "NEIGHBORS", "neighbor_allgatherv": "NEIGHBORS",
    "neighbor_alltoall": "NEIGHBORS", "neighbor_alltoallv": "NEIGHBORS",
    "neighbor_alltoallw": "NEIGHBORS",
}
ROOTED = {"FROM_ROOT", "TO_ROOT"}

COLLECTIVE = """\
{head}
{{
    uint32_t via = shim_via();
    struct event e;
    struct coming c;
    if (UNLIKELY(!{enter} && !pair_enter(&e, __builtin_frame_address(0)))) {{
        struct comm_info *inside = coll_inside({comm});
        int returned = NEXT(via, {psymbol}, {name})({args});
        if (UNLIKELY(returned != MPI_SUCCESS))
            coll_take_back(inside, returned);
{made_inside}        return returned;
    }}
    coll_come(&c, e.site, {comm}, COLL_{kind}, {root});
{posts}    event_start(&e);
{comes}    coll_begin(&c, &e);
    int returned = NEXT(via, {psymbol}, {name})({args});
    event_end(&e);
    if (LIKELY(returned == MPI_SUCCESS)) {{
{after}    }} else {{
        coll_failed(&c, &e, returned);
    }}
    event_close(&e);
{made}    event_leave(&e);
    return returned;
}}
"""

# Where it is sure that each waits for all: it has got something of everybody's.
SURE = {"barrier": "1", "allreduce": "N(count) * S(datatype)"}

# Classes that tell of many peers: how long that takes is measured.
MANY = {"alltoall", "alltoallv", "alltoallw", "neighbor_allgather", "neighbor_allgatherv",
        "neighbor_alltoall", "neighbor_alltoallv", "neighbor_alltoallw"}


def after(call, counted):
    """What follows a call that went well; a rooted one settles the event with what it counts."""
    if WAITS[call.cls] in ROOTED:
        return counted
    if counted and call.cls in MANY:
        counted = ("struct spending spent = spending_begin(e.thread);\n" + counted +
                   "\nspending_end(e.thread, &spent);")
    if counted:
        lines = "".join(f"    {line}\n" for line in counted.split("\n"))
        counted = f"\nif (pair_seen(&e)) {{\n{lines}}}"
    return f"coll_go(&c, &e, {SURE.get(call.cls, '0')});" + counted


def wrapper(call, head, then, made):
    """`made` tells of a communicator that was made."""
    kind = WAITS[call.cls]
    requests = call.having("request_out")
    return COLLECTIVE.format(
        head=head, name=call.name, psymbol=call.psymbol, args=call.args,
        comm=call.having("comm")[0].name, kind=kind,
        enter=f"ENTER_PLAIN(&e, CALL_{call.name})" if made else f"ENTER(&e, CALL_{call.name})",
        root="root" if kind in ROOTED else "0",
        posts=f"    c.request = {requests[0].name};\n" if requests else "",
        comes="" if requests else f"    {COMES}\n",
        after=then, made=made,
        made_inside="".join(f"    {line}\n" for line in made.splitlines()))
