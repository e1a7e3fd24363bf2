"""Forms that records share.

columns.py       numpy columns behind a fixed header; several of them in one record
byte_strings.py  a column of optional byte strings
json_record.py   JSON decoded into structs, and what is wrong with a record
"""
