# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a case of test_ranks.py on one rank: CASE RANKS ARGUMENT. Prints a line of JSON with the results."""
import json

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import remat  # noqa: E402
from conftest import batches, mlp  # noqa: E402

EXAMPLES = 8
PARTS = 4
TRAIN = "opt.optimizer @o = #opt.adamw<lr = 0.01>\nremat.train_step @step for @loss optimizer(@o) {eager}"
LOOKUP = """
opt.optimizer @o = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@o) {eager}
func.func @loss(%x: tensor<8xi32> {remat.data = "x"}, %t: tensor<6x4xf32> {opt.param = "table", opt.init = "normal(0.5)"})
    -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %rows = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
                          iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8xi32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%n: i32, %o: f32):
    %r = arith.index_cast %n : i32 to index
    %c = linalg.index 1 : index
    %v = tensor.extract %t[%r, %c] : tensor<6x4xf32>
    linalg.yield %v : f32
  } -> tensor<8x4xf32>
  %empty = tensor.empty() : tensor<f32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>],
                          iterator_types = ["reduction", "reduction"]} ins(%rows : tensor<8x4xf32>) outs(%start : tensor<f32>) {
  ^bb0(%v: f32, %acc: f32):
    %s = arith.mulf %v, %v : f32
    %r = arith.addf %acc, %s : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}
"""


def model(train=TRAIN):
    return mlp(train).replace("tensor<6x", f"tensor<{EXAMPLES}x")


def evaluated():
    """The model, and @check, which is its loss."""
    text = model(TRAIN.replace("optimizer(@o)", "optimizer(@o) eval(@check)"))
    return text + text[text.index("func.func @loss"):].replace("@loss", "@check")


def mesh_of(ranks):
    return remat.Mesh(data=ranks, parts={"data": PARTS})


def data(count=3, seed=0):
    arrays = batches(count, seed, EXAMPLES)
    return [(arrays["x"][i:i + EXAMPLES], arrays["y"][i:i + EXAMPLES]) for i in range(0, count * EXAMPLES, EXAMPLES)]


def bits(step):
    return {name: np.ascontiguousarray(value).tobytes().hex() for name, value in step.state_dict().items()}


def train(ranks, folder):
    """Two steps, a checkpoint, one more step, an evaluation: as bits."""
    mesh = mesh_of(ranks)
    step = remat.mlir.train_step(evaluated(), mesh=mesh)
    losses = [step(*mesh.rows(batch)).hex() for batch in data()[:2]]
    step.save(Path(folder) / f"{ranks}.safetensors")
    losses.append(step(*step.rows(*data()[2])).hex())
    return {"rank": mesh.rank, "losses": losses, "state": bits(step), "eval": step.eval(*mesh.rows(data(1, 7)[0])).hex(),
            "data": [a.shape for a in step.data], "arena": step.memory.arena, "bytes": step.memory.data}


def resume(ranks, path):
    """Goes on from a file that only the first rank can read."""
    mesh = mesh_of(ranks)
    step = remat.mlir.train_step(evaluated(), mesh=mesh, seed=None)
    step.load(path if mesh.rank == 0 else "nowhere")
    return {"losses": [step(*mesh.rows(data()[2])).hex()], "state": bits(step), "number": step.number}


def columns(ranks, _):
    """Data of which ranks share no rows, or the second dimension."""
    mesh = mesh_of(ranks)
    text = model().replace('%x: tensor<8x5xf32>', '%x: tensor<8x8xf32>').replace("tensor<5x4xf32>", "tensor<8x4xf32>").replace(
        "%a = %x : tensor<8x5xf32>", "%a = %x : tensor<8x8xf32>").replace("%a, %w : tensor<8x5xf32>", "%a, %w : tensor<8x8xf32>")
    step = remat.mlir.train_step(text, mesh=mesh, shard={"x": (None, "data"), "y": ()})
    x = np.random.default_rng(3).standard_normal((8, 8)).astype("f4")
    losses = [step(*step.rows(x, y)).hex() for _, y in data()]
    return {"losses": losses, "state": bits(step), "data": [a.shape for a in step.data]}


def caught(work):
    try:
        work()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def torch(ranks, path):
    """A model with batch norm, dropout and a tied weight, whose weights each rank draws by itself; larger batches; its own scheduler."""
    import torch

    mesh = mesh_of(ranks)
    torch.manual_seed(mesh.rank)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.norm, self.drop = torch.nn.Linear(6, 6), torch.nn.BatchNorm1d(6), torch.nn.Dropout(0.3)
            self.down = torch.nn.Linear(6, 6)
            self.down.weight = self.up.weight

        def forward(self, x):
            return self.down(self.drop(torch.relu(self.norm(self.up(x)))))

    network = Model()
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    generator = torch.Generator().manual_seed(5)
    batches = [(torch.randn(n, 6, generator=generator), torch.randn(n, 6, generator=generator)) for n in (8, 8, 16, 8)]
    step = remat.torch.train_step(network, torch.nn.functional.mse_loss, batches[0], optimizer=optimizer, mesh=mesh, dynamic=True,
                                  evaluate=True, policy=remat.whole())
    losses = []
    for batch in batches:
        losses.append(step(*mesh.rows(batch)).hex())
        schedule.step()
    step.save(f"{path}.{ranks}")
    wrong = caught(lambda: step(*(batch[:1] if mesh.rank == 0 else mesh.rows(batch))))
    return {"losses": losses, "state": bits(step), "eval": step.eval(*mesh.rows(batches[1])).hex(), "errors": [wrong]}


def jax(ranks, path):
    """A loss of a mean over valid tokens, which ranks have different numbers of, and masks by a key that all have."""
    import jax
    import jax.numpy as jnp

    mesh = mesh_of(ranks)

    def loss(params, tokens, valid, key):
        h = jnp.tanh(params["table"][tokens])
        h = jnp.where(jax.random.bernoulli(key, 0.7, h.shape), h, 0)
        error = jnp.square(h @ params["out"]).sum(-1)
        return jnp.where(valid, error, 0).sum() / valid.sum()

    rng = np.random.default_rng(mesh.rank)
    params = {"table": rng.standard_normal((10, 6)).astype("f4"), "out": rng.standard_normal((6, 4)).astype("f4")}
    rng = np.random.default_rng(3)
    batches = [(rng.integers(0, 10, (8, 5)).astype("i4"), np.arange(8)[:, None] + np.arange(5) < 6 + i, jax.random.key(i))
               for i in range(3)]
    step = remat.jax.train_step(loss, params, *batches[0], optimizer=remat.AdamW(0.01), mesh=mesh, shard={"batch.2": ()})
    losses = [step(*mesh.rows((tokens, valid)), key).hex() for tokens, valid, key in batches]
    step.save(f"{path}.{ranks}")
    return {"losses": losses, "state": bits(step)}


def fail(ranks, _):
    """Steps that one rank cannot do, and what is left of them."""
    mesh = mesh_of(ranks)
    step = remat.mlir.train_step(model(), mesh=mesh)
    batch = mesh.rows(data()[0])
    step(*batch)
    before, last = bits(step), mesh.rank == ranks - 1
    errors = [caught(lambda: step(*(batch[:1] if last else batch))),
              caught(lambda: step(*(np.zeros((1, 5), "f4"), batch[1]) if last else batch)),
              caught(lambda: step(*((batch[0].astype("f8"), batch[1]) if mesh.rank == 0 else batch)))]
    same = bits(step) == before
    lookup = remat.mlir.train_step(LOOKUP, mesh=mesh)
    x = np.arange(8, dtype="i4") % 6
    wrong = x.copy()
    wrong[-1] = 77
    lookup(*mesh.rows([x]))
    before = bits(lookup)
    errors.append(caught(lambda: lookup(*mesh.rows([wrong]))))
    same = same and bits(lookup) == before
    checked = remat.mlir.train_step(model(), mesh=mesh, check_nans=True)
    before, spoiled = bits(checked), data()[0][0].copy()
    spoiled[-1, -1] = np.nan
    errors.append(caught(lambda: checked(*mesh.rows((spoiled, data()[0][1])))))
    same = same and bits(checked) == before
    return {"errors": errors, "same": same, "after": [checked(*batch).hex(), step(*batch).hex(), lookup(*mesh.rows([x])).hex()]}


def grid(ranks, _):
    """Data and a parameter along axes of their own; data that one rank of the grid refuses."""
    columns = ranks // 2
    mesh = remat.Mesh(data=ranks // columns, model=columns, parts={"data": PARTS, "model": 2})
    step = remat.mlir.train_step(model(), mesh=mesh, shard={"first.weight": (None, "model")})
    losses = [step(*mesh.rows(batch)).hex() for batch in data()[:2]]
    batch = mesh.rows(data()[2])
    error = caught(lambda: step(*(batch[:1] if mesh.rank == ranks - 1 else batch)))
    losses.append(step(*batch).hex())
    return {"losses": losses, "state": bits(step), "errors": [error], "place": [mesh.coordinate("data"), mesh.coordinate("model")]}


def differ(ranks, _):
    """Programs that are not the same on all ranks."""
    mesh = mesh_of(ranks)
    last = mesh.rank == ranks - 1
    other = model().replace("0.0555555", "0.5")
    errors = [caught(lambda: remat.mlir.train_step(other if last else model(), mesh=mesh)),
              caught(lambda: remat.mlir.train_step(model(""), optimizer=remat.SGD(0.1 if last else 0.2), mesh=mesh)),
              caught(lambda: remat.mlir.train_step(model(""), optimizer=remat.SGD(0.1), mesh=mesh, seed=int(last)))]
    step = remat.mlir.train_step(model(), mesh=mesh)
    errors.append(caught(lambda: step.save("/nowhere/run.safetensors")))
    errors.append(caught(lambda: step.load("/nowhere/run.safetensors")))
    return {"errors": errors, "after": step(*mesh.rows(data()[0])).hex()}


def refuse(ranks, _):
    """Meshes and shardings that are wrong in themselves."""
    mesh = remat.Mesh(data=ranks)
    train = remat.mlir.train_step
    rows = np.zeros((7, 5), "f4")
    return {"errors": [
        caught(lambda: remat.Mesh()), caught(lambda: remat.Mesh(data=0)),
        caught(lambda: remat.Mesh(data=ranks, parts={"model": 2})), caught(lambda: remat.Mesh(data=ranks, parts={"data": 3})),
        caught(lambda: remat.Mesh(data=3)), caught(lambda: mesh.rows(rows)), caught(lambda: mesh.rows(rows, axis="model")),
        caught(lambda: train(model(), mesh=mesh, shard={"x": "model"})), caught(lambda: train(model(), mesh=mesh, shard={"z": "data"})),
        caught(lambda: train(model(), mesh=mesh, shard={"x": ("data", "data")})),
        caught(lambda: train(mlp(TRAIN).replace("tensor<6x", "tensor<7x"), mesh=mesh)),
        caught(lambda: train(model(), shard={"x": "data"})), caught(lambda: train(model(), mesh=2))]}


def die(ranks, _):
    """One rank ends by an exception while the others wait for it."""
    mesh = mesh_of(ranks)
    step = remat.mlir.train_step(model(), mesh=mesh)
    if mesh.rank == ranks - 1:
        raise RuntimeError("the loader of this rank has failed")
    step(*mesh.rows(data()[0]))
    return {}



if __name__ == "__main__":
    case, ranks, argument = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    result = json.dumps(globals()[case](ranks, argument))
    # One write: lines of several ranks must not mix.
    sys.stdout.write(result + "\n")
    sys.stdout.flush()
