from codec_superb.api.arrays_scored import score as score
from codec_superb.api.catalogue import AudioDataset as AudioDataset
from codec_superb.api.catalogue import codecs as codecs
from codec_superb.api.catalogue import datasets as datasets
from codec_superb.api.catalogue import metrics as metrics
from codec_superb.api.catalogue import open_dataset as open_dataset
from codec_superb.api.clips import Clip as Clip
from codec_superb.api.comparison import Comparison as Comparison
from codec_superb.api.evaluation import evaluate as evaluate
from codec_superb.api.evaluation import load as load
from codec_superb.api.evaluation import probe as probe
from codec_superb.api.opened import OpenedCodec as OpenedCodec
from codec_superb.api.opened import open_codec as open_codec
from codec_superb.api.result import Result as Result
from codec_superb.base_codec.card import Card as Card
from codec_superb.base_codec.interface import Codec as Codec
from codec_superb.base_codec.interface import Encoded as Encoded
from codec_superb.base_codec.interface import Packets as Packets

__version__: str
