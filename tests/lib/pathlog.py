# SPDX-License-Identifier: MIT
"""The critical path of a run that is over, from what it logged (`LOUPE=path-log=FILE`): the program
activity graph is built, its longest path found, the shares of the items summed up on the way back
(paper 3's Figure 2), and zeroing done by taking an item's time off all arcs and looking again. The
reference that the monitor's own result, which knows neither graph nor log, is compared with.

A log has a line per event, in the order of one process; moments are ticks of virtual time:

    start GENERATION AT            the path has length 0 here
    enter ITEM AT, leave ITEM AT
    send BEGIN ID                  what others may meet: a send, an arrival, a posted receive
    meet BEGIN END SYNC [ID,...]   a communication, how long it waited, and for whom; "-" for nobody
    lost TICKS LAST SINCE          for so long it had no processor: after LAST, as far as there was
                                   time, else between SINCE and that
    end AT

and an ID is RANK:GENERATION:SERIAL.

The graph: every line is a node (a communication two, its begin and its end). Nodes of a process are
joined in order by arcs as long as the time between them, less waiting; a published moment and the
begin of the communication that met it by an arc of no length.
"""

import glob
import re


class BadLog(Exception):
    """A log that no execution can have written."""


class Node:
    """An event, with the arcs that lead to it and from it."""

    __slots__ = ("rank", "at", "kind", "inward", "outward")

    def __init__(self, rank, at, kind):
        self.rank, self.at, self.kind = rank, at, kind
        self.inward, self.outward = [], []


class Arc:
    """The time between two events, and the items that were active in it."""

    __slots__ = ("tail", "head", "length", "items", "innermost", "mpi")

    def __init__(self, tail, head, length, items=frozenset(), innermost=None, mpi=False):
        if length < 0:
            raise BadLog(f"rank {head.rank}: time goes back by {-length} to {head.at}")
        self.tail, self.head, self.length = tail, head, length
        self.items, self.innermost, self.mpi = items, innermost, mpi
        tail.outward.append(self)
        head.inward.append(self)

    def net(self, zeroed):
        """Its length, that of an item taken as none."""
        return 0 if zeroed in self.items else self.length


class Path:
    """The longest path to one moment: its length, and whose it is."""

    def __init__(self, length):
        self.length = length
        self.share, self.exclusive, self.mpi = {}, {}, 0
        self.ranks = {}  # {rank: how much of it}


class Stack:
    """The items that a process is in; the last one entered is the innermost."""

    def __init__(self, rank):
        self.rank, self.items = rank, []

    def enter(self, item):
        self.items.append(item)

    def leave(self, item):
        if item not in self.items:
            raise BadLog(f"rank {self.rank}: leaves item {item}, in which it is not")
        del self.items[len(self.items) - 1 - self.items[::-1].index(item)]

    def innermost(self):
        return self.items[-1] if self.items else None

    def active(self):
        return frozenset(self.items)


class _Process:
    """Makes the nodes of one process from its lines, of one generation."""

    def __init__(self, graph, rank):
        self.graph, self.rank = graph, rank
        self.node, self.stack = None, Stack(rank)
        self.lost = []

    def go(self, at, kind, less=0, mpi=False):
        """The next node, `at` that moment; `less`: so much of the time until then it waited."""
        if self.node and self.node.kind == "start":  # it has started while it was not its own time
            self.node.at = min(self.node.at, at)
        node = Node(self.rank, at, kind)
        self.graph.nodes.append(node)
        if self.node:
            self.lose(Arc(self.node, node, at - self.node.at - less, self.stack.active(),
                          self.stack.innermost(), mpi))
        self.node = node
        return node

    def lose(self, arc):
        """Takes off what was lost: of this arc and those before, as far as nobody was told. If not of
        this one, when it was is not known: of each arc as much as it has of the time; and what there
        was not time enough for, of the arcs before."""
        arcs = []
        while arc and self.lost:
            arcs.append(arc)
            told = arc.tail.kind in ("send", "begin", "start") or not arc.tail.inward
            arc = None if told else arc.tail.inward[0]
        for lost, last, since in self.lost:
            for begin, end in ((last, float("inf")), (since, last), (float("-inf"), since)):
                within = [max(0, min(a.length, min(a.head.at, end) - max(a.tail.at, begin)))
                          for a in arcs]
                part = min(lost, sum(within))
                for a, time in zip(arcs, within):
                    a.length -= part * time / sum(within) if part else 0
                lost -= part
        self.lost = []

    def line(self, words):
        kind = words[0]
        if kind == "start":
            self.go(int(words[2]), kind)
        elif kind in ("enter", "leave"):
            self.go(int(words[2]), kind)
            getattr(self.stack, kind)(int(words[1]))
        elif kind == "send":
            node = self.go(int(words[1]), kind)
            if self.graph.published.setdefault(words[2], node) is not node:
                raise BadLog(f"{words[2]} was published twice")
        elif kind == "meet":
            begin, end, sync = (int(w) for w in words[1:4])
            met = words[4].split(",") if len(words) > 4 and words[4] != "-" else []
            if self.node.kind == "start" and begin < self.node.at:
                # what it met has started it: before that there was no path, nor waiting on it
                begin, sync = self.node.at, min(sync, end - self.node.at)
            node = self.go(begin, "begin")
            self.graph.meetings += [(node, m) for m in met]
            self.go(end, "done", sync, True)
        elif kind == "lost":
            self.lost.append(tuple(int(w) for w in words[1:4]))
        elif kind == "end":
            self.go(int(words[1]), kind)
        else:
            raise BadLog(f"rank {self.rank}: {' '.join(words)}")


class Graph:
    """The program activity graph of one generation."""

    def __init__(self):
        self.nodes, self.published, self.meetings = [], {}, []
        self.items = set()
        self.generation = 0

    def join(self):
        """The arcs between processes, and an order in which all of them lead forward."""
        for node, met in self.meetings:
            if int(met.split(":")[1]) != self.generation:
                continue
            if met not in self.published:
                raise BadLog(f"rank {node.rank} met {met}, which nobody has published")
            Arc(self.published[met], node, 0)
        left = {id(n): len(n.inward) for n in self.nodes}
        ready = [n for n in self.nodes if not n.inward]
        order = []
        while ready:
            node = ready.pop()
            order.append(node)
            for arc in node.outward:
                left[id(arc.head)] -= 1
                if not left[id(arc.head)]:
                    ready.append(arc.head)
        if len(order) != len(self.nodes):
            raise BadLog("an event happened before itself")
        self.nodes = order
        for node in order:
            self.items.update(*(a.items for a in node.inward))

    def lengths(self, zeroed=None):
        """First pass: {id of node: (longest path to it, the arc by which it comes)}."""
        longest = {}
        for node in self.nodes:
            best = (0, None)
            for arc in node.inward:
                length = longest[id(arc.tail)][0] + arc.net(zeroed)
                if best[1] is None or length > best[0]:
                    best = (length, arc)
            longest[id(node)] = best
        return longest

    def final(self, longest):
        return max(self.nodes, key=lambda n: longest[id(n)][0], default=None)

    def path(self, node=None, longest=None):
        """Second pass, back from a node; without one, from where the longest of all ends."""
        longest = longest or self.lengths()
        node = node or self.final(longest)
        path = Path(longest[id(node)][0])
        while node and longest[id(node)][1]:
            arc = longest[id(node)][1]
            for item in arc.items:
                path.share[item] = path.share.get(item, 0) + arc.length
            if arc.innermost is not None:
                path.exclusive[arc.innermost] = path.exclusive.get(arc.innermost, 0) + arc.length
            path.mpi += arc.length if arc.mpi else 0
            path.ranks[node.rank] = path.ranks.get(node.rank, 0) + arc.length
            node = arc.tail
        return path

    def zeroed(self, item):
        """How long the longest path would be if the item took no time."""
        longest = self.lengths(item)
        node = self.final(longest)
        return longest[id(node)][0] if node else 0

    def total(self, item):
        """Of all processes, on the path or not."""
        return sum(a.length for n in self.nodes for a in n.inward if item in a.items)


class Moments:
    """What each process knew at each moment: the longest path to it. For samples in mid-run: one is
    that of a feasible execution if some process knew just that path at some moment, for what had
    happened before that moment is a state that the program can have been stopped in."""

    def __init__(self, graph):
        self.graph = graph
        self.longest = graph.lengths()
        self.shares = {}
        for node in graph.nodes:
            self.shares[id(node)] = self._shares(node)

    def _shares(self, node):
        arc = self.longest[id(node)][1]
        if arc is None:
            return {}
        shares = dict(self.shares[id(arc.tail)])
        for item in arc.items:
            shares[item] = shares.get(item, 0) + arc.length
        return shares

    def at(self, length):
        """Every (rank, {item: share}) that some process knew when its path had this length."""
        for node in self.graph.nodes:
            for arc in node.outward:
                if arc.tail.rank != arc.head.rank:
                    continue
                begin = self.longest[id(node)][0]
                if begin <= length <= begin + arc.length:
                    shares = dict(self.shares[id(node)])
                    for item in arc.items:
                        shares[item] = shares.get(item, 0) + length - begin
                    yield node.rank, shares

    def knew(self, length, shares, slack):
        """Whether a process knew a path of this length with these shares, within so many ticks."""
        points = [length]
        for node in self.graph.nodes:  # it may end, or be in a communication, a little before
            known = self.longest[id(node)][0]
            if abs(known - length) <= slack:
                points.append(known)
        return any(all(abs(known.get(i, 0) - s) <= slack for i, s in shares.items())
                   for point in points for _, known in self.at(point))


def parse(logs):
    """{generation: Graph} of {rank: lines}."""
    graphs = {}
    for rank, lines in sorted(logs.items()):
        process = None
        for line in lines:
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            if words[0] == "start":
                graph = graphs.setdefault(int(words[1]), Graph())
                graph.generation = int(words[1])
                inside = process.stack if process else Stack(rank)
                process = _Process(graph, rank)
                process.stack.items = list(inside.items)  # what is open goes on
            if process is None and words[0] == "lost":
                continue  # while there was no path
            if process is None:
                raise BadLog(f"rank {rank}: {line.strip()} before any start")
            process.line(words)
    for graph in graphs.values():
        graph.join()
    return graphs


def read(prefix):
    """{rank: lines} of the logs PREFIX.RANK."""
    logs = {}
    for path in glob.glob(glob.escape(prefix) + ".*"):
        rank = re.fullmatch(r"\.(\d+)", path[len(prefix):])
        if rank:
            with open(path, encoding="ascii") as file:
                logs[int(rank.group(1))] = file.read().splitlines()
    return logs
