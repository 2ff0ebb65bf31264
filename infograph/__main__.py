"""`python -m infograph`: the command line, where the script `infograph` is not on the path."""

from infograph.cli import main

raise SystemExit(main())
