"""`python -m infograph.cli` is `infograph`."""

import sys

from infograph.cli import main

sys.exit(main())
