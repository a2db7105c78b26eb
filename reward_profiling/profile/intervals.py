"""Standard error and Student's t interval of a mean (Gym contract 6.7).

Promise: sums as NumPy does over the values alone, deviations in a second pass, ddof 1; one value has the deviation 0.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit


@dataclass(frozen=True)
class MeanEstimate:
    """`std` and `standard_error` are 0.0 for a single value; `low` and `high` bound 95 % and are None for one."""

    mean: float
    std: float
    standard_error: float
    low: float | None
    high: float | None


def estimate_mean(values: NDArray[np.float64]) -> MeanEstimate:
    """The mean of at least one value, none of them NaN, and how sure it is."""
    number = len(values)
    mean = float((values.sum() + 0.0) / number)
    with np.errstate(over="ignore"):
        std = math.sqrt(((values - mean) ** 2).sum() / (number - 1)) if number > 1 else 0.0
    standard_error = std / math.sqrt(number)
    if number == 1:
        return MeanEstimate(mean, std, standard_error, None, None)
    reach = float(stdtrit(number - 1, 0.975)) * standard_error if standard_error else 0.0
    return MeanEstimate(mean, std, standard_error, mean - reach, mean + reach)
