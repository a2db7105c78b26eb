"""The base of every manifest block: strict types, frozen, and a docstring under each field.

Promise: a block never converts one type into another (`"8"` is not 8) and never keeps a key it does not know, unless
the block is free-form (`FreeBlock`). The docstrings are the only place in which a key is described: the JSON Schema
and the documentation of keys are generated from them.
"""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

PositiveInt = Annotated[int, Field(ge=1)]
Port = Annotated[int, Field(ge=1, le=65535)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Text = Annotated[str, Field(min_length=1)]
# YAML gives lists; a frozen block keeps tuples. Only the container is converted, never what is in it.
Texts = Annotated[tuple[Text, ...], Field(strict=False)]


class Block(BaseModel):
    """A block whose keys are all known."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", use_attribute_docstrings=True)


class FreeBlock(BaseModel):
    """A block that takes any key besides those it names, and hands them on as they are."""

    model_config = ConfigDict(frozen=True, strict=True, extra="allow", use_attribute_docstrings=True)

    @property
    def free(self) -> dict[str, Any]:
        """The keys that this block does not name, in the order of the manifest."""
        return dict(self.__pydantic_extra__ or {})
