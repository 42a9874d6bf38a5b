"""Kills while files are written, and disks that are full: what is left must be whole.

`python -m faults kills 1000` kills processes that save models, run `rpnb run` and run
`rpnb paper`, at random moments. `python -m faults full` lets the disk be full after
every so many bytes. Both as this user and, if that is root, as another one as well.

Processes are forked from this one, where everything is imported and compiled.
"""
