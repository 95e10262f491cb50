"""The report of an audit: one HTML file that needs no other, the pictures, and audit.json."""

import base64
import json
from collections.abc import Iterable
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

from surefoot.audit.run import Audit
from surefoot.audit.section import Section
from surefoot.claims import Claim, Verdict
from surefoot.errors import UserError
from surefoot.figures import style
from surefoot.results import writable
from surefoot.runs.directory import new_directory
from surefoot.runs.provenance import provenance
from surefoot.statistics import Estimate

AUDITS_DIRECTORY = Path("audits")
"""The directory of reports for which no other is given."""
JSON, HTML = "audit.json", "audit.html"

COLORS = {Verdict.HOLDS: "#1a7f37", Verdict.FAILS: "#c1121f", Verdict.UNDECIDED: "#9a6700"}
CSS = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 60rem;
  margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2.2rem }
table { border-collapse: collapse; margin: 0.8rem 0 }
th, td { text-align: left; padding: 0.25rem 0.9rem 0.25rem 0; border-bottom: 1px solid #ddd;
  vertical-align: top }
td.number { font-variant-numeric: tabular-nums; white-space: nowrap }
img { max-width: 100%; height: auto } .quiet { color: #666 } .verdict { font-weight: 600 }
"""


def target_directory(out: Path | None, name: str, *, overwrite: bool) -> Path:
    """A directory for the report, made before the work so that a mistake is noticed early."""
    if out is None:
        return new_directory(AUDITS_DIRECTORY, name)
    if (out / JSON).exists() and not overwrite:
        raise UserError(f"out: {out} already holds {JSON}, accepted: another directory, or overwrite")
    return writable(out)


def write(audit: Audit, directory: Path) -> list[Path]:
    """Write the report, and return the paths of its files; audit.json is the last."""
    pictures: dict[str, Path] = {}
    try:
        for section in audit.sections:
            if section.figure is not None:
                pictures[section.name] = directory / f"{section.name}.png"
                style.save(section.figure, pictures[section.name])
        (directory / HTML).write_text(page(audit, pictures))
        text = json.dumps(as_json(audit), indent=2, allow_nan=False)
        (directory / JSON).write_text(text + "\n")
    except OSError as error:
        raise UserError(f"out: could not write to {directory} ({error.strerror})") from error
    return [directory / HTML, *pictures.values(), directory / JSON]


def as_json(audit: Audit) -> dict[str, Any]:
    """The contents of audit.json."""
    return {
        "audit": audit.name,
        "settings": asdict(audit.config),
        "claims": [each.as_json() for each in audit.claims],
        "sections": {section.name: _section_json(section) for section in audit.sections},
        "caveats": list(audit.caveats),
        **provenance(),
    }


def _section_json(section: Section) -> dict[str, Any]:
    return {
        "measured": {name: estimate.as_json() for name, estimate in section.rows.items()},
        "not_applicable": list(section.not_applicable),
        **section.data,
    }


def page(audit: Audit, pictures: dict[str, Path]) -> str:
    """The report as HTML with its pictures inside."""
    parts = [
        f"<h1>Audit: {escape(audit.name)}</h1>",
        '<p class="quiet">Intervals are 95 %, by resampling whole episodes. A claim holds if all of its '
        "interval meets the condition, fails if none of it does, and is undecided otherwise.</p>",
        _claims_table(audit.claims),
    ]
    if audit.caveats:
        parts += ["<h2>What these numbers cannot mean</h2>", _items(audit.caveats)]
    for section in audit.sections:
        parts += [f"<h2>{escape(section.title)}</h2>", *(f"<p>{escape(t)}</p>" for t in section.text if t)]
        if section.rows:
            parts.append(_rows_table(section))
        if section.not_applicable:
            parts += ["<p>Not applicable:</p>", _items(section.not_applicable)]
        if section.name in pictures:
            data = base64.b64encode(pictures[section.name].read_bytes()).decode()
            parts.append(f'<img alt="{escape(section.title)}" src="data:image/png;base64,{data}">')
    made = provenance()
    parts.append(f'<p class="quiet">surefoot {made["version"]}, {escape(str(made["revision"]))}</p>')
    head = f'<meta charset="utf-8"><title>Audit: {escape(audit.name)}</title><style>{CSS}</style>'
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n'
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def _claims_table(claims: Iterable[Claim]) -> str:
    rows = [
        f"<tr><td>{escape(each.name)}<br><span class=quiet>{escape(each.paper)}</span></td>"
        f"{_numbers(Estimate(each.measured, each.interval))}"
        f'<td class="number">{escape(each.criterion)}</td>'
        f'<td class="verdict" style="color:{COLORS[each.verdict]}">{each.verdict}</td></tr>'
        for each in claims
    ]
    if not rows:
        return "<p>No claim is applicable to this agent.</p>"
    return _table(("claim", "measured", "interval", "holds if", "verdict"), rows)


def _rows_table(section: Section) -> str:
    rows = [
        f"<tr><td>{escape(name)}</td>{_numbers(estimate)}</tr>" for name, estimate in section.rows.items()
    ]
    return _table(("", "measured", "interval"), rows)


def _numbers(estimate: Estimate) -> str:
    interval = "" if estimate.interval is None else " to ".join(f"{end:.3g}" for end in estimate.interval)
    return f'<td class="number">{estimate.measured:.3g}</td><td class="number">{interval}</td>'


def _table(head: Iterable[str], rows: Iterable[str]) -> str:
    cells = "".join(f"<th>{each}</th>" for each in head)
    return f"<table><tr>{cells}</tr>{''.join(rows)}</table>"


def _items(sentences: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(each)}</li>' for each in sentences)}</ul>"
