"""`rpnb serve`: predict now, learn when the label arrives.

One process answers predictions over HTTP and takes labels by id, late and in any order.
It keeps every label that it has acknowledged. Needs ``pip install 'rpnb[serve]'``.

- `log`: the SQLite database that every change goes through first;
- `writer`: the only thread that writes to it, for all clients together;
- `served_model`: learners, and how events of the log change them;
- `snapshots`: states of learners in the log; `maintenance` checks and copies logs;
- `app`: the HTTP interface; `server` runs it.
"""
