"""Usage of several calls of a model, as that of a run."""


def total(usages):
    """The numbers of usages, added up by their names; {} of none."""
    sums = {}
    for usage in usages:
        for name, n in (usage or {}).items():
            if isinstance(n, (int, float)) and not isinstance(n, bool):
                sums[name] = sums.get(name, 0) + n
    return sums
