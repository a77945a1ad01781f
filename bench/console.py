"""The console in headless Chromium over the sample data: what a person at the page waits for, from the event of a
key or button until the picture that follows it.

`python -m bench.console [--quick]` prints the table alone; `python -m bench console` is the same among all.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from http.client import HTTPConnection
from typing import Final
from urllib.parse import urlencode

from selenium.webdriver.common.keys import Keys

from bench import folder, server
from bench.line import Line
from tests.chromium import chromium
from tests.console.page import Console

Say = Callable[[str], None]

_PAINT_MS: Final = 500.0
_INTERACTIVE_MS: Final = 1000.0
_SHOWN_MS: Final = 1000.0
_FRAME_MS: Final = 50.0
_KEY_MS: Final = 100.0
_WHY_RATIO: Final = 3.0
_STEP_MS: Final = 100.0

_ROWS: Final = 100_000
_LINES: Final = 200
_FRAMES: Final = 120
_MOMENTS: Final = 40

# Before each page's own scripts: when the editor is mounted and the button that runs is there.
_WHEN_INTERACTIVE: Final = """
const look = () => {
  const hosts = [...document.querySelectorAll('.editor-host')];
  const editor = hosts.map((host) => host.shadowRoot?.querySelector('[aria-label="Query"]')).find(Boolean);
  const run = document.querySelector('[aria-keyshortcuts="Control+Enter"]');
  if (editor?.isContentEditable && run && !run.disabled) window.interactive = performance.now();
  else requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""
_PAINTED: Final = """
const first = performance.getEntriesByName('first-contentful-paint')[0];
return first && window.interactive ? [first.startTime, window.interactive] : null;
"""

# Calls back with the milliseconds from an action until a condition, which is looked at whenever the page changes,
# holds, and the picture after it.
_UNTIL: Final = """
const done = arguments[arguments.length - 1];
const began = performance.now();
const look = () => {
  if (!holds()) return;
  observer.disconnect();
  requestAnimationFrame(() => done(performance.now() - began));
};
const observer = new MutationObserver(look);
observer.observe(document.body, {subtree: true, childList: true, attributes: true, characterData: true});
"""
_RUN: Final = f"""
const expected = String(arguments[0]);
const holds = () => document.querySelector('.results .table')?.getAttribute('aria-rowcount') === expected
  && document.querySelector('.results .table-body [role=row]') !== null;
{_UNTIL}
document.querySelector('[aria-keyshortcuts="Control+Enter"]').click();
"""
_STEP: Final = f"""
const moment = arguments[0], holds = () => document.querySelector('.results [role=status]')
  ?.textContent.includes(`rows at t ${{moment}} in`);
const slider = document.querySelector('.slider');
{_UNTIL}
slider.value = moment;
slider.dispatchEvent(new Event('input', {{bubbles: true}}));
"""
_SCROLL: Final = """
const [frames, done] = arguments;
const table = document.querySelector('.results .table');
const step = (table.scrollHeight - table.clientHeight) / frames;
const took = [];
let before;
const next = (now) => {
  if (before !== undefined) took.push(now - before);
  before = now;
  if (took.length >= frames) return done(took);
  table.scrollTop = step * (took.length + 1);
  requestAnimationFrame(next);
};
requestAnimationFrame(next);
"""
_WATCH_KEYS: Final = """
const root = document.querySelector('.editor-host').shadowRoot;
const editor = root.querySelector('[aria-label="Query"]');
const isUnderlined = () => root.querySelector('.cm-lintRange-error') !== null;
let was = isUnderlined(), began;
window.typed = null;
// The editor takes Backspace before it is an input.
for (const kind of ['keydown', 'beforeinput'])
  editor.addEventListener(kind, () => { began = performance.now(); window.typed = null; }, true);
new MutationObserver(() => {
  if (began === undefined || isUnderlined() === was) return;
  was = !was;
  const since = began;
  began = undefined;
  requestAnimationFrame(() => { window.typed = performance.now() - since; });
}).observe(root, {subtree: true, childList: true, attributes: true});
"""

_NEEDS: Final = """:rules [[(needs ?p ?d) [?p :package/depends ?d]]
         [(needs ?p ?d) [?p :package/depends ?q] (needs ?q ?d)]]
 :where [?p :package/name ?name]
        (needs ?p ?d)
        [?d :package/name ?on]]"""
_ALL_NEEDS: Final = f"[:find ?name ?on {_NEEDS}"
_BOUND_NEEDS: Final = f"[:find ?name ?on :in $ ?name ?on {_NEEDS}"
_NEEDS_OF: Final = f"[:find ?on :in $ ?name {_NEEDS}"


def console(quick: bool, say: Say) -> list[Line]:
    """Every bar of the console."""
    rounds = 3 if quick else 10
    port = server.free_port()
    with (
        folder.with_sample() as data,
        folder.empty() as profile,
        server.adalog(data, port, ADALOG_SPARK="off", ADALOG_CACHE_BYTES="0") as process,
    ):
        server.first_answer(process, port, server.q("[:find ?t . :where [?e :package/name ?t]]"))
        server.until_ready(port)
        with chromium(profile) as browser:
            browser.set_script_timeout(120)
            page = Console(browser, f"http://127.0.0.1:{port}")
            lines = []
            for work in (_paint, _table, _typing, _why, _slider):
                for line in work(page, port, rounds):
                    say(f"    {line.title}: {_figure(line)} ({line.verdict}; {line.note})")
                    lines.append(line)
    return lines


def _paint(page: Console, port: int, rounds: int) -> Iterator[Line]:
    """As a browser that has nothing of the page yet."""
    added = page.browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": _WHEN_INTERACTIVE})
    took = []
    for _ in range(rounds):
        page.browser.execute_cdp_cmd("Network.clearBrowserCache", {})
        page.open()
        took.append(page.wait(lambda: page.script(_PAINTED)))
    page.browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)
    yield _line("console-paint", "first paint of / from a warm server", [paint for paint, _ in took], _PAINT_MS)
    titled = "/ until its editor is there and a query can be run"
    yield _line("console-interactive", titled, [interactive for _, interactive in took], _INTERACTIVE_MS)


def _table(page: Console, port: int, rounds: int) -> Iterator[Line]:
    took = []
    for number in range(rounds):
        rows = _ROWS + number
        page.write(f"[:find ?e ?a ?v :where [?e ?a ?v] :limit {rows}]")
        took.append(float(page.browser.execute_async_script(_RUN, rows + 1)))
    yield _line("console-rows", f"{_ROWS:,} rows from the click on Run until they are shown", took, _SHOWN_MS)
    longest: list[float] = []
    all_frames: list[float] = []
    for _ in range((rounds + 2) // 3):
        frames = page.browser.execute_async_script(_SCROLL, _FRAMES)
        longest.append(float(max(frames)))
        all_frames += frames
    over = sum(frame > _FRAME_MS for frame in all_frames)
    middle = statistics.median(all_frames)
    note = f"{over} of {len(all_frames)} frames over {_FRAME_MS:.0f} ms; their median is {middle:.0f} ms"
    title = f"the longest frame of scrolling through {_ROWS:,} rows in {_FRAMES} steps"
    yield Line("console-scrolling", title, "ms", max(longest), "", None, bar=_FRAME_MS, note=note)


def _typing(page: Console, port: int, rounds: int) -> Iterator[Line]:
    """An error that comes, and one that goes: another character in a variable's name, and none."""
    # By a link: of a text that is longer than the window, a part alone is in the page. Its argument is missing, so
    # that it is not run.
    page.open(f"#/ask?{urlencode({'query': long_query()})}")
    page.wait(lambda: page.text_of().startswith("[:find ?name0"))
    page.keys(Keys.CONTROL, Keys.HOME, Keys.NULL)
    page.keys(*[Keys.ARROW_RIGHT] * len("[:find ?name0"))
    page.script(_WATCH_KEYS)
    took = []
    for number in range(4 * rounds):
        if number % 2 == 0:
            page.browser.execute_cdp_cmd("Input.insertText", {"text": "abcdefghijklmnopqrstuvwxyz"[number // 2]})
        else:
            _press(page, "Backspace", 8)
        took.append(float(page.wait(lambda: page.script("return window.typed"))))
        page.script("window.typed = null")
    title = f"a keystroke in a query of {_LINES} lines until its error is underlined, or no longer is"
    yield _line("console-typing", title, took, _KEY_MS)


def _why(page: Console, port: int, rounds: int) -> Iterator[Line]:
    """Over HTTP, in alternating rounds."""
    name = "gnome"
    needed = sorted(row[0] for row in server.ask(port, server.q(_NEEDS_OF, name))["q"]["rows"])
    document = "query ($query: EDN!, $row: [JSON]!) { why(query: $query, row: $row) }"
    on = needed[len(needed) // 2]
    why = json.dumps({"query": document, "variables": {"query": _ALL_NEEDS, "row": [name, on]}})
    bound = server.q(_BOUND_NEEDS, name, on)
    took: dict[str, list[float]] = {why: [], bound: []}
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    for _ in range(3 * rounds):
        for body, each in took.items():
            began = time.perf_counter()
            server.answered(connection, body)
            each.append(1000 * (time.perf_counter() - began))
    connection.close()
    title = f"why {name} needs {on}, by a recursive rule"
    ours, theirs = min(took[why]), min(took[bound])
    note = f"least of {3 * rounds} alternating rounds: {ours:.1f} ms to {theirs:.1f} ms"
    yield Line("console-why", title, "ms", ours, "the query with the row bound", theirs, bar=_WHY_RATIO, note=note)


def _slider(page: Console, port: int, rounds: int) -> Iterator[Line]:
    """Each step is to a moment at which the answer differs."""
    for number in range(_MOMENTS):
        server.ask(port, server.transact(f'[{{:section/name "section {number}"}}]'))
    newest = server.ask(port, server.q("[:find ?name :where [_ :section/name ?name]]"))["q"]["basisT"]
    page.open()
    page.run("[:find ?name :where [_ :section/name ?name]]")
    page.button("As of…").click()
    page.wait(lambda: page.one(".slider").get_attribute("max") == str(newest))
    took = [
        float(page.browser.execute_async_script(_STEP, int(newest) - number))
        for number in range(1, min(_MOMENTS, 4 * rounds))
    ]
    yield _line("console-slider", "a step of the slider until the rows of that moment are shown", took, _STEP_MS)


def long_query() -> str:
    """A query of 200 lines with patterns, functions, predicates and alternatives."""
    lines = ["[:find ?name0 ?size0", " :in $ ?least", " :where"]
    number = 0
    while len(lines) < _LINES - 1:
        this, following = f"?p{number}", f"?p{number + 1}"
        lines += [
            f"        [{this} :package/name ?name{number}]",
            f"        [{this} :package/installed-size ?size{number}]",
            f"        [(> ?size{number} ?least)]",
            f"        (or [{this} :package/depends {following}] [{following} :package/depends {this}])",
            f'        [(str ?name{number} "-{number}") ?text{number}]',
        ]
        number += 1
    return "\n".join([*lines[: _LINES - 1], " :limit 10]"])


def _press(page: Console, key: str, code: int) -> None:
    for kind in ("keyDown", "keyUp"):
        event = {"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}
        page.browser.execute_cdp_cmd("Input.dispatchKeyEvent", event)


def _line(work: str, title: str, took: Sequence[float], bar: float) -> Line:
    note = f"median of {len(took)}; {min(took):.0f} to {max(took):.0f} ms"
    return Line(work, title, "ms", statistics.median(took), "", None, bar=bar, note=note)


def _figure(line: Line) -> str:
    return f"{line.ours:.0f} ms" if line.ratio is None else f"{line.ratio:.2f} times {line.against}"


def _show(lines: Sequence[Line]) -> None:
    rows = [
        ("work", "bar", "measured", ""),
        *((line.title, _bar(line), _figure(line), line.verdict) for line in lines),
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _bar(line: Line) -> str:
    return f"≤ {line.bar:.0f}{' times' if line.against else ' ms'}"


if __name__ == "__main__":
    import sys

    _show(console("--quick" in sys.argv, print))
