"""``codec-superb resynth``: run datasets through codecs."""

from __future__ import annotations

from pathlib import Path

import typer

from codec_superb.base_codec.options import CodecOptions
from codec_superb.cli.console import TerminalProgress, print_json
from codec_superb.cli.options import (
    BatchOption,
    CategoryOption,
    CodecOption,
    CompileOption,
    ConditionOption,
    DatasetOption,
    DeviceOption,
    DtypeOption,
    ExecutorOption,
    JsonOption,
    KbpsOption,
    LimitOption,
    OutOption,
    OverwriteOption,
    ReferenceOption,
    ShardOption,
    WeightsOption,
    WorkersOption,
)
from codec_superb.cli.outcomes import as_data, exit_code, print_outcomes
from codec_superb.cli.selection import codec_names, conditions_of, dataset_specs


def command(
    codec: CodecOption = None,
    dataset: DatasetOption = None,
    condition: ConditionOption = None,
    reference: ReferenceOption = "clean",
    out: OutOption = Path("runs"),
    category: CategoryOption = None,
    device: DeviceOption = "auto",
    weights: WeightsOption = None,
    dtype: DtypeOption = "float32",
    compile_model: CompileOption = False,
    kbps: KbpsOption = None,
    batch: BatchOption = None,
    workers: WorkersOption = None,
    executor: ExecutorOption = "processes",
    limit: LimitOption = None,
    shard: ShardOption = None,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Resynthesise datasets with codecs into <out>/<codec>/<dataset>/; what is finished is not done again."""
    if not codec or not dataset:
        raise typer.BadParameter("name at least one --codec and one --dataset")
    from codec_superb.pipeline.resynthesis.stage import resynthesise
    from codec_superb.pipeline.runs.shard import Shard
    from codec_superb.pipeline.workers.executors import open_executor

    options = CodecOptions(weights, dtype, compile_model, kbps)
    with TerminalProgress() as progress, open_executor(executor, workers, device=device, tell=progress.message) as pool:
        outcomes = resynthesise(
            codec_names(codec), dataset_specs(dataset), out=out, conditions=conditions_of(condition, reference),
            device=device, options=options, batch=batch, limit=limit, shard=Shard.parse(shard) if shard else None,
            overwrite=overwrite, category=category, progress=progress, executor=pool,
        )  # fmt: skip
    print_outcomes(outcomes)
    if as_json:
        print_json(as_data(outcomes))
    raise typer.Exit(exit_code(outcomes))
