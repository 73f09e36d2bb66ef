"""The super tasks of MSEB on resynthesised sound: eight spokes a codec, locales × conditions, and bitrate."""
