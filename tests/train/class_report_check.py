"""Prints precision, recall, F1 and support of every class, and their means, of a file with a line
"label output output ..." for every sample, computed by NumPy and, where it is there, checked with
scikit-learn:  class_report_check.py FILE

Exits with 77 when NumPy is missing (Debian: python3-numpy, python3-sklearn).
"""
# SPDX-License-Identifier: MIT
import sys

try:
    import numpy as np
except ImportError:
    sys.exit(77)


def by_numpy(labels, predicted, classes):
    rows = []
    for k in range(classes):
        hits = np.sum((labels == k) & (predicted == k))
        of_class, as_class = np.sum(labels == k), np.sum(predicted == k)
        precision = hits / as_class if as_class else 0.0
        recall = hits / of_class if of_class else 0.0
        both = precision + recall
        rows.append((precision, recall, 2 * precision * recall / both if both else 0.0, of_class))
    return np.array(rows)


def check_with_sklearn(labels, predicted, rows):
    try:
        from sklearn.metrics import precision_recall_fscore_support
    except ImportError:
        return
    theirs = precision_recall_fscore_support(labels, predicted, labels=range(len(rows)),
                                             zero_division=0)
    assert np.allclose(np.array(theirs).T, rows, atol=1e-12), theirs


def main():
    table = np.loadtxt(sys.argv[1])
    labels, outputs = table[:, 0].astype(int), table[:, 1:]
    rows = by_numpy(labels, outputs.argmax(axis=1), outputs.shape[1])
    check_with_sklearn(labels, outputs.argmax(axis=1), rows)
    for row in rows:
        print(*(repr(float(value)) for value in row))
    print(*(repr(float(value)) for value in rows.mean(axis=0)))
    print(*(repr(float(value)) for value in np.average(rows, axis=0, weights=rows[:, 3])))
    order = np.argsort(-outputs, axis=1, kind="stable")[:, :5]
    print(repr(float(np.mean([labels[i] in order[i] for i in range(len(labels))]))))


if __name__ == "__main__":
    main()
