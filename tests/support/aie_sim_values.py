"""Text files of PLIO in tests."""


def numbers(values):
    """One value a line."""
    return "".join(f"{value}\n" for value in values)


def lines(text, per_line):
    """The values of an output; every line but the last holds `per_line` of them."""
    rows = [row.split() for row in text.splitlines()]
    assert all(len(row) == per_line for row in rows[:-1])
    return [int(value) for row in rows for value in row]
