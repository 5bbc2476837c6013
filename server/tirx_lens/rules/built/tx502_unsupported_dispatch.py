"""TX502: TVM has no such way to carry out a tile operation."""

from __future__ import annotations

from tirx_lens.rules.rule import Page


class UnsupportedDispatch(Page):
    """`dispatch=` names a way that TVM does not have for this operation.

    ## What it does

    When a kernel is built and TVM finds no variant of that name, it shows TVM's sentence at the
    operation, with the calls that led there.

    ## Why it is bad

    The kernel does not build. TVM says which operation failed, but not on which line.

    ## Example

    ```python
    Tx.copy_async(Ds[:, :], f32[:, :], dispatch="tma_fast")
    ```

    ## Use instead

    ```python
    Tx.copy_async(Ds[:, :], f32[:, :], dispatch="tma_auto")
    ```

    ## References

    - TVM, `tirx/operator/tile_primitive/dispatcher.py`: `run_dispatch`.
    """

    code = "TX502"
    name = "unsupported-dispatch"
    levels = "error"
