"""Compiled loops of the context model: binary decisions of tokens, predicted by contexts that are mixed.

A token is written as the binary digits of its number, the highest first; each digit is a decision at a node of the tree
of all numbers. Every context keeps, by node, how often each digit came. Predictions of all contexts are mixed in the
logistic domain with weights that are learned on the way (Mattern 2012; Mahoney 2005, PAQ), a set of weights for each
codebook, and within it by how often a context was seen.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codec_superb.metrics.compiled import compiled

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
CONTEXTS = 7
LEVELS = 12
"""Steps of how often a context was seen: 0, 1, 2, 3 to 4, 5 to 8…"""
RATE = 0.003
"""Step of the weights; 0.002 to 0.01 differ by less than 1 % in bits."""
PRIOR = 0.4
"""Digits that a node is taken to have seen before the first, shared as the tree's leaves are."""
LEAST = 2.0**-20
"""Least probability of a digit that can occur."""
FRAME, BOOK, LEVEL, NODE, COUNTED = range(5)
"""Places of the state of a walk."""


class Model(NamedTuple):
    """What is learned."""

    sizes: Ints
    """Entries of each codebook."""
    counts: Reals
    """How often each digit came, ``(slots, 2)``; the number of slots is a power of two."""
    weights: Reals
    """Of each context's prediction, ``(codebooks, CONTEXTS, LEVELS)``."""


class Room(NamedTuple):
    """What a walk works in."""

    places: Ints
    """Each context's number, slot and level, ``(3, CONTEXTS)``."""
    inputs: Reals
    """Each context's prediction in the logistic domain, then the mixed probability, ``(CONTEXTS + 1,)``."""
    state: Ints
    undo: Ints
    """What was counted: twice the slot, and the digit."""


@compiled()
def contexts_of(tokens: Ints, book: int, frame: int, found: Ints) -> None:
    """Write what each context of a token is: a number that stands for its values, whatever the codebook."""
    before = tokens[book, frame - 1] + 1 if frame > 0 else 0
    earlier = tokens[book, frame - 2] + 1 if frame > 1 else 0
    above = tokens[book - 1, frame] + 1 if book > 0 else 0
    higher = tokens[book - 2, frame] + 1 if book > 1 else 0
    first = tokens[0, frame] + 1 if book > 0 else 0
    found[0] = 0
    found[1] = before
    found[2] = above
    found[3] = before * 1000003 + above
    found[4] = before * 1000003 + earlier
    found[5] = above * 1000003 + higher
    found[6] = first * 1000003 + before
    for number in range(CONTEXTS):
        mixed = (found[number] * CONTEXTS + number) * 4099 + book + 1
        mixed ^= mixed >> 29
        mixed *= -4658895280553007687
        mixed ^= mixed >> 32
        found[number] = mixed


@compiled()
def width_of(size: int) -> int:
    """Return the binary digits of numbers below ``size``."""
    width = 0
    while (1 << width) < size:
        width += 1
    return width


@compiled()
def share_above(node: int, level: int, width: int, size: int) -> float:
    """Return which share of the numbers below a node has the digit 1; 0 or 1 where there is nothing to decide."""
    span = 1 << (width - level)
    start = (node << (width - level)) - (1 << width)
    middle, end = start + span // 2, min(start + span, size)
    return float(max(0, end - middle) / (end - start))


@compiled()
def predicted(model: Model, room: Room, prior: float) -> float:
    """Return the probability of the digit 1 at a node; keeps places and inputs of the contexts for :func:`learn`."""
    total, mask, node = 0.0, len(model.counts) - 1, room.state[NODE]
    for number in range(CONTEXTS):
        slot = room.places[0, number] + node * -7046029254386353131
        slot ^= slot >> 31
        slot *= -4658895280553007687
        slot = (slot ^ (slot >> 29)) & mask
        seen = model.counts[slot, 0] + model.counts[slot, 1]
        level = 0
        while level < LEVELS - 1 and seen > (1 << level) - 1:
            level += 1
        chance = (model.counts[slot, 1] + PRIOR * prior) / (seen + PRIOR)
        room.inputs[number] = np.log(chance / (1 - chance))
        room.places[1, number], room.places[2, number] = slot, level
        total += model.weights[room.state[BOOK], number, level] * room.inputs[number]
    chance = 1 / (1 + np.exp(-total))
    return float(min(max(chance, LEAST), 1 - LEAST))


@compiled()
def learn(model: Model, room: Room, digit: int) -> None:
    """Count a digit where it was predicted, and move the weights towards those contexts that predicted it."""
    state, step = room.state, RATE * (digit - room.inputs[CONTEXTS])
    for number in range(CONTEXTS):
        slot = room.places[1, number]
        model.weights[state[BOOK], number, room.places[2, number]] += step * room.inputs[number]
        model.counts[slot, digit] += 1
        room.undo[state[COUNTED]] = 2 * slot + digit
        state[COUNTED] += 1


@compiled()
def advance(tokens: Ints, model: Model, room: Room, digit: int) -> float:
    """Take the digit that was asked for last (-1: none yet), and return the probability that the next one is 1.

    Numbers are written to ``tokens`` as they are complete: frame after frame, in a frame codebook after codebook. A
    digit that follows from the codebook's size is not asked for. Returns -1 where all tokens are known.
    """
    state = room.state
    if digit >= 0:
        learn(model, room, digit)
        state[NODE] = 2 * state[NODE] + digit
        state[LEVEL] += 1
    while state[FRAME] < tokens.shape[1]:
        book, size = state[BOOK], model.sizes[state[BOOK]]
        width = width_of(size)
        if state[LEVEL] == 0:
            contexts_of(tokens, book, state[FRAME], room.places[0])
        while state[LEVEL] < width:
            prior = share_above(state[NODE], state[LEVEL], width, size)
            if 0 < prior < 1:
                chance = predicted(model, room, prior)
                room.inputs[CONTEXTS] = chance
                return chance
            state[NODE] = 2 * state[NODE] + (1 if prior > 0 else 0)
            state[LEVEL] += 1
        tokens[book, state[FRAME]] = state[NODE] - (1 << width)
        state[LEVEL], state[NODE] = 0, 1
        state[BOOK] += 1
        if state[BOOK] == len(model.sizes):
            state[BOOK] = 0
            state[FRAME] += 1
    return -1.0


@compiled()
def walk(tokens: Ints, model: Model, room: Room, digits: Ints, books: Ints, chances: Reals) -> int:
    """Go through tokens that are known; writes each digit that is asked for, its codebook and its probability of a 1.

    Returns how many there are.
    """
    found, count, state = np.zeros_like(tokens), 0, room.state
    chance = advance(found, model, room, -1)
    while chance >= 0:
        place = width_of(model.sizes[state[BOOK]]) - 1 - state[LEVEL]
        digit = (tokens[state[BOOK], state[FRAME]] >> place) & 1
        digits[count], books[count], chances[count] = digit, state[BOOK], chance
        count += 1
        chance = advance(found, model, room, digit)
    return count


@compiled()
def take_back(model: Model, room: Room) -> None:
    """Take back what was counted."""
    for number in range(room.state[COUNTED]):
        model.counts[room.undo[number] >> 1, room.undo[number] & 1] -= 1
