"""A model and engines that worker processes of the tests load by `fake_engines:NAME`."""

import os
import signal
import sys

import torch
from torch import nn

from forge_ugc.evaluation.peers.engine import Built, CannotBuildError, Engine


def model():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).eval()
    return module.requires_grad_(False), (torch.ones(1, 3, 8),)


class Doubling(Engine):
    """Twice what the module computes; prints where a library would."""

    def build(self, workload, precision, threads):
        module, inputs = workload.module, workload.inputs
        print("a library's greeting")
        os.write(1, b"one of C++\n")

        def call():
            return 2 * module(*inputs)

        return Built(call=call, output=call, details={"threads": torch.get_num_threads()})


class Refusing(Engine):
    """Cannot be built."""

    def build(self, workload, precision, threads):
        raise CannotBuildError(f"no {precision} here\nfurther lines")


class Dying(Engine):
    """Is killed at the second call after the tiny model's, as for want of memory."""

    calls = 0

    def build(self, workload, precision, threads):
        print("last words", file=sys.stderr)

        def call():
            self.calls += 1
            if self.calls == 3:
                os.kill(os.getpid(), signal.SIGKILL)
            return torch.zeros(1)

        return Built(call=call, output=call)
