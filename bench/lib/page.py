# SPDX-License-Identifier: MIT
"""The report as one self-contained page: nothing is loaded from anywhere.

On top a strip for each row says how far weft is ahead of the best peer or behind it; below, each row
has a bar for each side, from zero, with a line from its smallest to its largest run.
"""

import html
import math

from lib.text import note_of, standing
from lib.verdict import BUSY, in_order, number, ratio_text

STRIP_DECADES = 2  # the strip ends at a hundredth and at a hundredfold
MANY_STRIPS = 8  # below that the bars say it all
CUT = 12  # bars of more than so many times weft's are cut off, or they would hide the others

STYLE = """
:root { --paper: #fbfaf7; --card: #fff; --ink: #24231f; --soft: #77736a; --line: #e3dfd5;
  --weft: #0f766e; --peer: #b9b2a3; --best: #8a8169; --behind: #c2410c; --whisker: #24231f99; }
@media (prefers-color-scheme: dark) { :root { --paper: #191917; --card: #22221f; --ink: #ebe8df;
  --soft: #9c978a; --line: #37352f; --weft: #2dd4bf; --peer: #5b574d; --best: #8a8169;
  --behind: #fb923c; --whisker: #ebe8df99; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1rem 4rem; max-width: 76rem; background: var(--paper);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.7rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .7rem; }
p { margin: .3rem 0; } .soft { color: var(--soft); } .num { font-variant-numeric: tabular-nums; }
.lead { font-size: 1.15rem; margin: .6rem 0 1rem; } .weft { color: var(--weft); }
.behind { color: var(--behind); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: .8rem 0;
  font-size: .85rem; } dt { font-weight: 600; } dd { margin: 0; overflow-wrap: anywhere; }
.strips { display: grid; grid-template-columns: repeat(auto-fill, minmax(24rem, 1fr));
  gap: .15rem 2rem; font-size: .85rem; }
.strip { display: grid; grid-template-columns: 11rem 1fr 9.5rem; gap: .5rem; align-items: center; }
.strip .track { position: relative; height: .8rem; border-left: 1px solid var(--line);
  border-right: 1px solid var(--line); }
.strip .track::before { content: ""; position: absolute; left: 50%; top: -.15rem; bottom: -.15rem;
  border-left: 1px solid var(--soft); }
.strip i { position: absolute; top: .1rem; bottom: .1rem; background: var(--weft);
  border-radius: 2px; } .strip i.behind { background: var(--behind); }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(22rem, 1fr)); gap: 1rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  padding: .8rem 1rem; } .card h3 { margin: 0; font-size: 1rem; }
.card .what { font-size: .8rem; color: var(--soft); margin: 0 0 .5rem; }
.bar { display: grid; grid-template-columns: 6.5rem 1fr 9rem; gap: .5rem; align-items: center;
  font-size: .82rem; line-height: 1.7; } .bar .track { position: relative; height: .9rem; }
.bar i { position: absolute; left: 0; top: 0; bottom: 0; min-width: 2px; background: var(--peer);
  border-radius: 0 3px 3px 0; } .bar.weft i { background: var(--weft); }
.bar.best i { background: var(--best); } .bar.weft { font-weight: 600; }
.bar.weft span { color: var(--weft); }
.bar i.cut { border-radius: 0; mask-image: linear-gradient(90deg, #000 70%, #0000);
  -webkit-mask-image: linear-gradient(90deg, #000 70%, #0000); }
.bar u { position: absolute; top: 50%; height: 0; min-width: 1px;
  border-top: 1px solid var(--whisker); }
.ratio { color: var(--soft); } footer { margin-top: 2.5rem; font-size: .85rem; color: var(--soft); }
"""


def esc(text):
    return html.escape(str(text))


def name_of(entry):
    return f"{entry['row']} {entry['procs']}P"


def strip(entry):
    """A bar from the middle: to the left weft is ahead of the best peer, to the right behind."""
    value = entry["ratios"][entry["best"]]
    bar, said, kind = "", f"~ {entry['best']}", "soft"
    if value is not None and value > 0:
        half = max(-1.0, min(1.0, math.log10(value) / STRIP_DECADES)) * 50
        kind = "weft" if value < 1 else "behind"
        bar = (f'<i class="{kind}" style="left:{50 + min(half, 0):.2f}%;'
               f'width:{abs(half):.2f}%"></i>')
        said = f"{ratio_text(value)} × {entry['best']}"
    return (f'<div class="strip"><span>{esc(name_of(entry))}</span>'
            f'<span class="track">{bar}</span><span class="num {kind}">{esc(said)}</span></div>')


def strips(entries):
    compared = [entry for entry in entries if entry["ratios"] and entry["best"]]
    if len(compared) < MANY_STRIPS:
        return ""
    return ('<h2>weft against the best peer of each row</h2><p class="soft">To the left weft '
            "needs less, to the right more; the ends are a hundredth and a hundredfold. ~ means "
            "that the runs do not establish a difference.</p>"
            f'<div class="strips">{"".join(strip(entry) for entry in compared)}</div>')


def bar(entry, name, cell, largest):
    kinds = "weft" if name == "weft" else "best" if name == entry["best"] else ""
    if "median" not in cell:
        why = next(iter(cell))
        return (f'<div class="bar {kinds}"><span>{esc(name)}</span>'
                f'<span class="soft" title="{esc(cell[why])}">{esc(why)}</span><span></span></div>')
    at = {key: min(100.0, max(0.0, cell[key] / largest * 100)) for key in ("median", "min", "max")}
    cut = ' class="cut"' if cell["median"] > largest else ""
    said = number(cell["median"])
    if name != "weft" and name in entry["ratios"]:
        said += f' <span class="ratio">weft × {ratio_text(entry["ratios"][name])}</span>'
    tip = f"{number(cell['min'])} to {number(cell['max'])} {entry['unit']}"
    return (f'<div class="bar {kinds}" title="{esc(tip)}"><span>{esc(name)}</span>'
            f'<span class="track"><i{cut} style="width:{at["median"]:.2f}%"></i>'
            f'<u style="left:{at["min"]:.2f}%;width:{at["max"] - at["min"]:.2f}%"></u></span>'
            f'<span class="num">{said}</span></div>')


def card(entry):
    cells = {name: cell for name, cell in entry["cells"].items() if cell}
    largest = max([cell["max"] for cell in cells.values() if "max" in cell] + [1e-9])
    ours = cells.get("weft", {}).get("median", 0)
    if ours > 0:
        largest = min(largest, CUT * ours)
    ordered = in_order(cells, cells, entry["unit"])
    what = ", ".join(filter(None, [entry["what"], entry["state"], note_of(entry)]))
    bars = "".join(bar(entry, name, cells[name], largest) for name in ordered)
    return (f'<div class="card"><h3>{esc(name_of(entry))} <span class="soft">'
            f'{esc(entry["unit"])}</span></h3><p class="what">{esc(what)}</p>{bars}</div>')


def lead(entries):
    compared, first, behind = standing(entries)
    if not compared:
        return ""
    text = f'<span class="weft">ahead of the best peer in {first} of {compared} rows</span>'
    if behind:
        text += f', <span class="behind">behind in {len(behind)}</span>'
    if compared > first + len(behind):
        text += f", {compared - first - len(behind)} not established"
    return f'<p class="lead">{text}</p>'


def head(known, results):
    rounds = (f"{known['rounds']} rounds in turn; 1P pinned to CPU {known['pinned_cpu']}, others "
              "not pinned")
    if known["scale_percent"] != 100:
        rounds += f"; a quick look: counts at {known['scale_percent']} %"
    load = results.other_load()
    others = f"other processes kept {load:.2f} CPUs busy"
    if load > BUSY:
        others += "; the figures suffer from it"
    facts = [("machine", known["machine"]), ("date", known["date"]),
             *known["versions"].items(), ("runs", rounds), ("load", others)]
    return "<dl>" + "".join(f"<dt>{esc(name)}</dt><dd>{esc(text)}</dd>" for name, text in facts) + \
        "</dl>"


def foot(results):
    lines = ["Bars are medians from zero, shorter is better (longer for rates, in /s); the thin "
             "line goes from the smallest run to the largest. One that fades out is more than "
             f"{CUT} times weft's. A ratio is weft's median over the peer's (of rates the peer's "
             "over weft's) and stands only where the runs establish it, else ~."]
    for what, found in (("missing", results.missing), ("failed", results.failures)):
        lines += [f"{what}: {side} {job} {procs}P: {reason}"
                  for (job, procs, side), reason in found.items()]
    return "<footer>" + "".join(f"<p>{esc(line)}</p>" for line in lines) + "</footer>"


def page(known, results, entries):
    sections = []
    for procs in dict.fromkeys(entry["procs"] for entry in entries):
        cards = "".join(card(entry) for entry in entries if entry["procs"] == procs)
        title = "One processor" if procs == 1 else f"{procs} processors"
        sections.append(f'<h2>{title}</h2><div class="cards">{cards}</div>')
    return ('<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>weft and its peers</title><style>{STYLE}</style></head><body>\n"
            f"<h1>weft and its peers</h1>{lead(entries)}{head(known, results)}\n"
            f"{strips(entries)}\n" + "\n".join(sections) + f"\n{foot(results)}</body></html>\n")
