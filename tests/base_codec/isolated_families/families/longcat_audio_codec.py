"""A narrow LongCat-Audio-Codec: rates and codebooks of the published configurations, few layers and channels."""

from __future__ import annotations

from contextlib import chdir
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from families.drawing import draw_residual

CODEC = "longcat_audio_codec_24k_4cb"
FILE = "ckpts/LongCatAudioCodec_encoder.pt"
DECODER = "LongCatAudioCodec_decoder_24k_4codebooks"
SEMANTIC = "semantic_tokenizer_general/configs/semantic_tokenizer.infer.yaml"
WIDTHS = {"encoder_dim": 4, "codec_dimension": 32, "decoder_dim": 64, "semantic_dim": 32}
RATES = (24000, 16000)
FRAME = 1440


def configure(folder):  # noqa: ANN001, ANN201
    """Write the package's configurations with few channels and one layer, and statistics of a spectrum of noise."""
    import yaml

    repository = Path(find_spec("semantic_tokenizer_general").origin).parents[1]
    names = [f"configs/{name}.yaml" for name in ("LongCatAudioCodec_encoder", DECODER)]
    for name in [*names, SEMANTIC]:
        config = yaml.safe_load((repository / name).read_text())
        if name == SEMANTIC:
            config["encoder"]["VGGtf_encoder"].update(num_encoder_layers=1, dim_feedforward=64)
        else:
            config["codec_config"].update({key: WIDTHS[key] for key in WIDTHS if key in config["codec_config"]})
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(yaml.safe_dump(config))
    mean, spread, count = 16.0, 2.0, 1000
    rows = [[count * mean] * 80 + [count], [count * (mean**2 + spread**2)] * 80 + [0]]
    (folder / "ckpts").mkdir()
    np.save(folder / "ckpts/LongCatAudioCodec_encoder_cmvn.npy", np.array(rows))


def models(folder):  # noqa: ANN001, ANN201
    """Return encoder and decoder with the package's random weights."""
    import yaml
    from networks.semantic_codec import LongCatAudioCodec_model as package

    with chdir(folder):
        listener, speaker = (
            yaml.safe_load(Path(f"configs/{name}.yaml").read_text())["codec_config"]
            for name in ("LongCatAudioCodec_encoder", DECODER)
        )
        shared = {"latent_dim": "codec_dimension", "n_codebooks": "codec_codebooks",
                  "codebook_size": "codec_codebook_size", "codebook_dim": "codec_codebook_search_dim"}  # fmt: skip
        encoder = package.LongCatAudioCodecEncoder(
            encoder_dim=listener["encoder_dim"], encoder_rates=listener["codec_enc_ratios"],
            semantic_tokenizer_type=listener["semantic_tokenizer_type"],
            **{name: listener[key] for name, key in shared.items()},
        )  # fmt: skip
        decoder = package.LongCatAudioCodecDecoder(
            decoder_dim=speaker["decoder_dim"], decoder_rates=speaker["codec_dec_ratios"], decoder_type="24k",
            semantic_dim=speaker["semantic_dim"], **{name: speaker[key] for name, key in shared.items()},
        )  # fmt: skip
    return encoder.eval(), decoder.eval()


@torch.inference_mode()
def make(folder):  # noqa: ANN001, ANN201
    """Write configurations, statistics, encoder and decoder; codebooks lie around what the encoders make of noise."""
    configure(folder)
    encoder, decoder = models(folder)
    noise = 0.1 * torch.randn(1, 1, 150 * 960)
    tokenizer = encoder.semantic_tokenizer
    heard = torch.nn.functional.normalize(tokenizer(32767 * noise[0], torch.tensor([noise.shape[2]]))[2][0], dim=-1)
    draw_residual([tokenizer.kmeans.codebook.T], heard)
    residual = encoder.encoder(noise)
    for level in encoder.acoustic_quantizer.quantizers:
        for projection, codebook in ((level.in_proj_a, level.codebook_a), (level.in_proj_b, level.codebook_b)):
            draw_residual([codebook.weight.data], projection(residual)[0].T)
        residual = residual - level(residual)[0]
    torch.save(encoder.state_dict(), folder / FILE)
    torch.save(decoder.state_dict(), folder / f"ckpts/{DECODER}.pt")


def run(folder, audio):  # noqa: ANN001, ANN201
    """Return tokens and sound as the package's script computes them, of whole frames at the encoder's rate."""
    import soxr
    from networks.semantic_codec import model_loader

    with chdir(folder):
        encoder = model_loader.load_encoder("configs/LongCatAudioCodec_encoder.yaml", "cpu")
        decoder = model_loader.load_decoder(f"configs/{DECODER}.yaml", "cpu")
    padded = np.pad(audio.numpy(), ((0, 0), (0, -audio.shape[1] % FRAME)))
    heard = torch.from_numpy(soxr.resample(padded.T, *RATES, quality="VHQ").T.copy())
    semantic, acoustic = encoder(heard[None], RATES[1], n_acoustic_codebooks=3)
    return torch.cat([semantic, acoustic[0]]), decoder(semantic, acoustic)[0]
