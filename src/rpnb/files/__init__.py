"""Files of labelled rows, in chunks of bounded memory.

`LabelledFile` reads CSV, Parquet, JSON lines, ARFF and SVMlight, plain or as gzip, from
a file or the standard input, and gives arrays that a learner takes: categories as codes
in first-seen order or as one-hot columns, missing values refused or imputed by what was
seen before. Needs `pip install 'rpnb[files]'`, but for SVMlight.
"""

from rpnb.files.labelled_file import FORMATS, LabelledArrays, LabelledFile
from rpnb.files.prefetch import ReadAhead
from rpnb.files.records import FileError, LabelledChunk, ReadOptions

__all__ = [
    "FORMATS",
    "FileError",
    "LabelledArrays",
    "LabelledChunk",
    "LabelledFile",
    "ReadAhead",
    "ReadOptions",
]
