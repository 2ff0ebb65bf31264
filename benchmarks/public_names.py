"""The table of docs/reference.md: every public name, and the first line of what it says about itself."""

from __future__ import annotations

import inspect

import infograph

GROUPS = {
    "models": ("InfoGraph", "InfoGraphRegressor", "InfoGraphClassifier", "load"),
    "encoders": ("GIN", "ENN", "Auto", "PerNode"),
    "objectives": (
        "MutualInformation",
        "InfoGraphStar",
        "InfoGraphWithLabels",
        "Supervised",
        "Vectors",
        "MeanTeacher",
        "PiModel",
        "VirtualAdversarial",
        "PseudoLabel",
        "Entropy",
        "Plateau",
        "Cosine",
    ),
    "own": ("Objective", "LossTerms", "Discriminator", "Bound"),
    "logs": ("CSVLog", "TensorBoard"),
    "graphs": (
        "read_graphs",
        "load_dataset",
        "as_graphset",
        "GraphSet",
        "Schema",
        "Column",
        "concatenate",
        "save_graphs",
        "open_graphs",
        "to_networkx",
        "to_pyg",
        "write_rejected",
    ),
    "splits": (
        "random_split",
        "semi_supervised_split",
        "scaffold_split",
        "deterministic_scaffold_split",
        "scaffold_groups",
        "resolve_duplicates",
    ),
    "judging": ("cross_validate", "paired_test", "compare", "make_parts", "tune", "suggest"),
    "looking": (
        "GraphIndex",
        "Hits",
        "find_clusters",
        "describe_clusters",
        "outlier_scores",
        "draw_graph",
        "contribution_drawing",
    ),
    "plots": ("plot_history", "plot_map", "plot_predictions", "plot_gains"),
    "kernels": (
        "WeisfeilerLehman",
        "OptimalAssignment",
        "ShortestPath",
        "Graphlets",
        "RandomWalk",
        "DeepGraphKernel",
        "MultiscaleLaplacian",
    ),
    "embeddings": (
        "Node2Vec",
        "Sub2Vec",
        "Graph2Vec",
        "LabelHistogram",
        "DegreeHistogram",
        "LocalTopologicalProfile",
        "UntrainedGIN",
    ),
    "predictors": ("MeanPredictor", "AtomCounts", "FingerprintForest"),
}


def names_tables() -> dict[str, str]:
    """A table for each group."""
    return {f"names:{group}": _table(names) for group, names in GROUPS.items()}


def _table(names: tuple[str, ...]) -> str:
    rows = [f"| `{name}` | {_first_line(name)} |" for name in names]
    return "\n".join(["| | |", "|---|---|", *rows])


def _first_line(name: str) -> str:
    text = inspect.getdoc(getattr(infograph, name)) or ""
    return text.split("\n\n")[0].replace("\n", " ").replace("|", "\\|")
