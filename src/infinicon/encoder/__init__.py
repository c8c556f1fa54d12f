"""The process that holds the model for queries and the interactive lane; the API asks it, and holds no model itself.

POST /embed {texts, kind: document or query} → the vectors as raw little-endian float16, row by row, with X-Rows and X-Dimension;
POST /chunk {texts} → [[[start, end], …], …]; GET /model → {name, revision, dimension, maxTokens}; GET /readyz. Bearer token, but for
/readyz. A fault is {code, message, retryable}, with the status of its code.
"""
