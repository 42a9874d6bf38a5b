"""`python -m peers`: the same work for rpnb and its peers, each in its own environment.

`workers` has a script a library; `environments` says where its interpreter is, `asking`
starts it there and asks; `rounds` interleaves the runs; `figures` summarises them;
`showing` and `charts` show them. `growth` measures how our own cost grows, beside the
floor that `floor` measures.
"""
