"""Writes times as INT96, and lists as older writers did, by pyarrow."""
import sys

import pyarrow as pa
import pyarrow.parquet as parquet

table = pa.table({
    "local": pa.array([1772359200123456789, -1, None], pa.timestamp("ns")),
    "list": pa.array([[1, None], [], None], pa.list_(pa.int32())),
})
parquet.write_table(
    table,
    sys.argv[1],
    use_deprecated_int96_timestamps=True,
    use_compliant_nested_type=False,
)
