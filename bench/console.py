"""The console in headless Chromium: what a person at the page waits for. A function here for each bar."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from selenium.webdriver.common.keys import Keys

from bench import folder, server
from bench.line import Line
from tests.chromium import chromium
from tests.console.page import Console

_LINES: Final = 200
_KEYS: Final = 40
_BAR_MS: Final = 100.0
# A keystroke is measured from the event of its key until the picture after the underline has come.
_WATCH: Final = """
const root = [...document.querySelectorAll('.editor-host')][0].shadowRoot;
const editor = root.querySelector('[aria-label="Query"]');
window.typed = {};
editor.addEventListener('beforeinput', () => { window.typed = {began: performance.now()}; }, true);
const look = () => {
  const there = root.querySelector('.cm-lintRange-error') !== null;
  if (window.typed.began !== undefined && window.typed.took === undefined && there !== window.wasThere) {
    const began = window.typed.began;
    requestAnimationFrame(() => { window.typed.took = performance.now() - began; window.wasThere = there; });
  }
};
window.wasThere = root.querySelector('.cm-lintRange-error') !== null;
new MutationObserver(look).observe(root, {subtree: true, childList: true, attributes: true});
"""


def typing(quick: bool, say: Callable[[str], None]) -> list[Line]:
    """From a keystroke in a query of 200 lines until its error is underlined, or no longer is."""
    with _page() as (page, browser):
        page.write(long_query())
        page.wait(lambda: page.editor_texts(".cm-lint-marker-error") == [])
        # To the end of the first variable: with another character nothing binds it.
        page.keys(Keys.CONTROL, Keys.HOME, Keys.NULL, *[Keys.ARROW_RIGHT] * len("[:find ?name0"))
        page.script(_WATCH)
        took = []
        for number in range(10 if quick else _KEYS):
            if number % 2 == 0:
                browser.execute_cdp_cmd("Input.insertText", {"text": "x"})
            else:
                _press(browser, "Backspace", 8)
            took.append(float(page.wait(lambda: page.script("return window.typed.took"))))
    say(f"    median {statistics.median(took):.0f} ms, longest {max(took):.0f} ms")
    note = f"median of {len(took)}; the longest took {max(took):.0f} ms"
    title = f"a keystroke in a query of {_LINES} lines until its error is underlined"
    return [Line("console-typing", title, "ms", statistics.median(took), "", None, bar=_BAR_MS, note=note)]


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


@contextmanager
def _page() -> Iterator[tuple[Console, Any]]:
    """The console of a server with the sample data."""
    port = server.free_port()
    with folder.with_sample() as data, folder.empty() as profile, server.adalog(data, port, ADALOG_SPARK="off"):
        server.until_ready(port)
        with chromium(profile) as browser:
            page = Console(browser, f"http://127.0.0.1:{port}")
            page.open()
            yield page, browser


def _press(browser: Any, key: str, code: int) -> None:
    for kind in ("keyDown", "keyUp"):
        event = {"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}
        browser.execute_cdp_cmd("Input.dispatchKeyEvent", event)
