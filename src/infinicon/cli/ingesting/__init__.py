"""`infinicon ingest`: from files to requests, in constant memory.

    sources ─► formats ─► records, conversations, mapping, text ─► shaping ─► batches ─► sender ─► HTTP
    (bytes)    (which)    (what an episode is)                     (key)      (requests) (threads)

A line that cannot be read is a value on this way (places.Broken), as an episode is: who reads on decides what it means.
"""
