"""Stele's shell as a peer of pg.Conn: statements in, rows and errors out."""
import os
import re
import select
import subprocess
import time

HANG = 900  # seconds without an answer: the shell hangs; a busy machine is slow


class Died(Exception):
    pass


class Stele:
    """A shell that answers one statement after another: rows (None for an error), and the error's SQLSTATE and text."""

    def __init__(self, path, options=()):
        self.p = subprocess.Popen([path, ":memory:", "--csv", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.n = 0
        self.buf = b""

    def raw(self, sql, timeout=HANG):
        self.n += 1
        mark = f"--end-{self.n}--\n".encode()
        try:
            self.p.stdin.write(sql.encode() + b";\n\\echo " + mark)
            self.p.stdin.flush()
        except BrokenPipeError:
            raise Died("the shell ended") from None
        end = time.monotonic() + timeout
        while not (self.buf.endswith(mark) and (len(self.buf) == len(mark) or self.buf[-len(mark) - 1 : -len(mark)] == b"\n")):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.p.stdout], [], [], left)[0]:
                raise Died(f"no answer in {timeout} s")
            chunk = os.read(self.p.stdout.fileno(), 1 << 16)
            if not chunk:
                raise Died(f"the shell ended with {self.p.wait()}: {self.buf[-1500:].decode('utf-8', 'replace')}")
            self.buf += chunk
        text = self.buf[: -len(mark)].decode("utf-8", "replace")
        self.buf = b""
        return text

    def exec(self, sql):
        """(kind, value): ("error", (state, text)), ("tag", text) or ("rows", list of rows)."""
        return self.answer(self.raw(sql))

    @staticmethod
    def answer(text, names=False):
        m = re.search(r"^ERROR:  (\w{5}): ([^\n]*)", text, re.M)
        if m and (text.startswith("ERROR") or "\nERROR:  " in text):
            return "error", (m.group(1), m.group(2))
        if re.match(r"^((INSERT 0|UPDATE|DELETE|MERGE|SELECT|COPY|FETCH|MOVE) \d+|[A-Z][A-Z ]+)\n$", text):
            return "tag", text.strip()
        return "rows", parse_csv(text)[0 if names else 1 :]

    def exec_all(self, sqls):
        """As exec of each, with one round trip: the list of answers, as long as the shell has lived, and whether it has. Rows have the names of their columns in front."""
        first = self.n + 1
        out = b"".join(f"{sql};\n\\echo --end-{self.n + i}--\n".encode() for i, sql in enumerate(sqls, 1))
        self.n += len(sqls)
        last = f"--end-{self.n}--\n".encode()
        end = time.monotonic() + HANG
        said, at, alive = [], 0, True
        stdin, stdout = self.p.stdin.fileno(), self.p.stdout.fileno()
        os.set_blocking(stdin, False)
        tail = b""
        while not tail.endswith(last):
            ready = select.select([stdout], [stdin] if at < len(out) else [], [], max(0, end - time.monotonic()))
            if not ready[0] and not ready[1]:
                alive = False
                break
            try:
                if ready[1]:
                    at += os.write(stdin, out[at : at + 65536])
            except BrokenPipeError:
                at = len(out)
            if ready[0]:
                chunk = os.read(stdout, 1 << 16)
                if not chunk:
                    alive = False
                    break
                said.append(chunk)
                tail = (tail + chunk)[-len(last) - 1 :]
        os.set_blocking(stdin, True)
        text = b"".join(said).decode("utf-8", "replace")
        answers = []
        at = 0
        for i in range(len(sqls)):
            mark = f"--end-{first + i}--\n"
            k = text.find(mark, at)
            if k < 0:
                self.last = text[at:]
                break
            answers.append(self.answer(text[at:k], names=True))
            at = k + len(mark)
        return answers, alive

    def close(self):
        self.p.kill()
        self.p.wait()
        self.p.stdin.close()
        self.p.stdout.close()


def parse_csv(text):
    """CSV where an empty field is NULL and a quoted empty field is the empty string."""
    rows, row, i, n = [], [], 0, len(text)
    while i < n:
        if text[i] == '"':
            out = []
            i += 1
            while True:
                k = text.find('"', i)
                if k < 0:
                    raise Died("unterminated CSV")
                out.append(text[i:k])
                if k + 1 < n and text[k + 1] == '"':
                    out.append('"')
                    i = k + 2
                    continue
                i = k + 1
                break
            row.append("".join(out))
        else:
            k = i
            while k < n and text[k] not in ",\n":
                k += 1
            row.append(text[i:k] if k > i else None)
            i = k
        if i < n and text[i] == ",":
            i += 1
            if i == n or text[i] == "\n":
                row.append(None)
                rows.append(row)
                row = []
                i += 1
            continue
        rows.append(row)
        row = []
        i += 1
    return rows
