# SPDX-License-Identifier: Apache-2.0
"""Tests that the checker of histories refuses wrong ones and accepts correct ones."""
import math

import pytest

from history import Request, check_keys, check_log, check_registers


def write(value, begin, end=math.inf, updated_at=""):
    return Request("brk_1", True, value, begin, end, updated_at)


def read(value, begin, end, updated_at=""):
    return Request("brk_1", False, value, begin, end, updated_at)


FIRST = write("a", 0, 1)


@pytest.mark.parametrize("requests", [
    [FIRST, read("a", 2, 3), write("b", 4, 5), read("b", 6, 7)],
    [FIRST, write("b", 2, 9), read("a", 3, 4), read("b", 5, 6)],  # during the write
    [FIRST, write("b", 2, 9), write("c", 3, 8), read("c", 10, 11), read("c", 12, 13)],  # concurrent writes, in either order
    [FIRST, write("b", 2, 9), write("c", 3, 8), read("b", 10, 11)],
    [FIRST, write("b", 2), read("a", 4, 5), read("a", 6, 7)],  # not executed
    [FIRST, write("b", 2), read("a", 4, 5), read("b", 6, 7)],  # executed after its client gave up
    [FIRST, write("b", 2, 9), read("a", 3, 8), read("b", 3, 5)],  # the longer read may have happened first
    [write("a", 0, 1, "1"), write("b", 2, 9, "3"), read("b", 3, 5, "3"), read("a", 3, 4, "1"), read("b", 10, 11, "3")],
    [FIRST, read("a", 2, 3), Request("brk_2", True, "b", 0, 1), Request("brk_2", False, "b", 2, 3)]])
def test_accepts_a_correct_history(requests):
    assert check_registers(requests) == []


@pytest.mark.parametrize("error, requests", [
    ("a was read after b had replaced it", [FIRST, write("b", 2, 3), read("a", 4, 5)]),  # a stale read, or a lost write
    ("a and b replace each other", [FIRST, write("b", 2, 3), read("b", 4, 5), read("a", 6, 7)]),
    ("a was read after b had replaced it", [FIRST, write("b", 2), read("b", 3, 4), read("a", 5, 6)]),  # seen, then lost
    ("b was read after c had replaced it", [FIRST, write("b", 2, 3), write("c", 4, 5), read("b", 6, 7)]),
    ("c and b replace each other",  # readers disagree about the order of concurrent writes
     [FIRST, write("b", 2, 9), write("c", 2, 9), read("b", 10, 11), read("c", 12, 13), read("b", 14, 15)]),
    ("b was read before it was written", [FIRST, read("b", 2, 3), write("b", 4, 5)]),
    ("b was read and has 0 writes", [FIRST, read("b", 2, 3)]),
    ("updated_at goes back from 2 to 1", [write("a", 0, 1, "2"), write("b", 2, 3, "1")]),
    ("updated_at goes back from 2 to 1", [write("a", 0, 1, "2"), read("a", 2, 3, "1")])])
def test_refuses_a_wrong_history(error, requests):
    assert f"brk_1: {error}" in check_registers(requests)


def test_accepts_one_result_of_each_key():
    assert check_keys([("1", "brk_1"), ("1", "brk_1"), ("2", "brk_2")], [("1", "brk_1"), ("2", "brk_2"), ("3", "brk_3")]) == []


@pytest.mark.parametrize("error, answered, stored", [
    ("key 1 has several results: ['brk_1', 'brk_2']", [("1", "brk_1"), ("1", "brk_2")], [("1", "brk_1")]),
    ("key 1 has several results: ['brk_1', 'brk_2']", [("1", "brk_1")], [("1", "brk_1"), ("1", "brk_2")]),
    ("key 1: brk_1 is lost", [("1", "brk_1")], [])])
def test_refuses_several_results_and_lost_ones(error, answered, stored):
    assert check_keys(answered, stored) == [error]


def test_accepts_a_log_that_was_read_once_and_in_order():
    assert check_log([["2", "3"], ["5"], []], ["1", "2", "3", "4", "5", "6"]) == []  # a new run begins with an export, which has 4


@pytest.mark.parametrize("error, runs", [
    ("the position goes back from 3 to 2", [["3"], ["2"]]),
    ("the position goes back from 2 to 2", [["2", "2"]]),
    ("4 was read and is not in the log", [["3", "4"]]),
    ("2 was not read", [["1", "3"]])])
def test_refuses_a_log_that_goes_back_or_has_gaps(error, runs):
    assert check_log(runs, ["1", "2", "3"]) == [error]
