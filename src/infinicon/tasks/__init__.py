"""All that knows Celery: the application, its tasks, its results, and Flower."""
