"""Checkpoints for transformers that tests make: tiny.en converted, and tiny ones with seeded random weights."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import torch
import whisper
from support.applications.ct2 import openai_checkpoint

from codec_superb.applications.model_files import embedded_model_folder
from codec_superb.base_codec.torchaudio_import import import_torchaudio
from codec_superb.base_codec.weight_folders import RANDOM_KEY

_BLOCK = {
    "attn.": "self_attn.", "cross_attn.": "encoder_attn.", "attn_ln.": "self_attn_layer_norm.",
    "cross_attn_ln.": "encoder_attn_layer_norm.", "mlp.0.": "fc1.", "mlp.2.": "fc2.", "mlp_ln.": "final_layer_norm.",
}  # fmt: skip
_PROJECTION = {"query.": "q_proj.", "key.": "k_proj.", "value.": "v_proj.", "out.": "out_proj."}
_OUTSIDE = {
    "positional_embedding": "embed_positions.weight", "token_embedding.weight": "embed_tokens.weight",
    "ln_post.": "layer_norm.", "ln.": "layer_norm.",
}  # fmt: skip


def _theirs(name: str) -> str:
    """Return what transformers calls a tensor of openai-whisper."""
    side, _, rest = name.partition(".")
    if rest.startswith("blocks."):
        _, number, rest = rest.split(".", 2)
        block = next(key for key in sorted(_BLOCK, key=len, reverse=True) if rest.startswith(key))
        rest = f"layers.{number}.{_BLOCK[block]}{rest.removeprefix(block)}"
        for ours, its in _PROJECTION.items():
            rest = rest.replace(f"attn.{ours}", f"attn.{its}")
    else:
        for ours, its in _OUTSIDE.items():
            rest = rest.replace(ours, its) if rest.startswith(ours) else rest
    return f"model.{side}.{rest}"


def save_tiny_en(folder: Path) -> None:
    """Save the weights of the embedded tiny.en as transformers reads them, with what the original suppresses."""
    import_torchaudio()
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    source = embedded_model_folder("whisper-tiny.en")
    checkpoint = openai_checkpoint(source)
    dims, state = checkpoint["dims"], checkpoint["model_state_dict"]
    model = WhisperForConditionalGeneration(
        WhisperConfig(
            vocab_size=dims["n_vocab"], d_model=dims["n_audio_state"], encoder_layers=dims["n_audio_layer"],
            decoder_layers=dims["n_text_layer"], encoder_attention_heads=dims["n_audio_head"],
            decoder_attention_heads=dims["n_text_head"], encoder_ffn_dim=4 * dims["n_audio_state"],
            decoder_ffn_dim=4 * dims["n_text_state"],
        )
    )  # fmt: skip
    missing, unexpected = model.load_state_dict({_theirs(name): value for name, value in state.items()}, strict=False)
    assert not unexpected
    assert missing == ["proj_out.weight"]
    model.tie_weights()
    config = json.loads((source / "config.json").read_text())
    _set(
        model.generation_config, suppress_tokens=config["suppress_ids"],
        begin_suppress_tokens=config["suppress_ids_begin"], is_multilingual=False,
    )  # fmt: skip
    _save_whisper(model, source / "tokenizer.json", folder)


def save_random_whisper(folder: Path) -> None:
    """Save a tiny multilingual Whisper that knows English and German, with seeded random weights."""
    _save_whisper(_random_whisper(), embedded_model_folder("whisper-tiny.en") / "tokenizer.json", folder)
    mark_random(folder)


def save_random_ct2(folder: Path) -> None:
    """Save the same model for CTranslate2."""
    from ctranslate2.converters.transformers import WhisperLoader

    source = embedded_model_folder("whisper-tiny.en")
    spec = WhisperLoader().get_model_spec(_random_whisper())
    # CTranslate2 knows a multilingual vocabulary by its empty token.
    spec.register_vocabulary([*(source / "vocabulary.txt").read_text().split("\n")[:51864], ""])
    spec.config.lang_ids, spec.config.suppress_ids, spec.config.suppress_ids_begin = [50258, 50260], [], []
    spec.config.alignment_heads = [[0, 0]]
    spec.validate()
    spec.optimize()
    folder.mkdir(exist_ok=True)
    spec.save(str(folder))
    shutil.copy(source / "tokenizer.json", folder)
    mark_random(folder)


def save_random_openai(file: Path) -> None:
    """Save a tiny multilingual checkpoint of openai-whisper, which knows its 99 languages."""
    dims = {
        "n_mels": 80, "n_audio_ctx": 1500, "n_audio_state": 16, "n_audio_head": 2, "n_audio_layer": 1,
        "n_vocab": 51865, "n_text_ctx": 448, "n_text_state": 16, "n_text_head": 2, "n_text_layer": 1,
    }  # fmt: skip
    torch.manual_seed(0)
    state = whisper.model.Whisper(whisper.model.ModelDimensions(**dims)).state_dict()
    for values in state.values():
        if values.ndim > 1:
            torch.nn.init.normal_(values, std=0.5)  # the positions of its decoder openai-whisper does not set at all
    torch.save({"dims": dims, "model_state_dict": state}, file)


def _random_whisper() -> Any:
    import_torchaudio()
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    torch.manual_seed(0)
    model = WhisperForConditionalGeneration(
        WhisperConfig(
            vocab_size=51865, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
            decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, init_std=0.5,
        )
    )  # fmt: skip
    _set(
        model.generation_config, is_multilingual=True, lang_to_id={"<|en|>": 50258, "<|de|>": 50260},
        task_to_id={"transcribe": 50358, "translate": 50357},
    )  # fmt: skip
    return model


def _set(config: Any, **values: Any) -> None:
    """Set what published checkpoints have; ``update`` of transformers leaves out what not every model has."""
    common = {"no_timestamps_token_id": 50362, "return_timestamps": False, "max_length": 448}
    for name, value in (common | values | {"_from_model_config": False}).items():
        setattr(config, name, value)


def _save_whisper(model: Any, tokenizer: Path, folder: Path) -> None:
    from transformers import WhisperFeatureExtractor

    model.save_pretrained(folder)
    WhisperFeatureExtractor().save_pretrained(folder)
    shutil.copy(tokenizer, folder)
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "WhisperTokenizer"}')


def save_random_wav2vec2(folder: Path, norm: str) -> None:
    """Save a tiny wav2vec 2.0 with a head for CTC; ``norm`` is ``layer`` or ``group``."""
    import_torchaudio()
    from transformers import Wav2Vec2Config, Wav2Vec2CTCTokenizer, Wav2Vec2FeatureExtractor, Wav2Vec2ForCTC

    folder.mkdir(exist_ok=True)
    letters = ["<pad>", "<s>", "</s>", "<unk>", "|", *"ABCDEFGHIJ"]
    (folder / "letters.json").write_text(json.dumps({letter: number for number, letter in enumerate(letters)}))
    Wav2Vec2CTCTokenizer(str(folder / "letters.json")).save_pretrained(folder)
    Wav2Vec2FeatureExtractor(do_normalize=True, return_attention_mask=norm == "layer").save_pretrained(folder)
    torch.manual_seed(0)
    config = Wav2Vec2Config(
        vocab_size=len(letters), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        conv_dim=(8,) * 7, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, feat_extract_norm=norm,
        do_stable_layer_norm=norm == "layer", initializer_range=1.0,
    )  # fmt: skip
    Wav2Vec2ForCTC(config).save_pretrained(folder)
    mark_random(folder)


def mark_random(folder: Path) -> None:
    """Mark a checkpoint as one that nobody trained."""
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {RANDOM_KEY: True}))
