"""Kill processes that write files, and fill disks: files must stay complete.

`python -m faults kills 1000` kills processes that save models, run `rpnb run` or run
`rpnb paper`, at random moments. `python -m faults full` lets the disk be full after
more and more bytes. Both run as the current user and, if that is root, as another one.

Processes are forked from this one, in which everything is imported.
"""
