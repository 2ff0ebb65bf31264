"""All benchmarks, one after the other: `make bench`."""

from __future__ import annotations

from benchmarks import (
    explorer,
    judges,
    kernels,
    maps,
    memory,
    methods,
    molecules,
    readme,
    scale,
    search,
    skipgram,
    training,
)

if __name__ == "__main__":
    training.main()
    memory.main()
    molecules.main()
    skipgram.main()
    kernels.main()
    judges.main()
    methods.main(["--again"])
    search.main()
    explorer.main(["--again"])
    maps.main([])
    scale.main()
    readme.main()
