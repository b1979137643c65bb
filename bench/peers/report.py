# Summarises the measured rounds: medians, ratios, the table.
# SPDX-License-Identifier: MIT
import statistics

TORCH_SIDES = ("torch contiguous", "torch channels-last")
ONNX_SIDES = ("onnx runtime",)
PANDO_SIDE = "pando"
# If other processes use more than this many cores, the results are not reliable.
NOISY_CORES = 0.1



def columns(result):
    return ["model", "batch", *(f"{side} /s" for side in peers(result)), "Pando /s", "ratio",
            "GFLOP/s", "of FMA peak"]


def peers(result):
    """The sides that Pando is compared with."""
    return [side for side in result["rates"] if side != PANDO_SIDE]


def disturbance(entry):
    """The most cores that others used while a side of this round was measured."""
    return max(entry["other_cores"].values())


def quiet(rounds, wanted):
    """Whether `wanted` rounds were undisturbed."""
    return sum(disturbance(entry) <= NOISY_CORES for entry in rounds) >= wanted


def quietest(rounds, wanted):
    """The `wanted` least disturbed rounds, in the order of measurement. The choice depends only on
    the load of the machine, never on the results."""
    order = sorted(range(len(rounds)), key=lambda i: disturbance(rounds[i]))[:wanted]
    return [rounds[i] for i in sorted(order)]


def summarise(result):
    """Adds results to the record of one case, computed from its `rates` (samples/s per side and
    round), `peaks` (GFLOP/s per round) and `mflop` (per sample)."""
    medians = {side: statistics.median(values) for side, values in result["rates"].items()}
    result["median"] = medians
    result["peak_gflops"] = statistics.median(result["peaks"])
    result["best_peer"] = max(peers(result), key=lambda side: medians[side])
    if PANDO_SIDE in medians:
        rates = result["rates"]
        result["ratio"] = medians[PANDO_SIDE] / medians[result["best_peer"]]
        pairs = zip(rates[PANDO_SIDE], rates[result["best_peer"]])
        result["ratio_rounds"] = [pando / peer for pando, peer in pairs]
        result["ratio_of_best"] = max(rates[PANDO_SIDE]) / max(rates[result["best_peer"]])
        result["gflops"] = medians[PANDO_SIDE] * result["mflop"] / 1e3
        result["peak_fraction"] = result["gflops"] / result["peak_gflops"]
    return result


def rate_text(rate):
    return f"{rate:.0f}" if rate >= 100 else f"{rate:.1f}"


def row(result):
    cells = [result["model"], str(result["batch"])]
    cells += [rate_text(result["median"][side]) for side in peers(result)]
    if PANDO_SIDE not in result["median"]:
        return cells + ["-"] * 4
    low, high = min(result["ratio_rounds"]), max(result["ratio_rounds"])
    return cells + [rate_text(result["median"][PANDO_SIDE]),
                    f"{result['ratio']:.2f} ({low:.2f}-{high:.2f})", f"{result['gflops']:.1f}",
                    f"{100 * result['peak_fraction']:.0f} %"]


def table(results):
    """The results as a Markdown table with aligned columns."""
    rows = [columns(results[0])] + [row(result) for result in results]
    widths = [max(len(cells[i]) for cells in rows) for i in range(len(rows[0]))]
    lines = ["| " + " | ".join(
        cell.ljust(width) if i == 0 else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(cells, widths))) + " |" for cells in rows]
    rule = "|" + "|".join("-" * (width + 2) if i == 0 else "-" * (width + 1) + ":"
                          for i, width in enumerate(widths)) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def warnings(results):
    """One line for each disturbance of a case: other load, or a side that was not idle."""
    lines = []
    for result in results:
        for kind, text in (("other_cores", "used by other processes"),
                           ("idle_cores", "used by the side that should be idle")):
            worst = max(result[kind].items(), key=lambda item: item[1], default=("", 0.0))
            if worst[1] > NOISY_CORES:
                lines.append(f"{result['model']}: {worst[1]:.2f} cores {text} while "
                             f"{worst[0]} ran (median over the rounds)")
    return lines
