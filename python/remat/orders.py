"""How numbers are sorted, for both frameworks, whose importers have no sort."""


def count_stages(size: int) -> int:
    """Of a bitonic network."""
    levels = (size - 1).bit_length()
    return levels * (levels + 1) // 2


def choose(size: int, passes: int) -> str:
    """The fastest way to have the places of the first `passes` elements of `size` in order, by nanoseconds for each element that were
    measured on two cores: "comparisons" of each element with each, a "network" of stages that exchange pairs, or "one by one",
    the next of those that are left. Few elements are compared, which makes the shortest program."""
    times = {"comparisons": 0.12 * size, "network": 2.5 * count_stages(size), "one by one": 0.4 * passes if passes <= 64 else float("inf")}
    return "comparisons" if size <= 64 else min(times, key=lambda way: times[way])
