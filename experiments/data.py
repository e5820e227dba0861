"""Data sets: from a folder that is given, from the cache, or downloaded into it.

MNIST by scikit-learn's OpenML loader: the first 12,000 training and the first 2,000 test digits, whose checksum is known. UK
electricity demand from the historic demand file of the National Energy System Operator (formerly National Grid), which may be
revised: another series than the one that was used is told, not refused.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import sys
import urllib.error
import urllib.request
import warnings
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MNIST_FILE, DEMAND_FILE = "mnist_12k_2k.npz", "uk_demand_2015.npz"
MNIST_KEYS, DEMAND_KEYS = ("x_train", "y_train", "x_test", "y_test"), ("t_days", "nd_mw", "tsd_mw")

MNIST_SHA256 = "36ab3cd94f234d26d2adc95031336a35f519967ada3e113eebbcf31a0ed61f0c"
DEMAND_SHA256 = "6ace169b75594fa6c5e1a9e9af8a2c328e482ca047dc555850946af5c50e13af"
"""Of the arrays, one after the other."""

DEMAND_URL = (
    "https://api.neso.energy/dataset/8f2fe0af-871c-488d-8bad-960426f24601/"
    "resource/cc505e45-65ae-4819-9b90-1fbb06880293/download/demanddata_2015.csv"
)
TIMEOUT = 60.0
PERIODS = 48
"""Half hours of a day. The two that a day in October has beyond that are left out; a day in March has two fewer."""

Arrays = dict[str, NDArray[Any]]


class DataMissingError(Exception):
    """A data set is neither here nor to be had; the message says where it was looked for, and what to do."""


def cache_folder() -> Path:
    """Where downloads are kept: what FARTHING_CACHE says, or the user's cache as the platform has it."""
    if os.environ.get("FARTHING_CACHE"):
        return Path(os.environ["FARTHING_CACHE"])
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "farthing"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "farthing" / "Cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "farthing"


def mnist(folder: Path | None) -> Arrays:
    """x_train (12000, 28, 28) and x_test (2000, 28, 28) as bytes, y_train, y_test."""
    arrays = _local(folder, MNIST_FILE, MNIST_KEYS)
    if arrays is None:
        arrays = _download_mnist()
        _keep(MNIST_FILE, arrays)
    if checksum(arrays, MNIST_KEYS) != MNIST_SHA256:
        raise DataMissingError(
            f"{_where(folder, MNIST_FILE)} are not the digits that are expected (the first 12,000 and 2,000 of MNIST): their "
            "checksum differs; remove that file to download them again, or give a folder with the right one as --data DIR"
        )
    return arrays


def demand(folder: Path | None) -> Arrays:
    """t_days (n,) since the beginning of 2015, nd_mw (n,) national demand, tsd_mw (n,) transmission system demand."""
    arrays = _local(folder, DEMAND_FILE, DEMAND_KEYS)
    if arrays is None:
        arrays = parse_demand(_download_demand())
        _keep(DEMAND_FILE, arrays)
    if checksum(arrays, DEMAND_KEYS) != DEMAND_SHA256:
        warnings.warn(
            "the demand series is not the one that the results of the project were made with; it may have been revised since",
            stacklevel=2,
        )
    return arrays


def checksum(arrays: Mapping[str, NDArray[Any]], keys: tuple[str, ...]) -> str:
    digest = hashlib.sha256()
    for key in keys:
        digest.update(np.ascontiguousarray(arrays[key]).tobytes())
    return digest.hexdigest()


def parse_demand(text: str) -> Arrays:
    """The half hours of the historic demand file; days are counted by settlement date, a day's half hours by their period."""
    rows = csv.DictReader(io.StringIO(text.lstrip("\ufeff")))
    days, periods, national, transmission = [], [], [], []
    first = datetime(2015, 1, 1)
    try:
        for row in rows:
            period = int(row["SETTLEMENT_PERIOD"])
            if period <= PERIODS:
                days.append((_date(row["SETTLEMENT_DATE"]) - first).days)
                periods.append(period - 1)
                national.append(float(row["ND"]))
                transmission.append(float(row["TSD"]))
    except (KeyError, ValueError, TypeError) as error:
        raise DataMissingError(
            f"the demand file cannot be read ({error!r}): it should have columns SETTLEMENT_DATE, SETTLEMENT_PERIOD, ND and TSD"
        ) from error
    t_days = np.array(days) + np.array(periods) / PERIODS
    order = np.argsort(t_days, kind="stable")
    return {"t_days": t_days[order], "nd_mw": np.array(national)[order], "tsd_mw": np.array(transmission)[order]}


def _date(text: str) -> datetime:
    for form in ("%Y-%m-%d", "%d-%b-%Y", "%d-%b-%y", "%d/%m/%Y", "%Y-%m-%dT%H:%M:%S"):
        try:
            return datetime.strptime(text.strip(), form)
        except ValueError:
            continue
    raise ValueError(f"{text!r} is not a date")


def _where(folder: Path | None, name: str) -> str:
    return str((folder or cache_folder()) / name)


def _local(folder: Path | None, name: str, keys: tuple[str, ...]) -> Arrays | None:
    """From the folder that is given, where it has to be; or else from the cache, where it may be."""
    path = Path(_where(folder, name))
    if not path.exists():
        if folder is not None:
            raise DataMissingError(f"there is no {name} in {folder}; put it there, or leave out --data to download it")
        return None
    try:
        with np.load(path, allow_pickle=False) as file:
            return {key: file[key] for key in keys}
    except (OSError, ValueError, KeyError) as error:
        raise DataMissingError(f"{path} cannot be read ({error}); remove it, so that it is downloaded again") from error


def _keep(name: str, arrays: Arrays) -> None:
    path = cache_folder() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{name}.{os.getpid()}.part.npz")
    try:
        np.savez_compressed(part, allow_pickle=False, **arrays)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _download_mnist() -> Arrays:
    try:
        from sklearn.datasets import fetch_openml
    except ImportError as error:
        raise DataMissingError('MNIST is downloaded by scikit-learn: pip install "farthing[experiments]"') from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x, y = fetch_openml(
                "mnist_784",
                version=1,
                return_X_y=True,
                as_frame=False,
                parser="liac-arff",
                data_home=str(cache_folder() / "openml"),
            )
    except (OSError, ValueError) as error:
        raise DataMissingError(_no_network("MNIST", "openml.org", MNIST_FILE, MNIST_KEYS, error)) from error
    images, labels = np.asarray(x).reshape(-1, 28, 28).astype(np.uint8), np.asarray(y).astype(np.uint8)
    test = slice(60_000, 62_000)
    return {"x_train": images[:12_000], "y_train": labels[:12_000], "x_test": images[test], "y_test": labels[test]}


def _download_demand() -> str:
    try:
        with urllib.request.urlopen(DEMAND_URL, timeout=TIMEOUT) as answer:
            return str(answer.read().decode("utf-8"))
    except (urllib.error.URLError, OSError, ValueError) as error:
        raise DataMissingError(_no_network("UK demand of 2015", DEMAND_URL, DEMAND_FILE, DEMAND_KEYS, error)) from error


def _no_network(what: str, source: str, name: str, keys: tuple[str, ...], error: Exception) -> str:
    return (
        f"{what} is not in the cache ({cache_folder()}) and could not be downloaded from {source}: {error}. Go online once, or "
        f"give a folder with {name} (arrays {', '.join(keys)}) as --data DIR"
    )
