"""C++ identifiers for kernels and ports, made from the model's names."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

# Words of C++20 that a layer may well be called, and names that generated code uses itself.
RESERVED = frozenset(
    "alignas and asm auto bool break case catch char class concept const constexpr continue "
    "decltype default delete do double else enum explicit export extern false float for friend "
    "goto if inline int long mutable namespace new noexcept not nullptr operator or private "
    "protected public register requires return short signed sizeof static struct switch template "
    "this throw true try typedef typename union unsigned using virtual void volatile while xor "
    "adf aie all forge_aie main kernel kernels graph plio Config weights bias".split()
)


@dataclass(slots=True)
class Names:
    """Gives every wish a name of its own."""

    taken: set[str] = field(default_factory=set)

    def unique(self, wish: str) -> str:
        """The wish as an identifier, with a number where another has it already."""
        text = re.sub(r"\W+", "_", wish, flags=re.ASCII).strip("_")
        text = re.sub(r"__+", "_", text) or "layer"  # two underscores belong to the compiler
        if text[0].isdigit() or text in RESERVED:
            text = f"layer_{text}"
        name, number = text, 2
        while name in self.taken:
            name, number = f"{text}_{number}", number + 1
        self.taken.add(name)
        return name
