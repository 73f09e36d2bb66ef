"""Listening tests (AB, ABX, MUSHRA, ACR, DCR): made by maintainers, taken without a name, screened and analysed."""
