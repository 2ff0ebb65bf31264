"""Findings on a cluster as one line of text."""

from __future__ import annotations

from collections.abc import Sequence

from infograph.understand.findings import Finding

CLASSES, NUMBERS, TYPES, GROUPS = 2, 2, 3, 3  # how many of each kind a line names


def cluster_sentence(size: int, share: float, findings: Sequence[Finding]) -> str:
    """Such as "312 graphs (8 %): y = 1 (94 %, 60 % of all), larger than most (23 nodes, median 17), more N".

    The surest findings of each kind come first; `findings` are all there are.
    """
    head = f"{size:,} {'graph' if size == 1 else 'graphs'} ({percent(share)})"
    parts = [
        *_classes([f for f in findings if f.kind == "class"]),
        *_size([f for f in findings if f.kind == "size"]),
        *(_number(f) for f in [f for f in findings if f.kind == "number"][:NUMBERS]),
        *_node_types([f for f in findings if f.kind == "node type"]),
        *(_group(f) for f in [f for f in findings if f.kind == "group"][:GROUPS]),
    ]
    return f"{head}: {', '.join(parts) or 'no significant difference from the others'}"


def percent(share: float) -> str:
    """94 %; two digits below 1 %."""
    value = 100 * share
    return f"{value:.0f} %" if value >= 1 or value == 0 else f"{value:.1g} %"


def _classes(findings: Sequence[Finding]) -> list[str]:
    """One class per column: the surest."""
    first: dict[str, Finding] = {}
    for finding in findings:
        first.setdefault(finding.name, finding)
    return [
        f"{f.name} = {f.value} ({percent(f.inside)}, {percent(f.overall)} of all)"
        for f in list(first.values())[:CLASSES]
    ]


def _size(findings: Sequence[Finding]) -> list[str]:
    """Nodes; edges only where the nodes say nothing."""
    found = sorted(findings, key=lambda finding: finding.name != "nodes")
    if not found:
        return []
    f = found[0]
    if f.name == "edges":
        word = "more" if f.larger > 0.5 else "fewer"
        return [f"{word} edges than most ({f.inside:.4g}, median {f.overall:.4g})"]
    word = "larger" if f.larger > 0.5 else "smaller"
    return [f"{word} than most ({f.inside:.4g} nodes, median {f.overall:.4g})"]


def _number(f: Finding) -> str:
    word = "high" if f.larger > 0.5 else "low"
    return f"{word} {f.name} (median {f.inside:.4g}, {f.overall:.4g} of all)"


def _node_types(findings: Sequence[Finding]) -> list[str]:
    names = [f"{_node_type(f)} ({_times(f.ratio)})" for f in findings[:TYPES]]
    if not names:
        return []
    return [f"more {' and '.join([', '.join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]}"]


def _node_type(f: Finding) -> str:
    return str(f.value) if f.name == "element" else f"{f.name} {f.value}"


def _group(f: Finding) -> str:
    return f"{f.name} {_times(f.ratio)}"


def _times(ratio: float) -> str:
    return f"{ratio:.0f}x" if ratio >= 9.5 else f"{ratio:.1f}x".replace(".0x", "x")
