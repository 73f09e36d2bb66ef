"""A small BiCodec with a small wav2vec 2.0 of seventeen layers; the encoder of voices has one width."""

from __future__ import annotations

import torch

CODEC = "spark_bicodec"
FILE = "config.yaml"
WIDTH, SMALL = 32, {"vocos_dim": 32, "vocos_intermediate_dim": 48, "vocos_num_layers": 1}
CONFIG = {"sample_rate": 16000, "ref_segment_duration": 6, "latent_hop_length": 320, "volume_normalize": True}
BICODEC = {
    "mel_params": {"sample_rate": 16000, "n_fft": 1024, "win_length": 640, "hop_length": 320, "mel_fmin": 10,
                   "mel_fmax": None, "num_mels": 128},
    "encoder": {"input_channels": WIDTH, "out_channels": WIDTH, "sample_ratios": [1, 1], **SMALL},
    "quantizer": {"input_dim": WIDTH, "codebook_size": 8192, "codebook_dim": 8, "commitment": 0.25,
                  "codebook_loss_weight": 4.0},
    "speaker_encoder": {"input_dim": 128, "out_dim": WIDTH, "latent_dim": 128, "token_num": 32,
                        "fsq_levels": [4, 4, 4, 4, 4, 4], "fsq_num_quantizers": 1},
    "prenet": {"input_channels": WIDTH, "out_channels": WIDTH, "condition_dim": WIDTH, "sample_ratios": [1, 1],
               **SMALL},
    "postnet": {"input_channels": WIDTH, "out_channels": WIDTH, **SMALL},
    "decoder": {"input_channel": WIDTH, "channels": 64, "rates": [8, 5, 4, 2], "kernel_sizes": [16, 11, 8, 4]},
}  # fmt: skip


def make(folder):  # noqa: ANN001, ANN201
    """Write what the package reads of the publisher's folder; as there, the checkpoint lacks the mel transform."""
    import yaml
    from safetensors.torch import save_file
    from spark_tts_lib.models import bicodec
    from transformers import Wav2Vec2Config, Wav2Vec2FeatureExtractor, Wav2Vec2ForPreTraining

    (folder / "BiCodec").mkdir()
    (folder / "config.yaml").write_text(yaml.safe_dump(CONFIG))
    (folder / "BiCodec" / "config.yaml").write_text(yaml.safe_dump({"audio_tokenizer": BICODEC}))
    model = bicodec.BiCodec(
        BICODEC["mel_params"], bicodec.Encoder(**BICODEC["encoder"]), bicodec.WaveGenerator(**BICODEC["decoder"]),
        bicodec.FactorizedVectorQuantize(**BICODEC["quantizer"]), bicodec.SpeakerEncoder(**BICODEC["speaker_encoder"]),
        bicodec.Decoder(**BICODEC["prenet"]), bicodec.Decoder(**BICODEC["postnet"]),
    )  # fmt: skip
    state = {name: value for name, value in model.state_dict().items() if not name.startswith("mel_transformer.")}
    save_file(state, folder / "BiCodec" / "model.safetensors")
    config = Wav2Vec2Config(
        hidden_size=WIDTH, num_hidden_layers=17, num_attention_heads=2, intermediate_size=48, conv_dim=(32,) * 7,
        do_stable_layer_norm=True, feat_extract_norm="layer", conv_bias=True, num_conv_pos_embedding_groups=2,
    )  # fmt: skip
    place = folder / "wav2vec2-large-xlsr-53"
    Wav2Vec2ForPreTraining(config).save_pretrained(place, safe_serialization=False)
    state = torch.load(place / "pytorch_model.bin")  # the publisher's is of 2021, when weight norm had other names
    for new, old in (
        ("parametrizations.weight.original0", "weight_g"),
        ("parametrizations.weight.original1", "weight_v"),
    ):
        for name in [name for name in state if name.endswith(new)]:
            state[name.replace(new, old)] = state.pop(name)
    torch.save(state, place / "pytorch_model.bin")
    Wav2Vec2FeatureExtractor(return_attention_mask=True).save_pretrained(place)


def run(folder, audio):  # noqa: ANN001, ANN201
    """Return what the package makes of a file: the sound and the silence that completes its last frame."""
    import soundfile
    from spark_tts_lib.models.audio_tokenizer import BiCodecTokenizer

    frames = -(-audio.shape[1] // 320)
    whole = torch.nn.functional.pad(audio, (0, 320 * frames + 80 - audio.shape[1]))
    soundfile.write(folder / "clip.wav", whole[0].numpy(), 16000, subtype="FLOAT")
    tokenizer = BiCodecTokenizer(folder, torch.device("cpu"))
    voice, tokens = tokenizer.tokenize(folder / "clip.wav")
    return tokens, tokenizer.detokenize(voice.squeeze(0), tokens)[None]
