"""``python -m codec_superb`` is the command ``codec-superb``, for launchers that start modules."""

from codec_superb.cli.main import run

if __name__ == "__main__":
    run()
