"""Skip-gram beside gensim's one worker: words per second on random walks through neighbouring words.

python -m benchmarks.skipgram [--out benchmarks/results]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import options_of, seconds, write
from infograph.baselines.skipgram import word_vectors

DIM, WINDOW, TURNS = 512, 10, 3


def ours(walks: NDArray[np.int32], n_words: int) -> float:
    """Seconds of one pass."""
    return seconds(lambda: word_vectors(walks, n_words, dim=DIM, window=WINDOW))[0]


def gensims(walks: NDArray[np.int32], n_words: int) -> float:
    """Seconds of one pass of gensim, which begins with its vocabulary in place."""
    from gensim.models import Word2Vec

    model = Word2Vec(vector_size=DIM, window=WINDOW, min_count=0, sg=1, negative=5, workers=1, sample=0)
    counts = 1 + np.bincount(walks.ravel(), minlength=n_words)
    model.build_vocab_from_freq(dict(enumerate(counts.tolist())))
    rows = walks.tolist()
    return seconds(lambda: model.train(rows, total_examples=len(rows), epochs=1))[0]


def measure(n_words: int = 20_000) -> dict[str, Any]:
    """Both sides in turns; the best of each."""
    rng = np.random.default_rng(0)
    walks = rng.integers(0, 20, size=(1000, 80)) + rng.integers(0, n_words - 20, size=(1000, 1))
    walks = walks.astype(np.int32)
    ours(walks[:10], n_words)  # compiles
    pairs = [(ours(walks, n_words), gensims(walks, n_words)) for _ in range(TURNS)]
    mine, other = (walks.size / min(side) for side in zip(*pairs, strict=True))
    return {"words_per_second": mine, "gensim_words_per_second": other, "times_faster": mine / other}


def main() -> None:
    parser = options_of(__doc__)
    options = parser.parse_args()
    result = measure()
    print(f"skip-gram {result['words_per_second']:,.0f} words/s, {result['times_faster']:.1f} times gensim")
    write(options.out, "skipgram", result)


if __name__ == "__main__":
    main()
