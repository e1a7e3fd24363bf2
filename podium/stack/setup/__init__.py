"""What has to be there before the stack can run.

    bootstrap   `.venv` from requirements.lock, by any Python; imports nothing of ours
    provision   `make setup` beyond Python: programs and jars
    tools       the programs that the stack runs: found, installed or named
    apt         installing them where that is ours to do
    jars        Kafka's and Spark's jars in the user's cache, checked against jars.sha256

This package imports nothing: parts of it run before any dependency is installed.
"""
