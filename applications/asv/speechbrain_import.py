"""Import SpeechBrain so that the process around it goes on working."""

from __future__ import annotations

import sys

from codec_superb.applications.torchaudio_import import import_torchaudio


def import_speechbrain() -> None:
    """Import SpeechBrain, with torchaudio before it (see :func:`import_torchaudio`).

    SpeechBrain puts redirections of its old module names among the imported modules. They import packages that need
    not be installed as soon as anything looks at them, and whatever looks at all modules (Hypothesis, debuggers,
    reloaders) fails. They are taken out again; the modules under their new names are not touched.
    """
    import_torchaudio()
    import speechbrain  # noqa: F401
    from speechbrain.utils.importutils import LazyModule

    for name in [name for name, module in sys.modules.items() if isinstance(module, LazyModule)]:
        del sys.modules[name]
