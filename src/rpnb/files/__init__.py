"""Files of labelled rows, read in chunks of bounded memory.

`LabelledFile` reads CSV, Parquet, Feather, JSON lines, ARFF, SVMlight and Excel files,
text also compressed or from the standard input, into arrays for learners: categories
become codes in order of first appearance, one-hot columns or hashes, and missing values
are refused, imputed from earlier rows or kept. All formats but SVMlight require
`pip install 'rpnb[files]'`.
"""

from rpnb.files.labelled_file import FORMATS, LabelledArrays, LabelledFile
from rpnb.files.prefetch import ReadAhead
from rpnb.files.reading import FileError, LabelledChunk, ReadOptions

__all__ = [
    "FORMATS",
    "FileError",
    "LabelledArrays",
    "LabelledChunk",
    "LabelledFile",
    "ReadAhead",
    "ReadOptions",
]
