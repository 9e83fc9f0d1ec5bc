"""Models spread over processes (FSDP2), and plain ones, behind the same few verbs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method
from torch.distributed.tensor import DTensor, distribute_tensor

from regard.layers import DecoderBlock, EncoderBlock, Recurrent
from regard.models import Model
from regard.run.folder import Run
from regard.training.world import World


def fully(model: nn.Module, world: World) -> None:
    """Each process keeps a part of every block; a block is whole only while it works."""
    # Logits are a view, and nothing writes into them in place.
    warnings.filterwarnings("ignore", "FSDP2-wrapped module .* returned a view tensor")
    mesh = init_device_mesh(world.device.type, (world.size,))
    for module in model.modules():
        if isinstance(module, DecoderBlock) and module.cross is not None:
            # The source is remembered before the block itself works.
            fully_shard(module.cross, mesh=mesh)
            register_fsdp_forward_method(module.cross, "remember")
        if isinstance(module, (EncoderBlock, DecoderBlock, Recurrent)):
            fully_shard(module, mesh=mesh)
    fully_shard(model, mesh=mesh)


def full(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Whole tensors, whatever was spread; every process must call this."""
    return {name: whole(tensor) for name, tensor in tensors.items()}


def whole(tensor: Tensor) -> Tensor:
    """One whole tensor, on the CPU if it was spread."""
    return tensor.full_tensor().cpu() if isinstance(tensor, DTensor) else tensor


def like(tensor: Tensor, model: Tensor) -> Tensor:
    """A whole tensor laid out as `model` is."""
    tensor = tensor.to(model.device)
    if isinstance(model, DTensor):
        return distribute_tensor(tensor, model.device_mesh, model.placements)
    return tensor


@torch.no_grad()
def load(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Weights from a checkpoint into a plain or a spread model."""
    for name, own in model.state_dict().items():
        own.copy_(like(tensors[name], own))


def plain(model: Model, run: Run, world: World) -> Model:
    """A model that the first process can use alone: this one, or a whole copy of a spread one."""
    if not any(isinstance(p, DTensor) for p in model.parameters()):
        return model
    state = full(model.state_dict())
    if not world.is_first:
        return model
    copy = run.build_model()
    copy.load_state_dict(state)
    return copy.to(world.device)


def norms(model: nn.Module) -> Float[Tensor, " parameters"]:
    """The length of each parameter's gradient; 0 where there is none."""
    parameters = list(model.parameters())
    norms = torch._foreach_norm([p.grad for p in parameters if p.grad is not None])
    lengths = iter([whole(length) for length in norms])
    nothing = torch.zeros((), device=norms[0].device)
    return torch.stack([nothing if p.grad is None else next(lengths).float() for p in parameters])
