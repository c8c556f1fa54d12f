"""The only Celery: names, messages, handlers, results and the processes that run them."""
