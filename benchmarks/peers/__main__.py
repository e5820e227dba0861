"""All runs: every peer on every task with every seed, each in the peer's own environment.

    python -m benchmarks.peers [--peers ...] [--tasks ...] [--seeds 10] [--medium-seeds 5] [--slow-seeds 3] [--first-seed 0]
                               [--jobs 2] [--data DIR] [--wall 600] [--slow-wall 600] [--speed 1]

Peers that think long get fewer seeds, the first ones of the others, and a limit of wall time of their own; `interface.py` says
which they are. Environments are looked for in .peers (`python -m benchmarks.peers.environments` makes them); a peer without one,
and a task without its data, is left out with a word. Runs that are complete are not made again, so after Ctrl-C, a kill or a
failure the same line goes on. One core a run, and nothing else on the machine: overhead and limits are real seconds, and with as
many jobs as cores, tasks that cost wall time get noisier. To add runs to those recorded on a slower machine, give the factor that
`python -m benchmarks.peers.speed` tells. What the runs say is told by `python -m benchmarks.peers.summary`.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers import environments, run, tasks
from benchmarks.peers.interface import PEERS

RUNS = environments.FOLDER / "runs"
PATIENCE = 3.0
"""A run that has taken this many times its wall limit, and ten minutes, hangs, and is killed."""

SEEDS = {"fast": 10, "medium": 5, "slow": 3}
"""Seeds of a peer, by its pace."""


@dataclass(frozen=True)
class Job:
    """One run to be made, the file it goes to, and the seconds of wall time that it may take."""

    peer: str
    task: str
    seed: int
    out: Path
    wall: float = run.WALL

    def __str__(self) -> str:
        return f"{self.task} {self.peer} {self.seed}"


def path_of(folder: Path, task: str, peer: str, seed: int) -> Path:
    return folder / task / peer / f"{seed}.jsonl"


def chosen(arguments: argparse.Namespace, data: Path | None) -> list[Job]:
    """The runs asked for that can be made here, seed after seed, so that an early end leaves something to compare."""
    peers, names = [], []
    for peer in arguments.peers:
        if environments.interpreter(peer, arguments.environments).exists():
            peers.append(peer)
        else:
            print(f"{peer} left out: there is no environment {PEERS[peer].environment} in {arguments.environments}")
    for name in arguments.tasks:
        # The peers' environments have scikit-learn, whether or not this one does.
        reason = None if name in tasks.TRAINING else tasks.missing(name, data)
        if reason is None:
            names.append(name)
        else:
            print(f"{name} left out: {reason}")
    seeds = {"fast": arguments.seeds, "medium": arguments.medium_seeds, "slow": arguments.slow_seeds}
    walls = {"fast": arguments.wall, "medium": arguments.wall, "slow": arguments.slow_wall}
    return [
        Job(peer, name, seed, path_of(arguments.out, name, peer, seed), walls[PEERS[peer].pace])
        for seed in range(arguments.first_seed, max(seeds.values()))
        for name in names
        for peer in peers
        if seed < seeds[PEERS[peer].pace]
    ]


class Progress:
    """Tells what was done and how long the rest will take, by the mean seconds of each peer's runs."""

    def __init__(self, jobs: list[Job], workers: int) -> None:
        self._left = list(jobs)
        self._total = len(jobs)
        self._workers = workers
        self._seconds: dict[str, list[float]] = {}

    def show(self, job: Job, seconds: float, outcome: str) -> None:
        self._left.remove(job)
        self._seconds.setdefault(job.peer, []).append(seconds)
        everything = [s for each in self._seconds.values() for s in each]

        def expected(peer: str) -> float:
            known = self._seconds.get(peer, everything)
            return sum(known) / len(known)

        left = sum(expected(j.peer) for j in self._left) / self._workers
        done = self._total - len(self._left)
        print(f"[{done}/{self._total}] {job}: {outcome} in {seconds:.0f} s, about {_duration(left)} left", flush=True)


def _duration(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds > 5400 else f"{seconds / 60:.0f} min" if seconds > 90 else f"{seconds:.0f} s"


class Runner:
    """Starts runs, and stops those under way when it is told to."""

    def __init__(self, folder: Path, data: Path | None, speed: float = 1.0) -> None:
        self._folder, self._data, self._speed = folder, data, speed
        self._running: set[subprocess.Popen] = set()
        self._lock = threading.Lock()
        self._stopped = False

    def __call__(self, job: Job) -> tuple[float, str]:
        """Make a run; its seconds and what came of it."""
        command = [str(environments.interpreter(job.peer, self._folder)), "-m", "benchmarks.peers.run"]
        command += [job.peer, job.task, str(job.seed), "--out", str(job.out.absolute()), "--wall", str(job.wall)]
        command += ["--speed", str(self._speed)]
        command += ["--data", str(self._data.absolute())] if self._data is not None else []
        job.out.parent.mkdir(parents=True, exist_ok=True)
        log = job.out.with_suffix(".log")
        start = time.monotonic()
        with log.open("w") as written:
            with self._lock:
                if self._stopped:
                    return 0.0, "not started"
                process = subprocess.Popen(
                    command,
                    cwd=environments.ROOT,
                    stdout=written,
                    stderr=subprocess.STDOUT,
                    env=_one_thread(),
                    start_new_session=True,
                )
                self._running.add(process)
            try:
                code = process.wait(timeout=PATIENCE * job.wall + 600.0)
            except subprocess.TimeoutExpired:
                process.kill()
                code = process.wait()
            finally:
                with self._lock:
                    self._running.discard(process)
        seconds = time.monotonic() - start
        if code == 0 and run.is_complete(job.out):
            log.unlink()
            return seconds, "done"
        return seconds, f"FAILED, see {log}"

    def stop(self) -> None:
        """End what is running and start nothing more."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                process.terminate()


def _one_thread() -> dict[str, str]:
    return os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def _of(pace: str) -> str:
    return "of " + ", ".join(name for name, entry in PEERS.items() if entry.pace == pace)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--peers", nargs="+", default=list(PEERS), choices=list(PEERS), metavar="PEER", help=", ".join(PEERS))
    parser.add_argument("--tasks", nargs="+", default=tasks.NAMES, choices=tasks.NAMES, metavar="TASK", help=", ".join(tasks.NAMES))
    parser.add_argument("--seeds", type=int, default=SEEDS["fast"], help="of fast peers")
    parser.add_argument("--medium-seeds", type=int, default=SEEDS["medium"], help=_of("medium"))
    parser.add_argument("--slow-seeds", type=int, default=SEEDS["slow"], help=_of("slow"))
    parser.add_argument("--first-seed", type=int, default=0, help="where runs of the seeds before it are recorded already")
    parser.add_argument("--jobs", type=int, default=2, help="runs at once")
    parser.add_argument("--data", type=Path, help="the data folder; default: what FARTHING_DATA says")
    parser.add_argument("--wall", type=float, default=run.WALL, help="seconds of wall time a run may take")
    parser.add_argument("--slow-wall", type=float, default=run.WALL, help="the same for slow peers")
    parser.add_argument("--speed", type=float, default=1.0, help="seconds that a second of this machine counts")
    parser.add_argument("--out", type=Path, default=RUNS)
    parser.add_argument("--environments", type=Path, default=environments.FOLDER)
    arguments = parser.parse_args()
    data = tasks.data_folder(arguments.data)
    wanted = chosen(arguments, data)
    jobs = [job for job in wanted if not run.is_complete(job.out)]
    print(f"{len(wanted)} runs, of which {len(wanted) - len(jobs)} are complete")
    runner, progress, failed = Runner(arguments.environments, data, arguments.speed), Progress(jobs, arguments.jobs), []
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a kill ends what is running, as Ctrl-C does
    with ThreadPoolExecutor(arguments.jobs) as pool:
        futures = {pool.submit(runner, job): job for job in jobs}
        try:
            for future in as_completed(futures):
                seconds, outcome = future.result()
                progress.show(futures[future], seconds, outcome)
                if outcome != "done":
                    failed.append(futures[future])
        except KeyboardInterrupt:
            runner.stop()
            pool.shutdown(cancel_futures=True)
            sys.exit("stopped; the same line goes on")
    if failed:
        sys.exit(f"{len(failed)} runs failed: {', '.join(map(str, failed))}")


if __name__ == "__main__":
    main()
