"""Files -> examples -> batches: what a person brings, read as a stream and never held in memory.

`lines` is the one line reader; `readers` recognises files and reads them as the values of `example`;
`check` looks at them before training; `toys` makes data that needs no file; `store`, `order` and
`batches` turn ids on disk into batches whose order is a pure function of the seed.
"""
