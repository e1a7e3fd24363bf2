"""Bytes outside Kafka, for workers and Spark jobs alike: the lowest layer, which imports no other.

    array_blob     named arrays behind a JSON head as one run of checksummed bytes, and back
    redis_client   the one way to open a Redis client: it gives up in time
    redis_chunks   a blob as many values of Redis: cut, upload, download
    base_store     the bases that Spark builds: put, get, has, drop, in Redis or in a file system

A snapshot, for example, is `array_blob.encode`, then `redis_chunks.cut` and `upload`; a worker that
starts from it does `download`, then `array_blob.decode`, whose arrays are views of the download.
"""
