"""Python imports a module of this name by itself when it starts: with this folder on PYTHONPATH it is one without our extras.

So whole processes can be tried as the small image has them, whatever is installed here.
"""

from __future__ import annotations

import sys

from without_extras import Missing

sys.meta_path.insert(0, Missing())
