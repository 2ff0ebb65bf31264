"""All benchmarks, one after the other: `make bench`."""

from __future__ import annotations

from benchmarks import memory, molecules, readme, training

if __name__ == "__main__":
    training.main()
    memory.main()
    molecules.main()
    readme.main()
