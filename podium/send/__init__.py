"""`podium send`: from a file of JSON lines to records of `subscriptions`, `events` and `objects`.

    json_lines   a file → its lines → the record that each line stands for
    placed       between them and the sender, with --plan: keys by which records reach their shard
    sender       records → Kafka, and the count of what was acknowledged and what failed
    run          one pass over a file: progress, problems by line, the summary, the exit code

A line goes through `run` → `json_lines.record_of` → (`placed` →) `sender`.
"""
