"""SMILES to vectors: the nearest molecules, and which atoms speak for a molecule.

python examples/molecules.py
"""

from __future__ import annotations

import numpy as np

from infograph import GIN, InfoGraph, as_graphset

NAMED = {
    "ethanol": "CCO",
    "propanol": "CCCO",
    "butanol": "CCCCO",
    "ethylamine": "CCN",
    "propylamine": "CCCN",
    "acetic acid": "CC(=O)O",
    "propionic acid": "CCC(=O)O",
    "butyric acid": "CCCC(=O)O",
    "benzene": "c1ccccc1",
    "toluene": "Cc1ccccc1",
    "ethylbenzene": "CCc1ccccc1",
    "phenol": "Oc1ccccc1",
    "aniline": "Nc1ccccc1",
    "benzoic acid": "OC(=O)c1ccccc1",
    "aspirin": "CC(=O)Oc1ccccc1C(=O)O",
    "paracetamol": "CC(=O)Nc1ccc(O)cc1",
    "caffeine": "Cn1cnc2c1c(=O)n(C)c(=O)n2C",
    "acetone": "CC(C)=O",
    "butanone": "CCC(C)=O",
    "acetonitrile": "CC#N",
}


def main() -> None:
    """Embed named molecules; a row that does not parse keeps its place."""
    graphs = as_graphset(list(NAMED.values()), ids=list(NAMED))
    model = InfoGraph(dim=64, epochs=30, encoder=GIN(layers=3, readout="mean")).fit(graphs)
    vectors = model.transform(graphs)

    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    for name in ("propanol", "toluene", "propionic acid"):
        row = list(NAMED).index(name)
        nearest = np.argsort(-unit @ unit[row])[1:4]
        print(f"{name:15} is most like {', '.join(graphs.ids[nearest])}")

    aspirin = graphs[list(NAMED).index("aspirin")]
    scores = model.score_nodes(aspirin)
    loudest = np.argsort(-scores)[:3]
    elements = aspirin.values("node", "element")
    print("atoms that speak for aspirin:", ", ".join(f"{elements[a]}{a}" for a in loudest))

    new = model.transform(["CCCCCO", "not a molecule", "Cc1ccccc1C"], errors="nan")
    print("new molecules, rows that could not be read:", int(np.isnan(new).any(1).sum()), "of", len(new))


if __name__ == "__main__":
    main()
