"""The table of model backends as data: what each answers for, its class, its packages, and where its model is from."""

from __future__ import annotations

from dataclasses import dataclass, replace

from codec_superb.plugins import Source

NO_FILE, OWN_FILE, CODEC = "no file", "own file", "codec"


@dataclass(frozen=True, slots=True)
class BackendEntry:
    """One backend of the catalogue."""

    name: str
    probes: tuple[str, ...]
    """Probes that it answers for, or roles that probes take (``Probe.takes``): ``asr`` transcribes, ``words`` with the
    times of words, ``vectors`` gives a vector of a clip, ``frames`` several, ``joint`` puts sounds and texts into one
    space, ``codes`` gives a discrete unit of each frame,
    ``chat`` answers questions about a sound; ``text`` and ``reader`` are second stages of a chain."""
    target: str
    """``module:Class``."""
    extra: str
    """Extra of this package that it needs; '' for a backend with a private environment."""
    summary: str
    """One-line description."""
    packages: tuple[str, ...] = ()
    """Modules that it and the scoring of its probes import, besides those of the core."""
    model: str = ""
    """Where its usual model comes from: a name of ``models.yaml``; :data:`NO_FILE` where it needs none;
    :data:`OWN_FILE` for one that lies in no index and on no hub that is asked; :data:`CODEC` where the user names a
    codec of the catalogue; '' where the user names a model."""
    paper: str = ""
    """Publication to cite, as on the card of a codec; '' where the model decides, or none is known."""
    variants: tuple[str, ...] = ()
    """Names behind the colon that are neither a path nor a repository; the first is that of the usual model where
    results name it, '' where they name none."""
    named: str = ""
    """How results name its usual model where that is not by its own name."""
    origin: str = ""
    """'' for a row of the catalogue; the distribution or the file that a plug-in comes from, set where it is found."""
    sha256: str = ""
    """Of the file of a plug-in that is one, set where it is found."""

    def plugged(self, source: Source) -> BackendEntry:
        """Return the row as a plug-in's."""
        return replace(self, target=source.target(self.target), origin=source.origin, sha256=source.sha256)


_ROOT = "codec_superb.applications"

_WHISPER = (
    'A. Radford, J. W. Kim, T. Xu, G. Brockman, C. McLeavey, I. Sutskever, "Robust Speech Recognition via Large-Scale '
    'Weak Supervision", ICML 2023; arXiv:2212.04356'
)
_GE2E = (
    'L. Wan, Q. Wang, A. Papir, I. L. Moreno, "Generalized End-to-End Loss for Speaker Verification", ICASSP 2018; '
    "arXiv:1710.10467"
)
_ECAPA = (
    'B. Desplanques, J. Thienpondt, K. Demuynck, "ECAPA-TDNN: Emphasized Channel Attention, Propagation and '
    'Aggregation in TDNN Based Speaker Verification", Interspeech 2020; arXiv:2005.07143'
)
_WAVLM = (
    'S. Chen et al., "WavLM: Large-Scale Self-Supervised Pre-Training for Full Stack Speech Processing", IEEE Journal '
    "of Selected Topics in Signal Processing 16(6), 2022; arXiv:2110.13900"
)
_AST = 'Y. Gong, Y.-A. Chung, J. Glass, "AST: Audio Spectrogram Transformer", Interspeech 2021; arXiv:2104.01778'
_DNSMOS = (
    'C. K. A. Reddy, V. Gopal, R. Cutler, "DNSMOS P.835: A Non-Intrusive Perceptual Objective Speech Quality Metric to '
    'Evaluate Noise Suppressors", ICASSP 2022; arXiv:2110.01763'
)
_DISTILLMOS = (
    'B. Stahl, H. Gamper, "Distillation and Pruning for Scalable Self-Supervised Representation-Based Speech Quality '
    'Assessment", ICASSP 2025'
)
_UTMOS = (
    'T. Saeki, D. Xin, W. Nakata, T. Koriyama, S. Takamichi, H. Saruwatari, "UTMOS: UTokyo-SaruLab System for VoiceMOS '
    'Challenge 2022", Interspeech 2022; arXiv:2204.02152'
)
_VISQOL = (
    'M. Chinen et al., "ViSQOL v3: An Open Source Production Ready Objective Speech and Audio Metric", QoMEX 2020; '
    "arXiv:2004.09584"
)
_TORCH = ("torch", "transformers")
_ROWS = (
    BackendEntry(
        "faster-whisper", ("asr",), f"{_ROOT}.asr.faster_whisper:FasterWhisper", "probes",
        "Whisper on CTranslate2; tiny.en comes from a package file, others from the hub or a folder",
        packages=("faster_whisper", "whisper_normalizer"), model="whisper-tiny.en", paper=_WHISPER,
    ),
    BackendEntry(
        "faster-whisper-words", ("words",), f"{_ROOT}.asr.faster_whisper_words:FasterWhisperWords", "mseb",
        "the same, with the times of words",
        packages=("faster_whisper", "whisper_normalizer", "wordfreq"), model="whisper-tiny.en", paper=_WHISPER,
    ),
    BackendEntry(
        "faster-whisper-frames", ("frames",), f"{_ROOT}.embed.whisper_frames:WhisperFrames", "probes",
        "Whisper's encoder on CTranslate2, windows of 8 s; tiny.en comes from a package file",
        packages=("faster_whisper",), model="whisper-tiny.en", paper=_WHISPER,
        variants=("tiny.en",),
    ),
    BackendEntry(
        "openai-whisper", ("asr",), f"{_ROOT}.asr.openai_whisper:OpenAIWhisper", "applications",
        "the original Whisper, any size; the paper's is large",
        packages=("whisper", "torch", "whisper_normalizer"), paper=_WHISPER,
    ),
    BackendEntry(
        "transformers-asr", ("asr",), f"{_ROOT}.asr.transformers_asr:TransformersASR", "applications",
        "Whisper and wav2vec 2.0 checkpoints of transformers",
        packages=("torch", "transformers", "whisper_normalizer"),
    ),
    BackendEntry(
        "pocketsphinx", ("asr",), f"{_ROOT}.asr.pocketsphinx_asr:PocketSphinx", "probes",
        "a second opinion without a neural network, US English",
        packages=("pocketsphinx", "whisper_normalizer"), model=NO_FILE,
        variants=("en-us",),
    ),
    BackendEntry(
        "paraformer", ("asr",), f"{_ROOT}.asr.paraformer:Paraformer", "", "Paraformer-zh in a private environment",
        packages=("whisper_normalizer",),
    ),
    BackendEntry(
        "transcript-truth", ("asr",), f"{_ROOT}.asr.transcript_truth:TranscriptTruth", "probes",
        "the oracle: the dataset's own transcripts",
        packages=("whisper_normalizer",), model=NO_FILE,
    ),
    BackendEntry(
        "resemblyzer", ("asv", "sim", "vectors"), f"{_ROOT}.asv.resemblyzer:Resemblyzer", "probes",
        "GE2E speaker encoder; comes from a package file, runs without torch",
        packages=("webrtcvad",), model="resemblyzer", paper=_GE2E,
    ),
    BackendEntry(
        "speechbrain", ("asv", "sim", "vectors"), f"{_ROOT}.asv.speechbrain_ecapa:SpeechBrainEcapa", "applications",
        "ECAPA-TDNN trained on VoxCeleb, the paper's",
        packages=("speechbrain", "torch"), paper=_ECAPA,
        variants=("ecapa-voxceleb",),
    ),
    BackendEntry(
        "wavlm-sv", ("asv", "sim", "vectors"), f"{_ROOT}.asv.wavlm_sv:WavLMSV", "applications",
        "WavLM with an x-vector head; not UltraEval-Audio's",
        packages=_TORCH, paper=_WAVLM,
        variants=("wavlm-base-plus-sv",),
    ),
    BackendEntry(
        "wavlm-large-sv", ("asv", "sim", "vectors"), f"{_ROOT}.asv.wavlm_large_sv:WavLMLargeSV", "applications",
        "WavLM-Large under an ECAPA-TDNN, UltraEval-Audio's, from a local file",
        packages=_TORCH, model=OWN_FILE, paper=_WAVLM,
        variants=("wavlm_large_finetune",),
    ),
    BackendEntry(
        "wavlm-emotion", ("er",), f"{_ROOT}.er.wavlm_emotion:WavLMEmotion", "applications",
        "WavLM-Large, weighted sum of layers, mean pooling, linear; trained on the references by folds",
        packages=_TORCH, paper=_WAVLM,
    ),
    BackendEntry(
        "emotion2vec", ("er",), f"{_ROOT}.er.emotion2vec:Emotion2Vec", "", "emotion2vec in a private environment"
    ),

    BackendEntry(
        "yamnet", ("aec",), f"{_ROOT}.aec.yamnet:YamNet", "probes",
        "521 AudioSet classes; comes from a package file that states no licence: fetched only when it is asked for",
        packages=("onnxruntime",), model="yamnet",
    ),
    BackendEntry(
        "yamnet-frames", ("frames",), f"{_ROOT}.embed.yamnet_frames:YamNetFrames", "probes",
        "the layer under YAMNet's classes, every 0.48 s; the files and the missing licence of yamnet",
        packages=("onnxruntime",), model="yamnet",
    ),
    BackendEntry(
        "yamnet-vectors", ("vectors",), f"{_ROOT}.embed.yamnet_frames:YamNetVectors", "probes",
        "the same, one vector a clip",
        packages=("onnxruntime",), model="yamnet",
    ),
    BackendEntry(
        "aisfx", ("vectors",), f"{_ROOT}.embed.aisfx:AiSfx", "applications",
        "sound effects by category; comes from a package file",
        packages=("torch",), model="aisfx",
    ),
    BackendEntry(
        "transformers-frames", ("frames",), f"{_ROOT}.embed.transformers_frames:TransformersFrames", "applications",
        "frames of HuBERT, wav2vec 2.0, WavLM or Whisper's encoder: transformers-frames:OWNER/NAME,layer=9",
        packages=_TORCH,
    ),
    BackendEntry(
        "dasheng-frames", ("frames",), f"{_ROOT}.embed.patch_frames:DashengFrames", "applications",
        "frames of Dasheng from the hub or a folder: dasheng-frames:mispeech/dasheng-0.6B",
        packages=_TORCH,
    ),
    BackendEntry(
        "ced-frames", ("frames",), f"{_ROOT}.embed.patch_frames:CedFrames", "applications",
        "frames of CED from the hub or a folder: ced-frames:mispeech/ced-mini",
        packages=_TORCH,
    ),
    BackendEntry(
        "pooled-transformers", ("vectors",), f"{_ROOT}.embed.transformers_frames:PooledTransformers", "applications",
        "the same, one vector a clip: pooled-transformers:OWNER/NAME,pooling=max",
        packages=_TORCH,
    ),
    BackendEntry(
        "clap-joint", ("joint", "vectors"), f"{_ROOT}.embed.clap_joint:ClapJoint", "applications",
        "CLAP's two towers: sounds and texts in one space",
        packages=_TORCH,
    ),
    BackendEntry(
        "perch", ("vectors",), f"{_ROOT}.embed.perch:Perch", "probes",
        "Perch 2, bird song and other animals, from a file for ONNX Runtime or LiteRT",
        packages=("onnxruntime",), model=OWN_FILE,
    ),
    BackendEntry(
        "log-mel-frames", ("frames",), f"{_ROOT}.embed.log_mel:LogMelFrames", "",
        "a log-mel spectrogram, 80 bands of 25 ms every 10 ms", model=NO_FILE,
    ),
    BackendEntry(
        "log-mel-vectors", ("vectors",), f"{_ROOT}.embed.log_mel:LogMelVectors", "",
        "the same, one vector a clip", model=NO_FILE,
    ),
    BackendEntry(
        "spectrogram-frames", ("frames",), f"{_ROOT}.embed.spectrogram:SpectrogramFrames", "",
        "a power spectrogram, 64 ms every 20 ms, of MSEB's reconstruction task", model=NO_FILE,
    ),
    BackendEntry(
        "spectrogram-vectors", ("vectors",), f"{_ROOT}.embed.spectrogram:SpectrogramVectors", "",
        "the same, one vector a clip", model=NO_FILE,
    ),
    BackendEntry(
        "codec-codes", ("codes",), f"{_ROOT}.embed.codec_encoder:CodecCodes", "",
        "the tokens of a codec: codec-codes:mimi_8cb; of a run's own for tokens.rate", model=CODEC,
    ),
    BackendEntry(
        "codec-disturbed", ("disturbed",), f"{_ROOT}.tokens.disturbed_codec:DisturbedCodec", "",
        "a run's own codec: which tokens stay when the sound is coded again, shifted or disturbed", model=CODEC,
    ),
    BackendEntry(
        "codec-contents", ("contents",), f"{_ROOT}.token_contents.labelled_codec:LabelledCodec", "probes",
        "a run's own codec: its tokens beside the phones (PocketSphinx, aligned) and the pitch of the same frames",
        packages=("pocketsphinx",), model=CODEC,
    ),
    BackendEntry(
        "code-embeddings", ("frames",), f"{_ROOT}.embed.codec_encoder:CodeEmbeddings", "",
        "the tokens of a codec as vectors of random tables, for codecs without latents", model=CODEC,
    ),
    BackendEntry(
        "codec-frames", ("frames",), f"{_ROOT}.embed.codec_encoder:CodecFrames", "",
        "the latents of a codec, quantised or with ,latents=continuous", model=CODEC,
    ),
    BackendEntry(
        "codec-vectors", ("vectors",), f"{_ROOT}.embed.codec_encoder:CodecVectors", "",
        "the same, one vector a clip", model=CODEC,
    ),
    BackendEntry(
        "ast", ("aec",), f"{_ROOT}.aec.ast:AudioSpectrogramTransformer", "applications", "AST on AudioSet, the paper's",
        packages=_TORCH, paper=_AST, variants=("ast-finetuned-audioset-10-10-0.4593",),
    ),
    BackendEntry(
        "clap", ("aec",), f"{_ROOT}.aec.clap:Clap", "applications", "zero-shot: the classes of the dataset as prompts",
        packages=_TORCH,
    ),
    BackendEntry(
        "dnsmos", ("dnsmos",), f"{_ROOT}.quality.dnsmos:DnsMos", "probes",
        "DNSMOS P.835 and P.808; comes from a package file",
        packages=("onnxruntime",), model="dnsmos", paper=_DNSMOS,
    ),
    BackendEntry(
        "distillmos", ("distillmos",), f"{_ROOT}.quality.distillmos:DistillMos", "applications",
        "distilled from XLS-R; comes from a package file",
        packages=("torch",), model="distillmos", paper=_DISTILLMOS,
    ),
    BackendEntry(
        "utmos", ("utmos",), f"{_ROOT}.quality.utmos:Utmos", "applications", "UTMOS22 strong learner, a local file",
        packages=_TORCH, model=OWN_FILE, paper=_UTMOS,
        variants=("utmos22_strong",),
    ),
    BackendEntry(
        "visqol", ("visqol",), f"{_ROOT}.quality.visqol:VisQol", "applications", "ViSQOL 3, speech and audio mode",
        packages=("visqol",), model=NO_FILE, paper=_VISQOL,
        variants=("exponential", "lattice"),
    ),
    BackendEntry(
        "minilm", ("text",), f"{_ROOT}.text.minilm:MiniLm", "probes",
        "English sentences as 384 numbers; comes from a package file, runs without torch",
        packages=("tokenizers",), model="minilm",
    ),
    BackendEntry(
        "transformers-text", ("text",), f"{_ROOT}.text.transformers_text:TransformersText", "applications",
        "text encoders of transformers and of sentence-transformers, from the hub or a folder",
        packages=(*_TORCH, "tokenizers"),
    ),
    BackendEntry(
        "tf-idf", ("text",), f"{_ROOT}.text.tf_idf:TfIdf", "probes", "hashed term vectors, without a model",
        model=NO_FILE,
    ),
    BackendEntry(
        "endpoint", ("text",), f"{_ROOT}.text.endpoint:Endpoint", "probes",
        "text embeddings of a server: OpenAI's form, Gemini, Vertex AI; a file describes it",
        model=OWN_FILE,
    ),
    BackendEntry(
        "command", ("reader",), f"{_ROOT}.text.command_reader:CommandReader", "probes",
        "a program of yours that answers questions, as lines of JSON",
        model=OWN_FILE,
    ),
    BackendEntry(
        "endpoint-chat", ("reader",), f"{_ROOT}.text.chat_reader:ChatReader", "probes",
        "a generative reader of a server that takes OpenAI's chat completions; a file describes it",
        model=OWN_FILE,
    ),
    BackendEntry(
        "cascade", ("chat",), f"{_ROOT}.understanding.cascade:Cascade", "probes",
        "a recogniser, then the option closest in meaning; offline; reads no question; cascade:yamnet tags sounds",
        packages=("faster_whisper", "tokenizers"), model="whisper-tiny.en", variants=("", "yamnet"),
    ),
    BackendEntry(
        "encoder-file", ("frames",), f"{_ROOT}.xares.encoder_file:EncoderFile", "applications",
        "an encoder of your own, a file with a class …Encoder as XARES-LLM takes it: encoder-file:my_encoder.py",
        packages=("torch",), model=OWN_FILE,
    ),
    BackendEntry(
        "tiny", ("chat",), f"{_ROOT}.xares.chat:XaresChat", "xares",
        "a decoder of 0.4 million weights, trained here on frames of Whisper's encoder; answers what it was trained on",
        packages=("torch", "transformers", "peft", "accelerate", "faster_whisper"), model="whisper-tiny.en",
        named="xares:faster-whisper-frames:tiny.en+tiny-llama-bytes",
    ),
    BackendEntry(
        "xares", ("chat",), f"{_ROOT}.xares.chat:XaresChat", "xares",
        "the same with any encoder of frames, or a codec's latents: xares:codec-frames:NAME,decoder=tiny,seed=1",
        packages=("torch", "transformers", "peft", "accelerate"),
    ),
    BackendEntry(
        "transformers-chat", ("chat",), f"{_ROOT}.understanding.chats.transformers_chat:TransformersChat",
        "applications", "chats of transformers: Qwen2-Audio, Qwen-Omni, Voxtral, Audio Flamingo 3, Granite…",
        packages=_TORCH,
    ),
    BackendEntry(
        "minicpm-o", ("chat",), f"{_ROOT}.understanding.chats.minicpm_o:MiniCPMo", "",
        "MiniCPM-o 2.6 in a private environment",
    ),
    BackendEntry(
        "chat", ("chat",), f"{_ROOT}.understanding.chats.endpoint:EndpointChat", "probes",
        "a chat of a server: OpenAI's chat completions with sound, vLLM, llama.cpp, Gemini; a file describes it",
        model=OWN_FILE,
    ),
    BackendEntry(
        "answers", ("chat",), f"{_ROOT}.understanding.chats.answers_file:AnswersFile", "",
        "answers that were given elsewhere, as JSON lines: probe --questions DIR, then probe --answers FILE",
        model=OWN_FILE,
    ),
    BackendEntry("warpq", ("warpq",), f"{_ROOT}.quality.warpq:WarpQ", "probes", "WARP-Q",
        model=NO_FILE,
    ),
)  # fmt: skip

BACKENDS: dict[str, BackendEntry] = {row.name: row for row in _ROWS}
