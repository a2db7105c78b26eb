"""Which scalars mean what, when a manifest is read and when one is written.

Promise: scalars mean what NeMo Gym's own configuration loader makes of them, except that `4:00:00` stays text (YAML
1.1 would make 14400 of it) and so do dates and numbers with leading zeros. What is written is read back as it was, by
this loader and by NeMo Gym's.
"""

import re
from typing import Any

import yaml

_INT = r"[-+]?(?:0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|0b[01_]+)\Z"
_FLOAT = (
    r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[0-9][0-9_]*[eE][-+]?[0-9]+|\.[0-9][0-9_]*(?:[eE][-+]?[0-9]+)?"
    r"|\.(?:inf|Inf|INF))\Z|\.(?:nan|NaN|NAN)\Z"
)


class Loader(yaml.SafeLoader):
    """SafeLoader with the scalars that this module promises."""


_REPLACED = {f"tag:yaml.org,2002:{name}" for name in ("int", "float", "timestamp", "value")}
Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _REPLACED]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(_INT), list("-+0123456789"))
Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(_FLOAT), list("-+0123456789."))


class Dumper(yaml.SafeDumper):
    """SafeDumper that also quotes text which any reader above or NeMo Gym's would take for a number."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the signature is PyYAML's
        return True


Dumper.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(_FLOAT), list("-+0123456789."))
