"""`python -m peers`: rpnb and other libraries on the same streams, one process each.

`workers` has one script per library; `environments` finds its interpreter and
`worker_process` starts it there and sends requests; `rounds` interleaves the runs;
`summary` summarises them; `text_tables` and `charts` present them. `growth` measures
how our cost grows, compared with the lower bound that `floor` measures.
"""
