"""What a check finds, and whom it tells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from adalog.datalog.errors import AdalogError


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is damaged: where, what is wrong with it, what to do."""

    where: str
    what: str
    remedy: str


@dataclass
class CheckReport:
    """What was read, and what was found. unused: files that nothing names, which is no damage. unread: why
    something was not read, if it was not."""

    t: int = 0
    files: int = 0
    bytes: int = 0
    findings: list[Finding] = field(default_factory=list)
    unused: int = 0
    unread: str | None = None


Tell = Callable[[Finding], None]


@dataclass(frozen=True, slots=True)
class Remedies:
    """What to do about a damaged log, segments that cannot be read, and segments that say something wrong."""

    lost: str
    rebuilt: str
    wrong: str

    def until(self, t: int) -> str:
        """What to do about a log that is right up to transaction t."""
        return f"{self.lost}, all of it or what comes before this, with --t {t}"


class OutdatedCheckError(Exception):
    """An excision happened during the check: what looks like damage may be its doing."""


@dataclass
class Findings:
    """Those of one check. log: what its log is called; remedies: of the database, where one is checked.
    is_outdated: whether an excision happened since the check began."""

    _tell: Tell
    log: str = ""
    remedies: Remedies = Remedies("", "", "")
    checked: CheckReport = field(default_factory=CheckReport)
    is_outdated: Callable[[], bool] = lambda: False

    def add(self, where: str, what: str, remedy: str) -> None:
        """Raises OutdatedCheckError."""
        if self.is_outdated():
            raise OutdatedCheckError
        finding = Finding(where, what, remedy)
        self.checked.findings.append(finding)
        self._tell(finding)

    def add_of_log(self, what: str, until: int | None = None) -> None:
        """The log is damaged; up to transaction `until` it is right, if that is known."""
        remedy = self.remedies.lost if until is None else self.remedies.until(until)
        self.add(self.log, what, remedy)

    def read(self, size: int) -> None:
        self.checked.files += 1
        self.checked.bytes += size


def why(error: AdalogError, file: str) -> str:
    """What is wrong with a file, without its name and what to do."""
    return error.message.removeprefix(f"{file} is damaged: ").partition(";")[0]


def said(error: AdalogError) -> str:
    """What is wrong with a log, without what to do."""
    return error.message.partition(". Nothing")[0]
