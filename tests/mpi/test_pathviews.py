#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The critical path as people see it: the search for the greatest items finds those that are known to
be, and says that it has them; text, JSON and run file agree."""
import re

import loupetest as lt
import pathtest as pt

SMALL = 40  # procedures that are on the path with a hundredth of it each, or less
GREAT = {"ore": 6, "coal": 4, "iron": 3}  # units of a step of 16: the rest is spread over the small
STEPS = 120
TOP = 5


def program():
    """Rank 0 works, then rank 1, by turns: all of it is on the path. Rank 1 has `beside` meanwhile,
    as much as all the others but of no path."""
    lines = ["/* Many procedures, a few of which matter. */", '#include "unit.h"']
    for i in range(SMALL):
        lines += [f"static void small_{i}(void)", "{", "    unit_spend(UNIT_NS * 3 / 40);", "}"]
    for name, units in GREAT.items():
        lines += [f"static void {name}(void)", "{", f"    units({units});", "}"]
    lines += ["static void beside(void)", "{", "    units(12);", "}"]
    lines += ["static void step(void)", "{", "    ore();", "    coal();", "    iron();"]
    lines += [f"    small_{i}();" for i in range(SMALL)]
    lines += ["}", "int main(int argc, char **argv)", "{", "    unit_begin(&argc, &argv);",
              f"    for (int i = 0; i < {STEPS}; i++) {{", "        if (unit.rank == 0)",
              "            step();", "        else", "            beside();",
              "        MPI_Barrier(MPI_COMM_WORLD);", "    }", "    return unit_end();", "}", ""]
    source = lt.scratch("many.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    pt.build("many", source)


def search():
    program()
    done = pt.run("many", 2, options=["--critical-path", "--top", str(TOP)],
                  loupe="path-interval=0.5", limit=120)
    path = pt.path_of(done.report)
    lt.equal(path["top"], TOP, "it is said how many were asked for")
    lt.ok(path["complete"] and not path["searching"], "the search says that it is complete", path)
    names = [i["name"] for i in path["items"]]
    great = [n for n, units in GREAT.items() if units / 16 >= 1 / TOP]
    lt.ok(great and set(great) <= set(names), "it has found what has a fifth of the path or more",
          names)
    lt.ok("beside" not in names or pt.item(path, "beside")["share_s"] < 0.01 * path["length_s"],
          "what is beside the path is not taken for it", path["items"])
    total = sum(GREAT.values()) + 3
    for name in great:
        share = pt.item(path, name)["exclusive_s"] / path["length_s"]
        lt.ok(abs(share - GREAT[name] / total) < 0.05, f"{name} has its share", share)
    lt.ok(0 < path["covered"] <= 1, "it says what share of the path they cover", path["covered"])
    covered = sum(i["exclusive_s"] for i in path["items"]) / path["length_s"]
    lt.ok(abs(covered - path["covered"]) < 0.01, "which is theirs together", covered, path["covered"])
    lt.ok("complete" in done.result.err, "the report at the end says so too", done.result.err)


def seconds(text):
    value, unit = re.fullmatch(r"([\d.]+) (s|ms|us|ns)", text.strip()).groups()
    return float(value) * {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]


def agreement():
    done = pt.run("zeroing", 2, options=["--items", "alpha,beta,delta,gamma_part"])
    path = pt.path_of(done.report)
    text = lt.execute([lt.LOUPE, "report", done.file, "--critical-path"])
    if not lt.ok(text.code == 0, "loupe report --critical-path", text):
        return
    time = r"[\d.]+ (?:s|ms|us|ns)\b"
    length = re.search(rf"critical path\s+({time})", text.out)
    lt.ok(length and abs(seconds(length.group(1)) / path["length_s"] - 1) < 0.01,
          "the text has the length", text.out, path["length_s"])
    saves = [i["saves_s"] for i in path["items"]]
    lt.equal(saves, sorted(saves, reverse=True), "the greatest saving is the first")
    where = 0
    for item in path["items"]:
        row = [line for line in text.out.splitlines() if item["name"] in line.split()]
        if not lt.ok(len(row) == 1, f"{item['name']} has a row", text.out):
            continue
        lt.ok(text.out.index(row[0]) >= where, f"{item['name']}: in this order")
        where = text.out.index(row[0])
        got = [seconds(t) for t in re.findall(time, row[0])]
        for key in ("share_s", "zeroed_length_s", "saves_s", "cpu_s"):
            lt.ok(any(abs(g - item[key]) <= 0.01 * item[key] + 1e-6 for g in got)
                  or item[key] < 1e-4, f"{item['name']}: {key} is in it", row[0], item)
        lt.ok(f"{'zeroing.c'}:{item['line']}" in row[0], f"{item['name']}: with file and line", row[0])
    for item in path["items"]:
        slack = pt.printed(path["length_s"], path["length_s"], path["length_s"])
        lt.ok(0 <= item["exclusive_s"] <= item["share_s"] + slack and
              abs(item["saves_s"] - (path["length_s"] - item["zeroed_length_s"])) <= slack and
              item["saves_s"] <= item["share_s"] + slack and
              abs(item["share"] - item["share_s"] / path["length_s"]) < 1e-8,
              f"{item['name']}: its numbers fit together", item)
    node = {n["name"]: n["id"] for n in done.report["graph"] if n["kind"] == "procedure"}
    lt.equal({i["name"]: i["node"] for i in path["items"]},
             {i["name"]: node[i["name"]] for i in path["items"]}, "items are nodes of the graph")
    ranks = path["strip"]["ranks"]
    lt.ok({0, 1} <= set(ranks), "both ranks have carried it", ranks)
    lt.equal(pt.path_of(lt.report(done.file)), path, "the run file says the same every time")


def impatient():
    """Intervals that are shorter than MPI_Init takes."""
    done = pt.run("alternate", 2, options=["--critical-path", "--top", "3"],
                  loupe="path-interval=0.05")
    lt.ok("not all ranks" not in done.result.err, "ranks that are not there yet are not elsewhere",
          done.result.err)


def without():
    done = pt.run("alternate", 2)
    lt.ok("critical_path" not in done.report, "without --critical-path there is none")
    text = lt.execute([lt.LOUPE, "report", done.file, "--critical-path"])
    lt.ok("critical path" in text.out + text.err, "and that is said", text)


def wrong():
    for options, word in ((["--critical-path", "--items", "nosuchthing"], "nosuchthing"),
                          (["--critical-path", "--top", "0"], "top"),
                          (["--critical-path", "--top", "many"], "many")):
        result = lt.execute(lt.loupe_command(pt.command("alternate", 2), options))
        lt.ok(word in result.err, f"{' '.join(options)}: it is said what is wrong", result)


lt.main(search, agreement, impatient, without, wrong)
