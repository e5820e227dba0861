"""Trials to store."""

from farthing.trials import Carried, Proposal, Recommendation, Trial


def pending(number, **changes):
    return Trial(number, {"x": 0.5}, None, Proposal("initial"), **changes)


def complete(number, value=1.0, **changes):
    return pending(number, **changes).completed(value, 1.0, None, False)


def elaborate(number):
    """Every field set, to what is hardest to keep."""
    return Trial(
        number=number,
        params={
            "float": 0.1 + 0.2,
            "whole": 1.0,
            "int": 1,
            "big": 2**70,
            "true": True,
            "false": False,
            "none": None,
            "text": "naïve 🪙\n'\"\\; DROP TABLE trials --",
            "tiny": 5e-324,
            "huge": 1.7976931348623157e308,
            "negative zero": -0.0,
        },
        fidelity=16,
        proposal=Proposal(
            kind="acquisition",
            predicted_cost=1e-300,
            information_gain=0.1,
            information_rate=1 / 3,
            horizon=7,
            mean_overhead=0.25,
            information_share=2 / 3,
            price_share=1e-17,
            recommendation=Recommendation({"x": 0.7, "n": 3, "b": True}, -1.5, 0.3),
            carried=Carried(((0.1, -2.5, 1e-9), (1.0, 2.0, 3.0)), 12, 0.5, 2.0, 1.5, 0.25),
        ),
        fidelity_name="épochs",
        state="failed",
        value=-0.0,
        cost=1e308,
        noise=5e-324,
        overhead=0.1 + 0.2,
        reason="it broke: naïve 🪙 \x00 NUL, \x1a SUB, \x1a0000, lone \ud83d surrogate",
        traceback='Traceback:\n  File "C:\\users\\x.py"\x00\n',
        stated_cost=True,
        owner="host:123:🪙",
        started=1.7e9 + 1e-6,
    )
