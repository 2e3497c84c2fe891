# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a failed Spark job says to a person."""

from __future__ import annotations

import re

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

# How Python ends the traceback of an error of this collection that was raised on a worker.
_OURS = re.compile(r"^(?:olap_partmove|partition_classify)\.[\w.]+: (.+)$", re.MULTILINE)
# A colon comes before what Java raised without a query around it.
_THEIRS = re.compile(r"^(?:: )?(\w[\w.]*(?:Error|Exception)\b.*)$", re.MULTILINE)
# What Java says that people can do something about.
_RESOURCES = {
    "java.lang.OutOfMemoryError": "Spark ran out of memory. Give it more with spark.driver.memory, and on a"
    " cluster with spark.executor.memory.",
    "No space left on device": "The disk is full that Spark puts rows on. Give it a larger one with"
    " spark.local.dir.",
}


def sentence_of(error: PySparkException | Py4JJavaError) -> str:
    """The sentence of the error that a worker met; else what Spark says first, with where to look further."""
    text = str(error)
    ours = _OURS.findall(text)
    if ours:
        return str(ours[-1])
    for words, sentence in _RESOURCES.items():
        if words in text:
            return sentence
    python = _THEIRS.findall(text)
    reason = python[-1] if python else text.strip().splitlines()[0]
    return f"Spark could not finish the job: {reason} (see the log of Spark for all of it)"
