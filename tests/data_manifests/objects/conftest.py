"""The S3 server, for tests of data in stores."""

from support.objects.fixtures import s3, s3_of_process

__all__ = ["s3", "s3_of_process"]
