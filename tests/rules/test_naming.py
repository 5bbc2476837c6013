"""What is looked up about buffers and copies is what each operation says of itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tirx_lens.files import read_source
from tirx_lens.model.source import SourceText
from tirx_lens.rules.facts.bulk import bulk_copy
from tirx_lens.rules.facts.engine_copies import engine_copies
from tirx_lens.rules.facts.naming import naming, tmem_users
from tirx_lens.rules.facts.tmem import named_by, tmem_load, tmem_loads, uses_tmem
from tirx_lens.rules.rule import KernelView
from tirx_lens.syntax.fold import compute
from tirx_lens.syntax.read import read_kernels
from tirx_lens.threads.reach import reach

ROOT = Path(__file__).parents[2]
FILES = [
    *sorted((ROOT / "kernels").rglob("*.py")),
    *sorted((ROOT / "tests" / "corpus" / "shapes").glob("*.py")),
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_indices_agree_with_operations(path: Path):
    source = read_source(path)
    assert isinstance(source, SourceText)
    for kernel in read_kernels(source).kernels:
        followed = reach(kernel, compute)
        if followed is None:
            continue
        view = KernelView(source, kernel, followed)
        names, copies = naming(view), engine_copies(followed)
        operations = [reached.operation for reached in followed.reached]
        for operation in operations:
            named = tuple(dict.fromkeys(named_by(operation)))
            assert names.by_operation.get(id(operation), ()) == named
            assert copies.get(id(operation)) == bulk_copy(operation)
            assert followed.once(tmem_loads).get(id(operation)) == tmem_load(operation)
        for buffer, users in names.by_buffer.items():
            assert [one.operation for one in users] == [
                operation for operation in operations if buffer in named_by(operation)
            ]
        assert [one.operation for one in tmem_users(view)] == list(filter(uses_tmem, operations))
