"""Fusion of operators other than attention, as a list of local rewrites."""

from __future__ import annotations

from forge_ugc.passes.base import Rewrite, RewritePass, graph_pass
from forge_ugc.passes.operators.gated_halves import GatedLinearFromHalves
from forge_ugc.passes.operators.gated_linear import GatedLinearFromTwo
from forge_ugc.passes.operators.gelu import GeluChain
from forge_ugc.passes.operators.layer_norm import LayerNormChain
from forge_ugc.passes.operators.linear import LinearFromProduct
from forge_ugc.passes.operators.linear_activation import LinearActivation
from forge_ugc.passes.operators.linear_bias import LinearBias
from forge_ugc.passes.operators.linear_scale import LinearScale
from forge_ugc.passes.operators.linear_views import LinearViews
from forge_ugc.passes.operators.merged_linear import MergedLinears
from forge_ugc.passes.operators.quick_gelu import QuickGelu
from forge_ugc.passes.operators.residual import Residual
from forge_ugc.passes.operators.rms_norm import RmsNormChain, RmsNormOperator
from forge_ugc.passes.operators.rotary import RotaryByElement, RotaryByPair
from forge_ugc.passes.operators.rotary_partial import RotaryPartial
from forge_ugc.passes.operators.silu import SiluChain

# What a chain is called, before anything is fused with it: `LayerNormChain` comes before
# `RmsNormChain`, which would take the centred value for an input of its own.
_CHAINS: tuple[type[Rewrite], ...] = (
    LinearFromProduct, LinearViews, GeluChain, SiluChain, LayerNormChain, RmsNormChain,
    RmsNormOperator, RotaryByElement, RotaryByPair, RotaryPartial,
)  # fmt: skip
# A bias joins before an activation does, both before a gate or a residual reads the result.
_EPILOGUES: tuple[type[Rewrite], ...] = (
    LinearBias, QuickGelu, LinearActivation, LinearScale, GatedLinearFromTwo, GatedLinearFromHalves,
    Residual,
)  # fmt: skip
# Only what has no epilogue by now is merged with its neighbours.
_NEIGHBOURS: tuple[type[Rewrite], ...] = (MergedLinears,)


@graph_pass("fuse-operators")
class FuseOperators(RewritePass):
    """Linear layers with bias, activation, gate and residual; norms; rotary; parallel layers."""

    stages = (_CHAINS, _EPILOGUES, _NEIGHBOURS)
    rewrites = tuple(rewrite for stage in stages for rewrite in stage)
