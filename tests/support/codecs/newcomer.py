"""A newcomer's file: functions, torch modules and classes that work, and one for each mistake."""

SOURCE = '''
import numpy as np
import torch

from codec_superb.base_codec.card import Card
from codec_superb.base_codec.interface import Codec, Packets


def resynthesise(audio, rate):
    return audio


def as_tensor(audio, rate):
    return torch.from_numpy(audio).double()[None, None].requires_grad_()


def with_channels(audio, rate):
    return audio[:, : audio.shape[1] - 20]


def at_its_rate(audio, rate, gain=1.0):
    return np.concatenate([audio, np.zeros(300)]) * rate / 24000


at_its_rate.sampling_rate = 24000
at_its_rate.name = "mine_24k"


def with_card(audio, rate):
    return audio


with_card.card = Card(name="stated", sampling_rate=16000, nominal_kbps=8, licence="MIT")


class Least(Codec):
    card = Card(name="least", sampling_rate=16000)

    def _encode(self, audio):
        return Packets((np.clip(audio * 127, -127, 127)).astype(np.int8).tobytes())

    def _decode(self, packets, channels):
        return np.frombuffer(packets.payload, np.int8).reshape(channels, -1).astype(np.float32) / 127


class RawBytes(Least):
    def _encode(self, audio):
        return super()._encode(audio).payload


class Forgets(Least):
    def _decode(self, packets, channels):
        super()._decode(packets, channels)


class Doubles(Least):
    def _decode(self, packets, channels):
        return super()._decode(packets, channels).astype(float)


class NoSelf(Least):
    def _encode(audio):
        return Packets(b"")


class Exits(Least):
    def _decode(self, packets, channels):
        raise SystemExit


class Net(torch.nn.Module):
    """8 bits a sample in frames of 160."""

    sampling_rate = 16000

    def __init__(self, size=256):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.tensor(1.0))
        if size:
            self.codebook_size = size

    def encode(self, x):
        assert not self.training and not torch.is_grad_enabled()
        whole = x[..., : x.shape[-1] // 160 * 160]
        return ((whole.clamp(-1, 1) * 127 + 128).round().to(torch.int32)).reshape(1, -1, 160).transpose(1, 2)

    def decode(self, codes):
        return (codes.transpose(1, 2).reshape(1, 1, -1).float() - 128) / 127 * self.gain


class Stated(Net):
    card = Card(name="stated", sampling_rate=16000, codebooks=160, licence="MIT")


class Forward(torch.nn.Module):
    sample_rate = 24000

    def forward(self, x):
        return {"audio": x, "loss": 0}


def make():
    return Net()


def make_unknown(device):
    return Net(size=0).to(device)


class Floats(Net):
    def encode(self, x):
        return x


class Few(Net):
    codebooks = 8


class Small(Net):
    def __init__(self):
        super().__init__(size=100)


class Flat(Forward):
    def forward(self, x):
        (samples,) = x.shape


class NoRate(torch.nn.Module):
    def forward(self, x):
        return x


class Tuples(Net):
    def encode(self, x):
        return super().encode(x), None

    def decode(self, codes):
        return super().decode(codes)


def nothing(audio, rate):
    audio * 1


def a_list(audio, rate):
    return list(audio)


def with_rate(audio, rate):
    return audio, rate


def words(audio, rate):
    return "done"


def a_dict(audio, rate):
    return {"wav": audio}


def a_module(audio, rate):
    return Forward()


def pieces(audio, rate):
    yield audio


def an_iterator(audio, rate):
    return (part for part in (audio, audio))


async def later(audio, rate):
    return audio


def integers(audio, rate):
    return (audio * 32767).astype(np.int16)


def integer_tensor(audio, rate):
    return (torch.from_numpy(audio) * 32767).short()


def loud(audio, rate):
    return audio * 32767


def complex_numbers(audio, rate):
    return np.fft.fft(audio)


def not_finite(audio, rate):
    return audio * np.float32("nan")


def transposed(audio, rate):
    return audio[:, None]


def stereo(audio, rate):
    return np.stack([audio, audio])


def scalar(audio, rate):
    return audio.mean()


def empty(audio, rate):
    return audio[:0]


def batches(audio, rate):
    return audio.reshape(2, 1, -1)


def too_short(audio, rate):
    return audio[: audio.size // 2]


def bit_short(audio, rate):
    return audio[:-700]


def bit_long(audio, rate):
    return np.pad(audio, (0, 3300))


def exits(audio, rate):
    import sys

    sys.exit(3)


def exits_when_made():
    raise SystemExit("no licence")


def too_long(audio, rate):
    return np.repeat(audio, 2)


def without_data(audio, rate):
    return torch.empty(audio.shape, device="meta")


def raises(audio, rate):
    missing = {}
    return missing["key"]


def rate_in_words(audio, rate):
    return audio


rate_in_words.sampling_rate = "24k"


def one_parameter(audio):
    return audio


def three_parameters(audio, rate, bitrate):
    return audio


def fails_to_make():
    raise OSError("no file model.pt")


def makes_nothing():
    pass


class NeedsSize(torch.nn.Module):
    def __init__(self, size):
        super().__init__()


class NoCard(Codec):
    pass


class DictCard(Codec):
    card = {"name": "mine"}


class NoDecode(Codec):
    card = Card(name="mine", sampling_rate=16000)

    def _encode(self, audio):
        return Packets(b"")


class NoBits(Least):
    def _encode(self, audio):
        return Packets(np.zeros((1, 5), np.int16))


number = 5


def own_card(audio, rate):
    return audio


own_card.card = {"name": "Mine", "sampling_rate": "fast", "sample_rate": 1}
'''
