"""How well scores agree with labels, by scikit-learn and scipy: ten made-up data sets, from good judges to broken ones.

    python make_agreement.py agreement.json

Writes a list, one data set a line:

    name, rows [[score, grade], ..]     a person's label is yes where the grade is at least 0.5
    auc, brier, kappa, balanced_accuracy                      the last two at the threshold 0.5; all by scikit-learn
    best_threshold                      the best of all candidates by scikit-learn's balanced accuracy
    reliability [[count, mean score, share of yes], ..], ece  ten bins; empty bins have null, null
    pairwise_accuracy                   of all pairs (row of yes, row of no), by scipy's U statistic
    spearman, pearson                   of score and grade, by scipy; null where one is constant
    platt [slope, intercept]            the optimum of scipy's trust-exact on Platt's smoothed targets, to 1e-10;
                                        null where the slope is not above zero
    interval [low, high]                scipy's percentile bootstrap of the mean score, 20,000 resamples of groups: four
                                        neighbouring rows each, the last ones left out that fill no group; null where
                                        the scores are constant
    interval_auc [low, high]            the same of the AUC; null where a resample may well have one class alone

Packages: scikit-learn==1.9.1 scipy==1.17.1 numpy==2.4.6.
"""

import argparse

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit
from scipy.stats import bootstrap, mannwhitneyu, pearsonr, spearmanr
from sklearn.calibration import calibration_curve
from sklearn.metrics import balanced_accuracy_score, brier_score_loss, cohen_kappa_score, roc_auc_score

from output import write_lines

N_BINS = 10
GROUP_SIZE = 4


def data_sets():
    """Names and (scores, grades); scores of few digits, so that there are ties."""
    rng = np.random.default_rng(24)

    def judged(n, strength, shift=0.0, digits=2, share=0.5):
        grades = np.where(rng.random(n) < share, rng.integers(2, 5, n), rng.integers(0, 2, n)) / 4
        scores = expit(strength * (grades - 0.5) + shift + rng.normal(size=n))
        return np.round(scores, digits), grades

    yield "good judge", judged(120, 6.0)
    yield "fair judge", judged(200, 2.0)
    yield "blind judge", judged(80, 0.0)
    yield "judge turned round", judged(60, -3.0)
    yield "judge that says yes", judged(100, 3.0, shift=2.5)
    yield "few labels of yes", judged(150, 3.0, share=0.1)
    yield "many ties", judged(100, 3.0, digits=1)
    scores, grades = judged(60, 4.0)
    yield "only yes or no", (np.round(scores), grades)
    grades = np.array([0, 0, 0.25, 0.25, 0.75, 0.75, 1, 1])
    yield "perfect judge", (np.array([0.0, 0.1, 0.1, 0.2, 0.8, 0.9, 0.9, 1.0]), grades)
    yield "constant judge", (np.full(20, 0.7), judged(20, 0.0)[1])


def best_threshold(scores, labels):
    distinct = np.unique(scores)
    candidates = [0.0, *((distinct[1:] + distinct[:-1]) / 2), 1.0]
    quality = [round(balanced_accuracy_score(labels, scores >= threshold), 12) for threshold in candidates]
    best = [threshold for threshold, of in zip(candidates, quality) if of == max(quality)]
    return float(min(best, key=lambda threshold: (round(abs(threshold - 0.5), 12), threshold)))


def reliability(scores, labels):
    share, mean = calibration_curve(labels, scores, n_bins=N_BINS)
    # The bin of each score as calibration_curve finds it.
    counts = np.bincount(np.searchsorted(np.linspace(0, 1, N_BINS + 1)[1:-1], scores), minlength=N_BINS)
    assert len(share) == (counts > 0).sum()
    bins, filled = [], iter(zip(mean, share))
    for count in counts:
        bins.append([int(count), *(map(float, next(filled)) if count else (None, None))])
    ece = sum(count * abs(mean - share) for count, mean, share in bins if count) / len(scores)
    return bins, float(ece)


def platt(scores, labels):
    x = logit(np.clip(scores, 1e-6, 1 - 1e-6))
    n_yes, n_no = labels.sum(), (~labels).sum()
    target = np.where(labels, (n_yes + 1) / (n_yes + 2), 1 / (n_no + 2))

    def loss(parameters):
        z = parameters[0] * x + parameters[1]
        return (np.logaddexp(0, z) - target * z).sum()

    def gradient(parameters):
        error = expit(parameters[0] * x + parameters[1]) - target
        return np.array([(error * x).sum(), error.sum()])

    def hessian(parameters):
        p = expit(parameters[0] * x + parameters[1])
        w = p * (1 - p)
        return np.array([[(w * x * x).sum(), (w * x).sum()], [(w * x).sum(), w.sum()]])

    if np.ptp(x) == 0:
        return None
    found = minimize(loss, [0.0, np.log((n_yes + 1) / (n_no + 1))], jac=gradient, hess=hessian, method="trust-exact",
                     options={"gtol": 1e-10})
    parameters = found.x
    for _ in range(3):  # The last digits, which the loss no longer shows.
        parameters = parameters - np.linalg.solve(hessian(parameters), gradient(parameters))
    assert np.abs(gradient(parameters)).max() < 1e-10
    return [float(value) for value in parameters] if parameters[0] > 0 else None


def interval(scores, labels, statistic):
    n_groups = len(scores) // GROUP_SIZE
    rows = np.arange(n_groups * GROUP_SIZE).reshape(n_groups, GROUP_SIZE)

    def resampled(chosen):
        taken = rows[chosen].ravel()
        return statistic(scores[taken], labels[taken])

    found = bootstrap((np.arange(n_groups),), resampled, vectorized=False, n_resamples=20_000, method="percentile",
                      rng=np.random.default_rng(7)).confidence_interval
    return [float(found.low), float(found.high)]


def auc(scores, labels):
    n_yes, n_no = labels.sum(), (~labels).sum()
    return mannwhitneyu(scores[labels], scores[~labels]).statistic / (n_yes * n_no) if n_yes and n_no else np.nan


def described(name, scores, grades):
    labels = grades >= 0.5
    bins, ece = reliability(scores, labels)
    is_constant = np.ptp(scores) == 0
    is_often_whole = min(labels.sum(), (~labels).sum()) >= 30
    return {
        "name": name,
        "rows": [[float(score), float(grade)] for score, grade in zip(scores, grades)],
        "auc": float(roc_auc_score(labels, scores)),
        "brier": float(brier_score_loss(labels, scores)),
        "kappa": float(cohen_kappa_score(labels, scores >= 0.5)),
        "balanced_accuracy": float(balanced_accuracy_score(labels, scores >= 0.5)),
        "best_threshold": best_threshold(scores, labels),
        "reliability": bins,
        "ece": ece,
        "pairwise_accuracy": float(auc(scores, labels)),
        "spearman": None if is_constant else float(spearmanr(scores, grades).statistic),
        "pearson": None if is_constant else float(pearsonr(scores, grades).statistic),
        "platt": platt(scores, labels),
        "interval": None if is_constant else interval(scores, labels, lambda scores, _: scores.mean()),
        "interval_auc": interval(scores, labels, auc) if is_often_whole else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    args = parser.parse_args()
    write_lines(args.out, [described(name, *rows) for name, rows in data_sets()])


if __name__ == "__main__":
    main()
