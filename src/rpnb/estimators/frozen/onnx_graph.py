"""Conversion of quadratic polynomials to an ONNX graph of default operators."""

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpnb._version import __version__
from rpnb.atomic import write_bytes
from rpnb.core.bayes.polynomials import ClassPolynomials
from rpnb.core.calibration import LOWEST, N_ODDS, N_TEMPERATURES, ODDS
from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.kernels.elementary import log
from rpnb.core.kernels.running_scale import RunningScale, variances
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.saving.files import ModelSource
from rpnb.estimators.scaling import CLIP

# The oldest operator set that supports all of them in double precision.
_OPSET = 13
_IR_VERSION = 8


def write_onnx(
    path: ModelSource,
    forms: ClassPolynomials,
    scale: RunningScale | None,
    classes: LabelArray,
    temperature: float,
    weights: FloatArray | None,
    dtype: str,
) -> None:
    """Write label and probabilities as functions of X; see `FrozenRPNB.to_onnx`."""
    model = make_onnx(forms, scale, classes, temperature, weights, dtype)
    content = model.SerializeToString()
    if isinstance(path, str | PathLike):
        write_bytes(path, content)
    else:
        path.write(content)


def make_onnx(
    forms: ClassPolynomials,
    scale: RunningScale | None,
    classes: LabelArray,
    temperature: float,
    weights: FloatArray | None,
    dtype: str,
) -> Any:
    """Return the model as an object of the onnx package.

    Probabilities are a softmax of scores divided by the temperature or, with the
    `weights` of a mixture (odds, temperatures), that mixture; see
    `rpnb.core.calibration`.
    """
    try:
        from onnx import TensorProto, checker, helper, numpy_helper
    except ImportError as error:
        raise ImportError("to_onnx needs: pip install 'rpnb[onnx]'") from error
    p, M = forms.origin.shape[0], forms.constant.shape[0]
    i, j = np.triu_indices(p)
    names = _as_tensor(classes)
    constants = {
        "origin": forms.origin,
        "left": i.astype(np.int64),
        "right": j.astype(np.int64),
        "factors": np.ascontiguousarray(forms.factors.T),
        "constant": forms.constant,
        "classes": names,
    }
    given = TensorProto.FLOAT if dtype == "float32" else TensorProto.DOUBLE
    nodes = [helper.make_node("Cast", ["X"], ["double"], to=TensorProto.DOUBLE)]
    if scale is not None:
        variance = variances(scale)
        varies = variance > 0.0
        # A column that has not varied is 0 in any row.
        constants["mean"] = scale.mean
        constants["divisor"] = np.sqrt(np.where(varies, variance, 1.0))
        constants["varies"] = varies.astype(np.float64)
        constants["low"], constants["high"] = np.array(-CLIP), np.array(CLIP)
        nodes[0] = helper.make_node("Cast", ["X"], ["given"], to=TensorProto.DOUBLE)
        nodes += [
            helper.make_node("Sub", ["given", "mean"], ["centred"]),
            helper.make_node("Div", ["centred", "divisor"], ["divided"]),
            helper.make_node("Clip", ["divided", "low", "high"], ["clipped"]),
            helper.make_node("Mul", ["clipped", "varies"], ["double"]),
        ]
    nodes += [
        helper.make_node("Sub", ["double", "origin"], ["moved"]),
        helper.make_node("Gather", ["moved", "left"], ["first"], axis=1),
        helper.make_node("Gather", ["moved", "right"], ["second"], axis=1),
        helper.make_node("Mul", ["first", "second"], ["products"]),
        helper.make_node("Concat", ["products", "moved"], ["terms"], axis=1),
        helper.make_node("MatMul", ["terms", "factors"], ["values"]),
        helper.make_node("Add", ["values", "constant"], ["scores"]),
        helper.make_node("ArgMax", ["scores"], ["number"], axis=1, keepdims=0),
        helper.make_node("Gather", ["classes", "number"], ["label"], axis=0),
    ]
    if weights is None:
        constants["temperature"] = np.array(temperature)
        nodes += [
            helper.make_node("Div", ["scores", "temperature"], ["tempered"]),
            helper.make_node("Softmax", ["tempered"], ["probabilities"], axis=1),
        ]
    else:
        # One softmax per expert: scores (n, 1, M) over temperatures (e, 1), plus the
        # logarithm of its odds for the class with the largest score.
        constants |= _experts(temperature, weights)
        nodes += [
            helper.make_node("ReduceMax", ["scores"], ["largest"], axes=[1]),
            helper.make_node("Sub", ["scores", "largest"], ["below"]),
            helper.make_node("Equal", ["scores", "largest"], ["leads"]),
            helper.make_node("Cast", ["leads"], ["leader"], to=TensorProto.DOUBLE),
            helper.make_node("Unsqueeze", ["below", "axis"], ["wide"]),
            helper.make_node("Unsqueeze", ["leader", "axis"], ["wide_leader"]),
            helper.make_node("Div", ["wide", "temperatures"], ["tempered"]),
            helper.make_node("Mul", ["wide_leader", "log_odds"], ["bonus"]),
            helper.make_node("Add", ["tempered", "bonus"], ["logits"]),
            helper.make_node("Softmax", ["logits"], ["of_experts"], axis=2),
            helper.make_node("Mul", ["of_experts", "weights"], ["weighted"]),
            helper.make_node(
                "ReduceSum", ["weighted", "axis"], ["probabilities"], keepdims=0
            ),
        ]
    kinds = {
        "U": TensorProto.STRING,
        "O": TensorProto.STRING,
        "b": TensorProto.BOOL,
        "i": TensorProto.INT64,
        "f": TensorProto.DOUBLE,
    }
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "FrozenRPNB",
        [info("X", given, ["n", p])],
        [
            info("label", kinds[names.dtype.kind], ["n"]),
            info("probabilities", TensorProto.DOUBLE, ["n", M]),
        ],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(
        graph,
        producer_name="rpnb",
        producer_version=__version__,
        opset_imports=[helper.make_opsetid("", _OPSET)],
    )
    model.ir_version = _IR_VERSION
    checker.check_model(model)
    return model


def _experts(temperature: float, weights: FloatArray) -> dict[str, NDArray[Any]]:
    """Return the constants of a mixture of temperatures and odds."""
    powers = 2.0 ** np.arange(LOWEST, LOWEST + N_TEMPERATURES)
    e = weights.size
    return {
        "temperatures": np.tile(temperature * powers, N_ODDS).reshape(e, 1),
        "log_odds": np.repeat(log(ODDS), N_TEMPERATURES).reshape(e, 1),
        "weights": weights.reshape(e, 1),
        "axis": np.array([1]),
    }


def _as_tensor(classes: LabelArray) -> LabelArray:
    """Return the classes in a type that ONNX has: text, int64, bool or double."""
    if classes.dtype.kind in "iu":
        if int(classes.max()) >= 2**63:
            raise ValueError(
                f"the label {classes.max()} is too large for ONNX: it must fit into a "
                "signed 64-bit integer"
            )
        return classes.astype(np.int64)
    if classes.dtype.kind in "UO":
        return classes.astype(object)
    return classes if classes.dtype.kind == "b" else classes.astype(np.float64)
