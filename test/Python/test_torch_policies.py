# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policies that depend on the modules of a PyTorch model."""
import pytest

import remat

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

from torch import nn  # noqa: E402

HERE = __name__


class Block(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.first, self.second = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.second(torch.tanh(self.first(x)))


class Wide(Block):
    pass


class Model(nn.Module):
    """Modules called 0 in two places, a block within a block, one that is called twice, and one that is not called."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(16, 16), Block(), Wide())
        self.decoder = nn.Sequential(Block(), nn.Linear(16, 16))
        self.twice, self.spare = Block(), nn.Bilinear(2, 2, 2)

    def forward(self, x):
        return self.decoder(self.twice(self.twice(self.encoder(x))))


def is_second_block(module, name):
    return isinstance(module, Block) and name.endswith("1")


def train(policy, **arguments):
    torch.manual_seed(0)
    model, batch = Model(), (torch.randn(8, 16), torch.randn(8, 16))
    step = remat.torch.train_step(model, nn.functional.mse_loss, batch, optimizer=remat.SGD(0.1), policy=policy, **arguments)
    values = [step(*batch) for _ in range(2)]
    return step, (values, {name: array.tobytes() for name, array in step.parameters.items()})


def scopes_of(step):
    """The scopes that regions are made of, by pass."""
    passes = step.pipeline.split("remat-annotate{scope=")[1:]
    return [one.split("}")[0].split(" ")[0].split(",") for one in passes]


@pytest.mark.parametrize("policy, scopes", [
    (remat.modules(Block), [["modules/encoder.1", "modules/encoder.2", "modules/decoder.0", "modules/twice"]]),
    (remat.modules(Wide), [["modules/encoder.2"]]),
    (remat.modules("Wide", f"{HERE}.Wide"), [["modules/encoder.2"]]),
    (remat.modules(is_second_block), [["modules/encoder.1"]]),
    (remat.modules(lambda module, name: name == "decoder.0"), [["modules/decoder.0"]]),
    # Inner ones first: regions around them contain theirs.
    (remat.modules(nn.Sequential, Wide), [["modules/encoder.2"], ["modules/encoder", "modules/decoder"]]),
    (remat.modules(Wide) | remat.everything_saveable | remat.modules(nn.Sequential) | remat.dots_saveable,
     [["modules/encoder.2"], ["modules/encoder", "modules/decoder"]]),
    (remat.modules(Model), [["modules/root"]]),
    ([{"modules": f"{HERE}.Wide"}, "dots_saveable"], [["modules/encoder.2"]]),
    ({"modules": {"classes": ["Wide", f"{HERE}.is_second_block"], "policy": "min_cut"}}, [["modules/encoder.2", "modules/encoder.1"]]),
])
def test_modules_become_regions(policy, scopes):
    step, _ = train(policy)
    assert scopes_of(step) == scopes


def test_a_region_is_that_of_the_module_alone():
    """The same regions as by scopes where the pattern of a scope is not ambiguous, fewer where it is."""
    by_class, by_scope = (train(policy)[0] for policy in (remat.modules(Wide), remat.scopes("encoder.2")))
    assert by_class.memory == by_scope.memory and by_class.memory.recomputed_ops > 0
    zeros = train(remat.scopes("0"))[0], train(remat.modules(lambda module, name: name == "decoder.0"))[0]
    assert zeros[0].explain() != zeros[1].explain()


def test_bits_are_those_of_the_model_without_a_policy():
    plain, expected = train(None)
    for policy in (remat.modules(Block), remat.modules(nn.Sequential, Block), remat.modules(lambda module, name: True)):
        step, found = train(policy)
        assert found == expected
        assert step.memory.recomputed_ops > plain.memory.recomputed_ops == 0


def test_values_that_leave_modules_have_names():
    named, _ = train(remat.modules(nn.Linear, name="linear") | remat.modules(Block) | remat.save_names("linear"))
    nothing, _ = train(remat.modules(Block))
    assert named.memory.recomputed_ops < nothing.memory.recomputed_ops
    assert "linear" in named.explain()


def test_batches_of_other_sizes_have_the_same_regions():
    step, _ = train(remat.modules(Block), dynamic=True)
    plain, _ = train(None, dynamic=True)
    batch = torch.randn(4, 16), torch.randn(4, 16)
    assert step(*batch) == plain(*batch)
    other, = step._others.values()
    assert scopes_of(other) == scopes_of(step)


@pytest.mark.parametrize("policy, error, message", [
    (remat.modules("Blok"), ValueError, "no module of the model is a Blok; the nearest is Block"),
    (remat.modules(nn.LSTM), ValueError, "no module of the model is a LSTM; choose Bilinear, Block, Linear, Model, Sequential, Wide"),
    (remat.modules(Block, lambda module, name: False), ValueError,
     r"<lambda> is true for no module of the model; its modules are \(the model\), encoder, encoder.0, encoder.1, encoder.1.first"),
    (remat.modules(nn.Bilinear), ValueError, "none of the modules that <Bilinear> selects computes anything in the model's forward"),
    ([{"modules": f"{HERE}.Blok"}], ValueError, rf"policy, entry 1 \(modules\): {HERE} has no Blok; the nearest is Block"),
    ([{"modules": 3}], TypeError, r"policy, entry 1 \(modules\): modules takes classes, .* but got 3"),
    (["torch.nn.Linear"], TypeError, "entry 1 must name a policy, a selection, or a function, but it names the class Linear; write modules: torch"),
])
def test_what_selects_nothing_is_an_error(policy, error, message):
    with pytest.raises(error, match=message):
        train(policy)


@pytest.mark.parametrize("policy", [
    remat.modules(Block), remat.modules("Block", policy=remat.dots_saveable),
    remat.modules(nn.Linear, is_second_block, name="x") | remat.layers() | remat.save_names("x")])
def test_what_is_written_is_read_as_an_equal_policy(policy):
    yaml = pytest.importorskip("yaml")
    assert remat.as_policy(policy.to_yaml()) == policy == remat.as_policy(yaml.safe_load(policy.to_yaml()))


def test_other_models_have_no_modules():
    with pytest.raises(TypeError, match="selects modules of PyTorch, which only remat.torch.train_step knows; use remat.scopes"):
        remat.mlir.train_step("module {}", policy=remat.modules("Block"))
