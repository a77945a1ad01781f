"""The console in a browser, as a reader uses it: by the names of things, and by keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from tests.chromium import waiting

T = TypeVar("T")


class Console:
    def __init__(self, browser: webdriver.Chrome, address: str) -> None:
        self.browser = browser
        self.address = address

    def open(self, place: str = "") -> None:
        """Opens the page at a place, as `#/schema`, in a tab that knows nothing yet."""
        self.browser.get("about:blank")
        self.browser.get(f"{self.address}/{place}")
        self.wait(lambda: self.all("main"))

    def wait(self, condition: Callable[[], T | None]) -> T:
        """What a condition returns once it holds. The page may replace an element while the condition reads it."""
        found: T | None = waiting(self.browser).until(lambda _: condition())
        assert found is not None
        return found

    def all(self, selector: str) -> list[WebElement]:
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str) -> WebElement:
        """The first element that a selector selects, once there is one."""
        return self.wait(lambda: self.all(selector))[0]

    def text(self, selector: str) -> str:
        """The text of the first element that a selector selects, once there is one."""
        return self.wait(lambda: [element.text for element in self.all(selector)[:1]])[0]

    def button(self, text: str, within: str = "body") -> WebElement:
        """The button with a text or label, once there is one."""
        path = f'.//button[normalize-space()="{text}" or @aria-label="{text}"]'
        return self.wait(lambda: self.one(within).find_elements(By.XPATH, path))[0]

    def script(self, text: str, *arguments: object) -> Any:
        return self.browser.execute_script(text, *arguments)  # type: ignore[no-untyped-call]

    def write(self, text: str, label: str = "Query") -> None:
        """Replaces an editor's text, by keys."""
        editor = self.wait(lambda: self._editor(label))
        # In one call: each begins at the end of the text.
        editor.send_keys(Keys.CONTROL, "a", Keys.NULL, Keys.DELETE)
        # All at once, as from the clipboard: the editor closes brackets that are typed.
        self.browser.execute_cdp_cmd("Input.insertText", {"text": text})
        self.wait(lambda: self.text_of(label) == text)

    def text_of(self, label: str = "Query") -> str:
        """The text of an editor."""
        lines = "return [...arguments[0].querySelectorAll('.cm-line')].map((line) => line.textContent).join('\\n')"
        text: str = self.script(lines, self.wait(lambda: self._editor(label)))
        return text

    def keys(self, *keys: str, label: str = "Query") -> None:
        """Types in an editor, where the cursor is."""
        editor = self.wait(lambda: self._editor(label))
        self.script("arguments[0].focus()", editor)
        # `send_keys` of the element moves the cursor to the end.
        ActionChains(self.browser).send_keys(*keys).perform()

    def editor_texts(self, selector: str, label: str = "Query") -> list[str]:
        """The texts of what a selector selects in an editor and in the boxes beside it."""
        texts = (
            "return [...arguments[0].getRootNode().querySelectorAll(arguments[1])].map((each) => each.textContent)"
        )
        found: list[str] = self.script(texts, self.wait(lambda: self._editor(label)), selector)
        return found

    def _editor(self, label: str) -> WebElement | None:
        hosts = "return [...document.querySelectorAll('.editor-host')].map((host) => host.shadowRoot?.querySelector"
        found = self.script(f"{hosts}('[aria-label=' + JSON.stringify(arguments[0]) + ']')).find(Boolean)", label)
        return found if found is None or found.is_displayed() else None

    def run(self, query: str) -> list[list[str]]:
        """Asks a query with Ctrl-Enter; the cells of the rows in sight."""
        self.write(query)
        editor = self._editor("Query")
        assert editor is not None
        before = self.ended()
        editor.send_keys(Keys.CONTROL, Keys.ENTER)
        self.wait(lambda: self.ended() > before)
        return self.rows()

    def ended(self) -> int:
        """How many queries have ended, in an answer or an error."""
        return int(self.one(".results").get_attribute("data-ended") or 0)

    def rows(self) -> list[list[str]]:
        """The cells of the rows of the first table that are in sight."""
        rows: list[list[str]] = self.script(
            "const table = document.querySelector('.results [role=grid]');"
            "return [...(table?.querySelectorAll('.table-body [role=row]') ?? [])]"
            ".map((row) => [...row.querySelectorAll(':scope > [role=gridcell]:not(.row-actions)')]"
            ".map((cell) => cell.textContent))"
        )
        return rows

    def messages(self) -> list[str]:
        """What the page has written to the browser's console: errors and violations of the security policy."""
        log = self.browser.get_log("browser")  # type: ignore[no-untyped-call]
        return [entry["message"] for entry in log if entry["level"] in ("SEVERE", "WARNING")]
