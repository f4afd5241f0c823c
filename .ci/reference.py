#!/usr/bin/env python3
"""The configuration reference, from the schema: mcpl-sidecar schema | .ci/reference.py > docs/reference.md"""

import json
import sys

HEAD = """# Configuration reference

Every key, as `mcpl-sidecar schema` has it: this page is made from that (`.ci/reference.py`) and not by hand. What the
keys are for and how they work together: [configuration](configuration.md). **Bold** keys are required. A dash as
default: the key is absent, and then what the text says.
"""


def code(value):
    return f"`{json.dumps(value, ensure_ascii=False)}`"


def values(key):
    """What a key takes."""
    if "enum" in key:
        return ", ".join(code(value) for value in key["enum"])
    kind = key.get("type", "string")
    if kind == "array":
        return "array of tables" if key["items"].get("type") == "object" else f"array of {key['items']['type']}s"
    if kind == "object":
        return "table" if "properties" in key else "table of strings"
    if kind in ("integer", "number"):
        low, high = key.get("minimum"), key.get("maximum")
        zero = ""
        for way in key.get("anyOf", []):
            zero, low = ("0 or ", low) if "const" in way else (zero, way["minimum"])
        low, high = (f"{it:.15g}" if it is not None else None for it in (low, high))
        return kind if low is None and high is None else f"{kind}, {zero}{low} to {high}"
    return kind


def cell(text):
    return text.replace("|", "\\|")


def table(schema, heading, out):
    required = schema.get("required", [])
    out.append(f"\n## {heading}\n")
    ways = [way["required"][0] for way in schema.get("oneOf", [])]
    if ways:
        out.append(f"Exactly one of {' and '.join(f'`{name}`' for name in ways)}.\n")
    out.append("| key | takes | default | meaning |\n|---|---|---|---|")
    keys = sorted(schema["properties"].items(), key=lambda it: (it[0] not in required, it[0]))
    for name, key in keys:
        shown = f"**`{name}`**" if name in required else f"`{name}`"
        default = code(key["default"]) if "default" in key else "-"
        out.append(f"| {shown} | {cell(values(key))} | {default} | {cell(key['description'])} |")


def tables(schema, path, out):
    """This table and, after it, those in it."""
    for name, key in schema["properties"].items():
        inner, brackets = (key["items"], "[[{}]]") if key.get("type") == "array" else (key, "[{}]")
        if "properties" in inner:
            here = f"{path}.{name}" if path else name
            table(inner, f"`{brackets.format(here)}`", out)
            tables(inner, here, out)


def main():
    schema = json.load(sys.stdin)
    out = [HEAD.rstrip("\n")]
    table(schema, "Top level", out)
    tables(schema, "", out)
    print("\n".join(out))


main()
