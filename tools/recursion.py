#!/usr/bin/env python3
"""Lists recursive functions that do not look at the stack that is left.

    recursion.py build/release/libstele_core.a [--frames]

Reads the machine code of the library (objdump, x86-64). A call is an edge from one function to another, and so is taking the address of a
function, which is a callback. Functions that call one of GUARDS (base/stack.h) look at the stack; without them the graph must have no cycle,
but for the functions in BOUNDED. Calls through pointers kept in structures are not seen: those that can come back are in INDIRECT.
--frames also prints the longest chains of frames in which no function looks at the stack: STACK_RESERVE (base/stack.h) must hold them.
"""
import bisect
import collections
import re
import subprocess
import sys

GUARDS = {'stack_stop', 'stack_check', 'stack_check_at', 'stack_check_depth', 'cp_stack'}
# Functions that call themselves a few times at most: name -> why.
BOUNDED = dict.fromkeys(
    '''array_to_text array_from_text array_cast type_name type_from_name type_common bare composite_record_type'''.split(), 'elements of arrays are no arrays') | dict.fromkeys(
    '''add_composite bind_common_type cast_exists composite_any composite_ok composite_uses'''.split(), '32 levels: COMPOSITE_DEPTH_MAX') | dict.fromkeys(
    '''bind_coerce bind_array_args make_date_k def_cmp em_use out_w convert_rows convert add_hash merge_word is_row run_ranked range_relation pl_assign'''.split(),
    'calls itself once, for another case') | {
    'may_be_null': '8 levels', 'adds_to': '8 levels', 'put_value': '12 levels', 'round_value': '6 levels',
    'merge_sort': 'halves', 'sort_places': '22 levels: three of 64 bits each',
}
# Caller -> callees by pointers in structures.
INDIRECT = {
    'frame_run_range': ['step_if', 'step_probe', 'step_probe_begin', 'step_repeat', 'step_call'],
    'step_call': ['call_kernel'],
    'func_eval': ['call_kernel'],
    'call_kernel': ['pl_call_function'],
}

OBJECT = re.compile(r'^(\S+\.o):\s+file format')
FUNCTION = re.compile(r'^[0-9a-f]+ <(.+)>:$')
SYMBOL = re.compile(r'^([0-9a-f]{16}) (.{7}) (\S+)\s+[0-9a-f]{16}\s+(?:\.hidden )?(\S+)$')
TARGET = re.compile(r'\t(?:call|j[a-z]+|lea .*#)\s+[0-9a-f]+ <([^>+]+)>')
RELOC = re.compile(r'R_X86_64_(\S+)\s+(\S+?)([-+]0x[0-9a-f]+)?$')
SUB = re.compile(r'\tsub\s+\$0x([0-9a-f]+),%rsp')


def lines_of(lib, *flags):
    """(number of the object in the archive, line)"""
    out = subprocess.run(['objdump', *flags, lib], capture_output=True, text=True, check=True).stdout
    obj = 0
    for line in out.splitlines():
        if OBJECT.match(line):
            obj += 1
        elif line:
            yield obj, line


def base(name):
    """The parts that the compiler makes of a function are that function."""
    return re.sub(r'(\.(cold|part|isra|constprop|lto_priv)(\.\d+)*)+$', '', name)


class Graph:
    def __init__(self, lib):
        self.edges = collections.defaultdict(set)
        self.frame = collections.Counter()
        self.where = {}  # exported name -> node
        self.symbols = collections.defaultdict(list)  # (object, section) -> sorted [(offset, name)]
        for obj, line in lines_of(lib, '-t'):
            m = SYMBOL.match(line)
            if m and m.group(2)[-1] in 'FO':
                self.symbols[obj, m.group(3)].append((int(m.group(1), 16), base(m.group(4))))
                if m.group(2)[0] == 'g':
                    self.where[base(m.group(4))] = (obj, base(m.group(4)))
        for v in self.symbols.values():
            v.sort()
        self.read_code(lib)
        self.read_tables(lib)

    def at(self, obj, section, offset):
        v = self.symbols[obj, section]
        i = bisect.bisect_right(v, (offset, '\xff')) - 1
        return (obj, v[i][1]) if i >= 0 else None

    def node(self, obj, kind, name, addend):
        offset = int(addend or '0', 16) + (4 if kind in ('PC32', 'PLT32') else 0)
        if name.startswith('.'):
            return self.at(obj, name, offset)
        name = base(name)
        return self.where.get(name, (obj, name))

    def read_code(self, lib):
        fn, instr, direct = None, '', None

        def add(to):
            if to and (to != fn or '\tcall' in instr):
                self.edges[fn].add(to)

        for obj, line in lines_of(lib, '-dr', '--no-show-raw-insn'):
            m = RELOC.search(line) if fn else None
            if m:  # it says where the instruction before goes; as that is written, a tail call seems to go to the function behind
                direct = None
                add(self.node(obj, *m.groups()))
                continue
            add(direct)
            direct = None
            m = FUNCTION.match(line)
            if m:
                fn = (obj, base(m.group(1)))
            if m or not fn:
                continue
            instr = line
            m = TARGET.search(line)
            direct = (obj, base(m.group(1))) if m else None
            self.frame[fn] += 8 if '\tpush ' in line else 0
            m = SUB.search(line)
            self.frame[fn] += int(m.group(1), 16) if m and len(m.group(1)) < 8 else 0
        add(direct)

    def read_tables(self, lib):
        section = None
        for obj, line in lines_of(lib, '-r'):
            m = re.match(r'RELOCATION RECORDS FOR \[(.*)\]', line)
            if m:
                section = m.group(1)
            m = RELOC.search(line)
            if m and section.startswith('.data'):
                table = self.at(obj, section, int(line.split()[0], 16))
                if table:
                    self.edges[table].update({self.node(obj, *m.groups())} - {None})


def components(graph):
    """Tarjan's strongly connected components; only those with a cycle."""
    index, low, stack, on, out = {}, {}, [], set(), []
    for root in graph:
        work = [] if root in index else [(root, None)]
        while work:
            v, it = work.pop()
            if it is None:
                index[v] = low[v] = len(index)
                stack.append(v)
                on.add(v)
                it = iter(sorted(w for w in graph[v] if w in graph))
            descend = False
            for w in it:
                if w not in index:
                    work += [(v, it), (w, None)]
                    descend = True
                    break
                if w in on:
                    low[v] = min(low[v], index[w])
            if descend:
                continue
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[v])
            if low[v] == index[v]:
                part = stack[stack.index(v):]
                del stack[-len(part):]
                on.difference_update(part)
                if len(part) > 1 or v in graph[v]:
                    out.append(part)
    return out


def longest(graph, frame):
    """node -> (bytes, next) of the greatest sum of frames of a chain of calls from there; the graph has no cycles"""
    best = {}
    for root in graph:
        work = [root]
        while work:
            v = work[-1]
            todo = [w for w in graph[v] if w in graph and w not in best]
            if v not in best and todo:
                work += todo
                continue
            work.pop()
            if v in best:
                continue
            tail = max(((best[w][0], w) for w in graph[v] if w in best), default=(0, None))
            best[v] = (tail[0] + frame[v] + 8, tail[1])
    return best


def main():
    g = Graph(sys.argv[1])
    by_name = {}
    for f in g.frame:
        by_name.setdefault(f[1], f)
    for f, targets in INDIRECT.items():
        g.edges[by_name[f]].update(by_name[t] for t in targets)
    graph = {f: set(t) for f, t in g.edges.items()}
    for f in g.frame:
        graph.setdefault(f, set())
    guarded = {f for f, t in graph.items() if any(n in GUARDS for _, n in t)}
    rest = {f: t - guarded for f, t in graph.items() if f not in guarded}
    for part in map(set, components(rest)):
        for f in part:
            rest[f] = {t for t in rest[f] if t not in part or t[1] not in BOUNDED}
    bad = components(rest)
    for part in bad:
        print(f'{len(part):4}', ' '.join(sorted(f'{n}[{g.frame[o, n]}]' for o, n in part)))
    if '--frames' in sys.argv and not bad:
        best = longest(rest | {f: graph[f] - guarded for f in guarded}, g.frame)
        for f in sorted(guarded, key=lambda f: -best[f][0])[:10]:
            chain, at = [], f
            while at:
                chain.append(f'{at[1]}[{g.frame[at]}]')
                at = best[at][1]
            print(best[f][0], ' '.join(chain))
    return 1 if bad else 0


sys.exit(main())
