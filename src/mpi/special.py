# SPDX-License-Identifier: MIT
"""Wrappers that are like no others: the beginning and the end of MPI, and its control."""

SPECIAL = {
    "init": """\
{head}
{{
    uint32_t via = shim_via();
    life_init_begin(true);
    int returned = NEXT(via, PMPI_Init, Init)({args});
    life_init_end(returned, MPI_THREAD_SINGLE, __builtin_return_address(0), CALL_Init);
    return returned;
}}
""",
    "init_thread": """\
{head}
{{
    uint32_t via = shim_via();
    life_init_begin(true);
    int returned = NEXT(via, PMPI_Init_thread, Init_thread)({args});
    life_init_end(returned, provided ? *provided : MPI_THREAD_SINGLE, __builtin_return_address(0),
                  CALL_Init_thread);
    return returned;
}}
""",
    "initialized": """\
{head}
{{
    uint32_t via = shim_via();
    struct event e;
    bool recorded = BEGIN(&e, CALL_Initialized, true);
    int returned = NEXT(via, PMPI_Initialized, Initialized)({args});
    if (recorded) {{
        event_end(&e);
        event_settle(&e);
        event_done(&e);
    }}
    life_initialized(flag);
    return returned;
}}
""",
    "finalize": """\
{head}
{{
    uint32_t via = shim_via();
    struct event e;
    life_finalize_begin();
    bool recorded = BEGIN(&e, CALL_Finalize, false);
    int returned = NEXT(via, PMPI_Finalize, Finalize)();
    if (recorded) {{
        event_end(&e);
        event_settle(&e);
        event_done(&e);
    }}
    life_finalize_end(returned);
    return returned;
}}
""",
    "session_init": """\
{head}
{{
    uint32_t via = shim_via();
    life_init_begin(false);
    int returned = NEXT(via, PMPI_Session_init, Session_init)({args});
    life_session_begun(returned, session);
    return returned;
}}
""",
    "session_finalize": """\
{head}
{{
    uint32_t via = shim_via();
    life_session_ending();
    int returned = NEXT(via, PMPI_Session_finalize, Session_finalize)({args});
    life_session_ended(returned);
    return returned;
}}
""",
    "abort": """\
{head}
{{
    uint32_t via = shim_via();
    struct event e;
    if (BEGIN(&e, CALL_Abort, false))
        life_abort(errorcode);
    return NEXT(via, PMPI_Abort, Abort)({args});
}}
""",
    "pcontrol": """\
{head}
{{
    uint32_t via = shim_via();
    life_control(level);
    return NEXT(via, PMPI_Pcontrol, Pcontrol)(level);
}}
""",
}
