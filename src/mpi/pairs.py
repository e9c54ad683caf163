# SPDX-License-Identifier: MIT
"""Wrappers of point-to-point calls: headers beside their messages (pair.h)."""

# Point to point: what is done about headers (pair.h), recorded or not. Declared and looked up before
# the clock starts; between the clock and the call; after the call, which settles the event; after
# that, when all is counted.
TRACK = ("request_track(&e, *request, PENDING_RECV, comm_of(e.site, comm), source, {tag}, "
         "N({count}) * S({type}));")
SETTLE = "event_settle(&e);"
SENDING = "struct sending s;\nsending_begin(&s, &e, dest, {tag}, comm, N({count}), {type});"
RECEIVING = ("struct receiving r;\n"
             "{match}receiving_begin(&r, &e, source, {tag}, comm, N({count}), {type}, {alone});")
ANSWER = "receiving_answer(&r, &e);"
RECEIVED = "receiving_end(&r, &e, returned, status);"
PUBLISH = "sending_publish(&s, &e);"
# MPI can go on with messages that were sent before (mark.h).
COMES = "marks_begin(e.thread, e.begin, e.before);"
COMING = {"send", "recv", "sendrecv", "sendrecv_replace", "mprobe", "improbe", "mrecv"}
SENT = "sending_end(&s, &e, returned, dest, {tag});"
IF_DONE = "if (LIKELY(returned == MPI_SUCCESS))\n    "
MESSAGE = ("struct pending m;\n"
           "bool known = message && message_take(*message, &m);")
RELEASE = "if (known && m.info)\n    comm_release(m.info);"
SEND_OF = {"count": "count", "type": "datatype", "tag": "tag"}
BOTH_OF = {"count": "sendcount", "type": "sendtype", "tag": "sendtag"}
RECV_OF = {"count": {"count": "count", "type": "datatype", "tag": "recvtag"},
           "sendcount": {"count": "recvcount", "type": "recvtype", "tag": "recvtag"}}


def paired(look, publish, settle, last, **words):
    return tuple(part.format(**words) if words else part for part in (look, publish, settle, last))


def both(words, posted):
    """Calls that send and receive; `posted`: the receive goes on."""
    look = SENDING.format(**words)
    if posted:
        return (look + "\nrequests_enter();", PUBLISH, SETTLE,
                IF_DONE + TRACK.format(**RECV_OF[words["count"]]) + "\nrequests_leave();\n" + SENT.format(**words))
    look += "\n" + RECEIVING.format(match="", alone="false", **RECV_OF[words["count"]])
    return (look, PUBLISH + "\n" + ANSWER, RECEIVED, SENT.format(**words))


def started(count, each):
    publish = f"for (int i = 0; i < {count}; i++)\n    request_publish(&e, {each});"
    start = f"if (LIKELY(returned == MPI_SUCCESS))\n    for (int i = 0; i < {count}; i++)\n" \
            f"        request_start(&e, {each});\nrequests_leave();"
    return ("requests_enter();", publish, SETTLE, start)


def persistent(kind, peer, tag, size):
    return ("", "", SETTLE, "requests_enter();\n" + IF_DONE +
            f"request_track(&e, *request, {kind}, comm_of(e.site, comm), {peer}, {tag}, {size});\n"
            "requests_leave();")


PAIRS = {
    "send": paired(SENDING, PUBLISH, "sending_settle(&s, &e, returned, false);", SENT, **SEND_OF),
    "isend": paired(SENDING, PUBLISH, SETTLE,
                    "sending_track(&s, &e, returned, *request, false);\n" + SENT, **SEND_OF),
    "recv": (RECEIVING.format(match="bool match = ", alone="true", **SEND_OF), ANSWER, RECEIVED, ""),
    "sendrecv": both(BOTH_OF, False),
    "sendrecv_replace": both({**SEND_OF, "tag": "sendtag"}, False),
    "isendrecv": both(BOTH_OF, True),
    "isendrecv_replace": both({**SEND_OF, "tag": "sendtag"}, True),
    "irecv": ("pair_posting(&e, source, tag, comm);\nrequests_enter();", "", SETTLE,
              IF_DONE + TRACK.format(**SEND_OF) + "\nrequests_leave();"),
    "mprobe": ("", "", SETTLE, IF_DONE + "message_track(*message, comm_of(e.site, comm), status);"),
    "improbe": ("", "", SETTLE, "if (LIKELY(returned == MPI_SUCCESS) && *flag)\n"
                "    message_track(*message, comm_of(e.site, comm), status);"),
    "mrecv": (MESSAGE, "", "pair_settle_message(&e, returned, known ? &m : NULL, status);", RELEASE),
    "imrecv": (MESSAGE, "", SETTLE, "requests_enter();\nif (LIKELY(returned == MPI_SUCCESS) && known)\n"
               "    request_track_message(&e, *request, &m);\nrequests_leave();\n" + RELEASE),
    "send_init": persistent("PENDING_SEND_INIT", "dest", "tag", "N(count) * S(datatype)"),
    "recv_init": persistent("PENDING_RECV_INIT", "source", "tag", "N(count) * S(datatype)"),
    "psend_init": persistent("PENDING_SEND_INIT", "dest", "NO_TAG",
                             "N(partitions) * N(count) * S(datatype)"),
    "precv_init": persistent("PENDING_RECV_INIT", "source", "NO_TAG", "0"),
    "start": started("1", "*request"),
    "startall": started("count", "array_of_requests[i]"),
    "cancel": ("", "", SETTLE, IF_DONE + "request_cancelled(*request);"),
}


def of(call):
    """What a call does: look up, publish, settle, and what comes last."""
    parts = PAIRS[call.cls]
    if call.cls in COMING:
        look, publish, settle, last = parts
        parts = (look, COMES + ("\n" + publish if publish else ""), settle, last)
    if call.name.startswith(("Ssend", "Issend")): # they wait for the receive, whatever the size
        parts = tuple(part.replace("false);", "true);") for part in parts)
    return parts


PAIRED = """\
{head}
{{
    uint32_t via = shim_via();
    struct event e;
    if (UNLIKELY(!ENTER(&e, CALL_{name}) && !pair_enter(&e, __builtin_frame_address(0))))
        return NEXT(via, {psymbol}, {name})({args});
{own}{look}    event_start(&e);
{publish}{call}    event_end(&e);
{settle}{after}{last}    event_done(&e);
    return returned;
}}
"""
CALL_IT = "    {ret} returned = NEXT(via, {psymbol}, {name})({args});\n"
# Which message another thread gets cannot be told: so it is matched first.
MATCH_IT = """\
    MPI_Message message;
    int returned = UNLIKELY(match) ? pair_match(&r, comm, &message, status)
                                   : NEXT(via, {psymbol}, {name})({args});
    if (UNLIKELY(match) && returned == MPI_SUCCESS)
        returned = PM(Mrecv{c})(buf, count, datatype, &message, status);
"""

