"""Builds the site of the documentation: one zip file, which the gateway serves at `/docs`.

    python docs/site/build.py gateway/documentation/site.zip

Zensical makes HTML of the pages of `docs/` and of `OUTSIDE`, and refuses links and anchors that lead nowhere. The
gateway's Content-Security-Policy allows no inline script or style: those of the theme are moved out of the pages.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
CONFIG: Final = Path(__file__).with_name("zensical.toml")
# Pages that stand elsewhere in the repository, and their place in the site.
OUTSIDE: Final = {
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "clients/js/README.md": "reference/javascript-client.md",
    "examples/balancer/README.md": "project/balancer.md",
    "examples/debian/README.md": "project/debian.md",
    "examples/fastapi/README.md": "project/fastapi.md",
    "examples/live/README.md": "project/live.md",
    "examples/shop/README.md": "project/shop.md",
    "helm/adalog/README.md": "reference/chart.md",
}
_LINK: Final = re.compile(r"\[([^\[\]]*)\]\(([^)\s#]*)(#[^)\s]*)?\)")
_FENCE: Final = re.compile(r"^( *)(```+).*?^\1\2 *$", re.DOTALL | re.MULTILINE)
_SCRIPT: Final = re.compile(r"<script>(.+?)</script>", re.DOTALL)
# How the theme's script adds the styles of the search to the page.
_STYLE: Final = re.compile(r'(\w+)\.appendChild\(\w+\("style",\{\},(\w+)\.toString\(\)\)\)')
_SHEET: Final = r"\1.adoptedStyleSheets=[new CSSStyleSheet],\1.adoptedStyleSheets[0].replaceSync(\2)"
_UNUSED: Final = ("sitemap.xml", "objects.inv", "404.html")
# The same content gives the same bytes.
_TIME: Final = (1980, 1, 1, 0, 0, 0)


def places() -> dict[Path, str]:
    """Each page's file -> its place among the site's sources; a README is the page of its folder."""
    own = ROOT / "docs"
    found = {path: str(path.relative_to(own)) for path in sorted(own.rglob("*.md"))}
    found |= {ROOT / name: place for name, place in OUTSIDE.items()}
    return {path: re.sub(r"(^|/)README\.md$", r"\1index.md", place) for path, place in found.items()}


def stage(folder: Path) -> None:
    """Copies the pages to `folder`, with links as they are there, and the files that pages show or link to."""
    pages = places()
    for path, place in pages.items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_relinked(path, pages, folder), encoding="utf-8")
    shutil.copytree(CONFIG.parent / "assets", folder / "assets")


def _relinked(path: Path, pages: dict[Path, str], folder: Path) -> str:
    here = os.path.dirname(pages[path])

    def link(found: re.Match[str]) -> str:
        text, name, anchor = found[1], found[2], found[3] or ""
        if not name or re.match(r"[a-z]+:", name):
            return found[0]
        target = (path.parent / name).resolve()
        target = target / "README.md" if target.is_dir() else target
        place = pages.get(target)
        if place is None and target.is_relative_to(ROOT / "docs"):
            if not target.is_file():
                return found[0]  # Zensical refuses it
            place = str(target.relative_to(ROOT / "docs"))
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(target, folder / place)
        # Sources are not part of the site.
        return text if place is None else f"[{text}]({os.path.relpath(place, here)}{anchor})"

    text, parts, at = path.read_text(encoding="utf-8"), [], 0
    for fence in _FENCE.finditer(text):
        parts += [_LINK.sub(link, text[at : fence.start()]), fence[0]]
        at = fence.end()
    return "".join([*parts, _LINK.sub(link, text[at:])])


def config() -> str:
    """Zensical's settings, with all decisions in the menu."""
    decisions = sorted(place for place in places().values() if place.startswith("adr/0"))
    return CONFIG.read_text(encoding="utf-8").replace('"adr/0*.md"', ", ".join(f'"{each}"' for each in decisions))


def render(folder: Path) -> Path:
    """The folder of the HTML that Zensical makes of `folder`/pages. Ends the program if a link leads nowhere."""
    folder.joinpath(CONFIG.name).write_text(config(), encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", CONFIG.name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr).partition("Traceback")[0])
    return folder / "site"


def separate_scripts(site: Path) -> None:
    """Makes a file of each inline script, named after its content."""
    for page in site.rglob("*.html"):
        up = os.path.relpath(site, page.parent)

        def script(found: re.Match[str], up: str = up) -> str:
            content = found[1].encode()
            name = f"assets/javascripts/{hashlib.sha256(content).hexdigest()[:16]}.js"
            (site / name).write_bytes(content)
            return f'<script src="{up}/{name}"></script>'

        page.write_text(_SCRIPT.sub(script, page.read_text(encoding="utf-8")), encoding="utf-8")


def replace_inline_style(site: Path) -> None:
    """Has the theme's script make a style sheet where it would write an inline style."""
    (bundle,) = site.glob("assets/javascripts/bundle.*.js")
    text, count = _STYLE.subn(_SHEET, bundle.read_text(encoding="utf-8"))
    assert count == 1, f"{bundle.name} adds {count} inline styles, not one"
    bundle.write_text(text, encoding="utf-8")


def pack(site: Path, output: Path) -> None:
    """Writes the site as one file, in one step."""
    output.parent.mkdir(parents=True, exist_ok=True)
    partial = output.with_suffix(".new")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(site.rglob("*")):
            if path.is_file() and path.name not in _UNUSED:
                entry = zipfile.ZipInfo(str(path.relative_to(site)), _TIME)
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, path.read_bytes())
    partial.replace(output)


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python docs/site/build.py OUTPUT.zip")
    with TemporaryDirectory() as folder:
        stage(Path(folder, "pages"))
        site = render(Path(folder))
        separate_scripts(site)
        replace_inline_style(site)
        pack(site, Path(sys.argv[1]))


if __name__ == "__main__":
    main()
