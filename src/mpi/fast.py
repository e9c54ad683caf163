# SPDX-License-Identifier: MIT
"""The short way through a wrapper (fast.h), for the classes of calls that programs make most. Those
that are only timed would gain nothing: reading the clock is what they cost."""

# By class: when there is a short way, what is set up for the call, what is counted after it, and
# (instead of event_shut) what ends it.
SEND = ("!SAME(site->comm, comm) || !SAME(site->type, datatype) || "
        "(near = near_peer(site, dest, RECORD_SENT))->rank != dest || near->tag != tag",
        "    struct record_peer *peer = near->record;\n"
        "    uint64_t bytes = (uint64_t)count * site->type_size;\n",
        "        short_bytes(e.record, bytes);\n"
        "        peer_add(peer, bytes, e.ticks);\n", "")
# Whose sender may wait for its receiver, or the other way round.
LONG = "(uint64_t)count * site->type_size >= pair_long"
# Their receivers are to know that this rank has come back into MPI (mark.h): the full way.
LONG_PENDING = " || marks_pending"
PUBLISH = ("    if (LIKELY(near->stream != NULL))\n"
           "        pair_publish(t, site, e.begin, e.before, near->stream, bytes);\n")
# Its header is in a line that the sender has written; all else is far away too after a long copy.
ANSWER = ("    const void *header = site;\n"
          f"    if (UNLIKELY({LONG}))\n"
          "        header = fast_answer(e, t, site, source, (uint64_t)count * site->type_size);\n")
FETCH = "    __builtin_prefetch(header);\n"
PUBLISHES = {"send": PUBLISH, "isend": PUBLISH, "recv": ANSWER}
SETTLE = "    event_settle_short(&e);\n"
SETTLE_LONG = ("    if (LIKELY(bytes < pair_long))\n    " + SETTLE +
               "    else\n        e.ticks = fast_settle_long(e, site, dest, returned, bytes);\n")
CLASSES = {
    "send": (SEND[0] + LONG_PENDING,) + SEND[1:],
    "isend": (SEND[0] + " || " + LONG,) + SEND[1:],
    "recv": ("!SAME(site->comm, comm) || shim_posts || source == MPI_ANY_SOURCE || "
             "!SAME(site->type, datatype) || "
             f"UNLIKELY({LONG} && !fast_answers(site, source, tag))" + LONG_PENDING,
             "    MPI_Status own_status;\n"
             "    if (status == MPI_STATUS_IGNORE)\n"
             "        status = &own_status;\n",
             "", "fast_received(&e, site, status, true)"),
    "irecv": ("!SAME(site->comm, comm) || "
              "(near = near_peer(site, source, RECORD_RECEIVED))->rank != source || "
              "near->tag != tag || shim_posts || !SAME(site->type, datatype) || " + LONG,
              "", "", "fast_receive(&e, site, *request, near)"),
}

CALL = """\
{prefix}_{name}({decls})
{{
{near}    struct thread *t = loupe_tls.ready;
    struct site *site = READY(t, CALL_{name});
    if (UNLIKELY(!site{unless}))
        JUMP full_{name}({args});
{own}{post}    struct ending e;
    OPEN(&e, t, site);
{publish}    {ret} returned = NEXT(0, {psymbol}, {name})({args});
{fetch}    event_stop(&e, site);
{after}{shut}}}
"""

# Without headers (--no-headers) nothing of them should cost anything, not even registers: what
# comes back from a receive goes on to the next send, and the other rank waits for that.
# Chosen before either saves any.
CHOICE = """\
static {ret} wrap_{name}({decls})
{{
    if (LIKELY(shim_headers))
        JUMP with_{name}({args});
    JUMP bare_{name}({args});
}}
"""
BARE_CLASSES = {
    "send": SEND,
    # its status says how many bytes came: the type is not even looked up
    "recv": ("!SAME(site->comm, comm) || source == MPI_ANY_SOURCE",) + CLASSES["recv"][1:3] +
            ("fast_received(&e, site, status, false)",),
}

# Posts, when they are only counted (runtime/post.h). What has a header needs to know when it began.
POSTS = {"isend": ("!near->stream && ",
                   "    if (!near_peer(site, dest, RECORD_SENT)->stream)\n"
                   "        post_settled(&e, site, peer);\n"),
         "irecv": ("", "    post_settled(&e, site, NULL);\n")}

POST = """\
    if ({unless}post_counted(t, site)) {{
        struct ending e;
        POST(&e, t, site);
        {ret} returned = NEXT(0, {psymbol}, {name})({args});
        post_count(&e, site);
{after}{shut}    }}
"""

# Collectives: as above.
COLLECTIVES = {
    "allreduce": ("!SAME(site->type, datatype)",
                  "    uint64_t bytes = (uint64_t)count * site->type_size;\n",
                  "    short_bytes(e.record, bytes);\n"),
    "barrier": ("", "", ""),
}

COLLECTIVE = """\
static int wrap_{name}({decls})
{{
    struct thread *t = loupe_tls.ready;
    struct site *site = READY(t, CALL_{name});
    struct meet *meet = NULL; /* without headers */
    if (UNLIKELY(!site || (shim_headers && !(meet = short_meet(site, comm))) || marks_pending{unless}))
        JUMP full_{name}({args});
{own}    struct ending e;
    OPEN(&e, t, site);
    if (LIKELY(meet != NULL))
        short_begin(meet, &e, t, site);
    int returned = NEXT(0, {psymbol}, {name})({args});
    event_stop(&e, site);
    if (UNLIKELY(returned != MPI_SUCCESS))
        return short_failed(e, site, returned);
    if (LIKELY(meet != NULL))
        short_go_all(meet, &e, site);
    else
        event_settle_short(&e);
{after}    event_shut(&e);
    return MPI_SUCCESS;
}}
"""

# Completions: class: what to do if none is complete.
NOT_YET = """\
    if (!*flag)
        return fast_not_yet(&e);
"""
COMPLETIONS = {"wait": "", "waitall": "", "test": NOT_YET, "testall": NOT_YET}

COMPLETE = """\
static int wrap_{name}({decls})
{{
    struct thread *t = loupe_tls.ready;
    struct site *site = READY(t, CALL_{name});
    if (UNLIKELY(!site))
        JUMP full_{name}({args});
    struct fast_waiting *w = t->room;
    if (UNLIKELY(!fast_look_up(w, {count}, {requests})))
        JUMP full_{name}({args});
    if ({status} == {ignore} && w->end > w->of)
        {status} = w->statuses;
    struct ending e;
    OPEN(&e, t, site);
    marks_begin(t, e.begin, e.before);
    int returned = NEXT(0, {psymbol}, {name})({args});
    event_stop(&e, site);
    if (UNLIKELY(returned != MPI_SUCCESS))
        return fast_failed(e, returned, {requests}, {known});
{if_flag}    return fast_done(&e, site, {status}, {test});
}}
"""


def deeper(text):
    return "".join(f"    {line}\n" for line in text.splitlines())


def call(c):
    """The wrapper of a call that has a short way, which jumps to full_NAME; None: it has none."""
    if c.cls in COLLECTIVES and not c.having("request_out"):
        return collective(c)
    if c.cls not in CLASSES or c.variadic or c.name.startswith(("Ssend", "Issend")):
        return None # these wait for their receive, whatever the size
    if c.cls not in BARE_CLASSES:
        return written(c, f"static {c.ret} wrap", False)
    return written(c, f"FULL {c.ret} bare", True) + written(c, f"FULL {c.ret} with", False) + \
        CHOICE.format(ret=c.ret, name=c.name, decls=c.decls, args=c.args)


def written(c, prefix, bare):
    unless, own, after, end = (BARE_CLASSES if bare else CLASSES)[c.cls]
    settle, failed, post = SETTLE_LONG if c.cls == "send" and not bare else SETTLE, "", ""
    if after:
        after = f"    if (LIKELY(returned == MPI_SUCCESS)) {{\n{after}    }}\n"
    if c.cls in ("send", "isend") and not bare:
        failed = "    else\n        return fast_unsent(e, site, dest, returned);\n"
    if c.cls == "recv": # settles it
        after = f"    if (LIKELY(returned == MPI_SUCCESS))\n        return {end};\n" \
                "    return fast_unreceived(e, site, returned, status);\n"
    elif end:
        after = f"    if (LIKELY(returned == MPI_SUCCESS))\n        return {end};\n"
    else:
        after += failed
    shut = "" if c.cls == "recv" else "    event_shut(&e);\n    return returned;\n"
    if c.cls in POSTS:
        begun, settled = POSTS[c.cls]
        post = POST.format(ret=c.ret, name=c.name, args=c.args, psymbol=c.psymbol, unless=begun,
                           after=deeper(after), shut=deeper(shut))
        settle += settled
    if c.cls != "recv":
        after = settle + after
    return CALL.format(ret=c.ret, name=c.name, decls=c.decls, args=c.args, psymbol=c.psymbol,
                       prefix=prefix, post=post,
                       near="    struct near_peer *near;\n" if "near" in unless else "",
                       publish="" if bare else PUBLISHES.get(c.cls, ""),
                       fetch=FETCH if c.cls == "recv" and not bare else "",
                       unless=f" || {unless}" if unless else "", own=own, after=after,
                       shut=shut)


def collective(c):
    unless, own, after = COLLECTIVES[c.cls]
    return COLLECTIVE.format(name=c.name, decls=c.decls, args=c.args, psymbol=c.psymbol,
                             unless=f" || {unless}" if unless else "", own=own, after=after)


def completion(c, count, requests, status, ignore, known):
    if c.cls not in COMPLETIONS:
        return None
    return COMPLETE.format(name=c.name, decls=c.decls, args=c.args, psymbol=c.psymbol, count=count,
                           requests=requests, status=status, ignore=ignore,
                           known=known.replace("w.statuses", status),
                           test="true" if "test" in c.cls else "false",
                           if_flag=COMPLETIONS[c.cls])
