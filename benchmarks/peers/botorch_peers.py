"""BoTorch: multi-fidelity knowledge gradient, multi-fidelity max-value entropy search, and LogEI at full fidelity.

Models, samples, restarts and recommendation as in BoTorch's tutorials "Continuous Multi-Fidelity BO with Knowledge Gradient" and
"The max value entropy search acquisition function", with q = 1. Where the tutorials state an affine cost, the task's typical cost
is told, divided by that at full fidelity. KG has 5 restarts and 128 raw samples, as in the tutorial on discrete fidelities, and
BoTorch's default of 64 fantasies instead of the tutorials' 128, with which a proposal takes two to three times as long. The
initial design is given: Sobol points over x and the share of the fidelity. Integers are relaxed, and rounded when evaluated.
The tutorials' kernel (linear truncated fidelity) is not positive definite for every power: more is added to the diagonal than by
default where it must be, and where a fit fails all the same the last hyperparameters are kept. A search that fails is made again,
and from then on all others, with BoTorch's other kernel (downsampling), which is positive definite; if that fails too, a random
point is proposed. BoTorch maximizes: values are negated.
"""

from __future__ import annotations

import warnings

import numpy as np
import torch
from botorch import fit_gpytorch_mll
from botorch.acquisition import LogExpectedImprovement, PosteriorMean
from botorch.acquisition.cost_aware import InverseCostWeightedUtility
from botorch.acquisition.fixed_feature import FixedFeatureAcquisitionFunction
from botorch.acquisition.knowledge_gradient import qMultiFidelityKnowledgeGradient
from botorch.acquisition.max_value_entropy_search import qMultiFidelityMaxValueEntropy
from botorch.acquisition.utils import project_to_target_fidelity
from botorch.exceptions.errors import ModelFittingError, OptimizationGradientError
from botorch.models import SingleTaskGP
from botorch.models.deterministic import GenericDeterministicModel
from botorch.models.gp_regression_fidelity import SingleTaskMultiFidelityGP
from botorch.models.model import Model
from botorch.models.transforms.outcome import Standardize
from botorch.optim import optimize_acqf
from botorch.optim.initializers import gen_one_shot_kg_initial_conditions
from gpytorch.mlls import ExactMarginalLogLikelihood
from linear_operator.settings import cholesky_max_tries
from linear_operator.utils.errors import NanError, NotPSDError

from benchmarks.peers.interface import DESIGN, DESIGN_SHARE, Peer, sobol_design
from benchmarks.peers.problem import Params, Task

torch.set_num_threads(1)
torch.set_default_dtype(torch.double)
warnings.filterwarnings("ignore")  # of fits that had to be tried again

RESTARTS, RAW_SAMPLES = 10, 512
KG_RESTARTS, KG_RAW_SAMPLES, FANTASIES = 5, 128, 64
CANDIDATES = 1000
TRIES = 9
"""Up to 1 is added to the diagonal, ten times as much at each try; GPyTorch's default is 6."""
OPTIONS = {"batch_limit": 5, "maxiter": 200}


class BoTorch(Peer):
    """Points are unit points; of multi-fidelity peers the last column is the share of the fidelity, 1 at full."""

    multi_fidelity: bool

    def __init__(self, task: Task, seed: int) -> None:
        super().__init__(task, seed)
        torch.manual_seed(seed)
        self._columns = task.dimensions + self.multi_fidelity
        self._bounds = torch.stack([torch.zeros(self._columns), torch.ones(self._columns)])
        self._design = sobol_design(self._columns, seed)
        self._points = torch.empty((0, self._columns))
        self._values = torch.empty((0, 1))
        self._spent = 0.0
        self._begun = False
        self._model: Model | None = None
        self._truncated = True
        self._fitted: dict[str, torch.Tensor] = {}
        if self.multi_fidelity:
            self._utility = InverseCostWeightedUtility(cost_model=_cost_model(task))

    def propose(self) -> tuple[Params, float]:
        self._begun = True
        if self._designing():
            point = self._design[len(self._points)]
        else:
            with cholesky_max_tries(TRIES):
                self._model = self._fit() if self._model is None else self._model
                point = self._searched()
        share = float(point[-1]) if self.multi_fidelity else 1.0
        return self.task.params(point[: self.task.dimensions]), self.task.fidelity.value(share)

    def observe(self, params: Params, fidelity: float, value: float, cost: float) -> None:
        point = self.task.unit(params)
        if self.multi_fidelity:
            point = np.append(point, self.task.fidelity.share(fidelity))
        self._points = torch.cat([self._points, torch.as_tensor(np.clip(point, 0.0, 1.0))[None]])
        self._values = torch.cat([self._values, torch.tensor([[-value]])])
        self._spent += cost
        # Here, where it is charged; during the design, or of what was known before, no proposal needs it.
        with cholesky_max_tries(TRIES):
            self._model = self._fit() if self._begun and not self._designing() else None

    def recommend(self) -> Params:
        if len(self._points) < 2:
            return self.task.params(self._points[0, : self.task.dimensions].numpy())
        with cholesky_max_tries(TRIES):
            point, _ = self._best_mean(self._fit() if self._model is None else self._model, RAW_SAMPLES)
        return self.task.params(point.detach().numpy().ravel())

    def search(self, model: Model) -> torch.Tensor:
        """The next point (1, columns)."""
        raise NotImplementedError

    def _searched(self) -> np.ndarray:
        """The next point (columns,): of the model, of one with the other kernel where that fails, or a random one."""
        try:
            return self.search(self._model).detach().numpy().ravel()
        except (NotPSDError, NanError, OptimizationGradientError):
            pass
        except (ValueError, RuntimeError) as error:
            if not any(said in str(error) for said in ("invalid values", "probability tensor")):  # of NaN, by distributions
                raise
        if self.multi_fidelity and self._truncated:
            self._truncated, self._fitted = False, {}
            self._model = self._fit()
            return self._searched()
        return torch.rand(self._columns).numpy()

    def _designing(self) -> bool:
        return len(self._points) < DESIGN and self._spent < DESIGN_SHARE * self.task.budget

    def _fit(self) -> Model:
        standardize = Standardize(m=1)
        if self.multi_fidelity:
            model = SingleTaskMultiFidelityGP(
                self._points,
                self._values,
                data_fidelities=[self._columns - 1],
                linear_truncated=self._truncated,
                outcome_transform=standardize,
            )
        else:
            model = SingleTaskGP(self._points, self._values, outcome_transform=standardize)
        try:
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        except ModelFittingError:
            model.load_state_dict(self._fitted, strict=False)
            return model.eval()
        # All but the scale of values, which is that of the data.
        self._fitted = {name: value for name, value in model.state_dict().items() if not name.startswith("outcome_transform")}
        return model

    def _best_mean(self, model: Model, raw_samples: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Where the posterior mean at full fidelity is highest, and its value there."""
        mean = PosteriorMean(model)
        if self.multi_fidelity:
            mean = FixedFeatureAcquisitionFunction(mean, d=self._columns, columns=[self._columns - 1], values=[1.0])
        bounds = self._bounds[:, : self.task.dimensions]
        return optimize_acqf(mean, bounds, q=1, num_restarts=RESTARTS, raw_samples=raw_samples, options=OPTIONS)

    def _project(self, points: torch.Tensor) -> torch.Tensor:
        return project_to_target_fidelity(X=points, target_fidelities={self._columns - 1: 1.0}, d=self._columns)


class MultiFidelityKG(BoTorch):
    multi_fidelity = True

    def search(self, model: Model) -> torch.Tensor:
        _, current = self._best_mean(model, 1024)
        gain = qMultiFidelityKnowledgeGradient(
            model=model,
            num_fantasies=FANTASIES,
            current_value=current,
            cost_aware_utility=self._utility,
            project=self._project,
        )
        starts = gen_one_shot_kg_initial_conditions(gain, self._bounds, q=1, num_restarts=KG_RESTARTS, raw_samples=KG_RAW_SAMPLES)
        return optimize_acqf(
            gain,
            self._bounds,
            q=1,
            num_restarts=KG_RESTARTS,
            raw_samples=KG_RAW_SAMPLES,
            batch_initial_conditions=starts,
            options=OPTIONS,
        )[0]


class MultiFidelityMES(BoTorch):
    multi_fidelity = True

    def search(self, model: Model) -> torch.Tensor:
        entropy = qMultiFidelityMaxValueEntropy(
            model,
            torch.rand(CANDIDATES, self._columns),
            cost_aware_utility=self._utility,
            project=self._project,
        )
        return optimize_acqf(entropy, self._bounds, q=1, num_restarts=RESTARTS, raw_samples=RAW_SAMPLES, options=OPTIONS)[0]


class LogEI(BoTorch):
    multi_fidelity = False

    def search(self, model: Model) -> torch.Tensor:
        improvement = LogExpectedImprovement(model, best_f=self._values.max())
        return optimize_acqf(improvement, self._bounds, q=1, num_restarts=RESTARTS, raw_samples=RAW_SAMPLES, options=OPTIONS)[0]


def _cost_model(task: Task) -> GenericDeterministicModel:
    """The typical cost, relative to full, by the last column: linear between 201 shares, so that it has a gradient."""
    shares = np.linspace(0.0, 1.0, 201)
    table = torch.as_tensor([task.typical_cost(task.fidelity.value(share)) / task.full_cost for share in shares])
    slopes = torch.diff(table) * (len(shares) - 1)

    def cost(points: torch.Tensor) -> torch.Tensor:
        share = points[..., -1:].clamp(0.0, 1.0)
        at = (share.detach() * (len(shares) - 1)).long().clamp_max(len(shares) - 2)
        return table[at] + slopes[at] * (share - at / (len(shares) - 1))

    return GenericDeterministicModel(cost)
