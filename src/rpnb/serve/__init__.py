"""`rpnb serve`: predict now, learn when the label comes.

One process answers predictions over HTTP, takes labels by id, late and in any order,
and keeps every acknowledged one. Needs ``pip install 'rpnb[serve]'``.

- `log`: the SQLite database that every change goes through first;
- `writer`: the one thread that writes to it, for all clients at once;
- `models`: learners, and how events of the log change them;
- `snapshots`: states of learners in the log, restoring and checking them;
- `app`: the HTTP interface; `server` runs it.
"""
