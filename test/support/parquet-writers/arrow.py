"""Writes each type of Parquet that pyarrow has: a usual value, the one at its end, and none."""
import datetime
import decimal
import sys
import uuid

import pyarrow as pa
import pyarrow.parquet as parquet

path, compression, pages = sys.argv[1:4]
D = decimal.Decimal
columns = {
    "yes": pa.array([True, False, None], pa.bool_()),
    "i8": pa.array([1, -128, None], pa.int8()),
    "u16": pa.array([1, 65535, None], pa.uint16()),
    "u32": pa.array([1, 4294967295, None], pa.uint32()),
    "i64": pa.array([1, -9223372036854775808, None], pa.int64()),
    "u64": pa.array([1, 18446744073709551615, None], pa.uint64()),
    "f16": pa.array([1.5, -65504, None], pa.float16()),
    "f32": pa.array([0.1, -3.4028234663852886e38, None], pa.float32()),
    "f64": pa.array([0.1, -5e-324, None], pa.float64()),
    "whole": pa.array([5.0, -0.0, None], pa.float64()),
    "d9": pa.array([D("1.10"), D("-9999999.99"), None], pa.decimal128(9, 2)),
    "d18": pa.array([D("1.10"), D("-0.01"), None], pa.decimal128(18, 2)),
    "d38": pa.array([D("1.10"), D("-" + 36 * "9" + ".99"), None], pa.decimal128(38, 2)),
    "d76": pa.array([D(7), D("-" + 76 * "9"), None], pa.decimal256(76, 0)),
    "text": pa.array(["Käse", '"\\\u0000\n', None], pa.string()),
    "large": pa.array(["Käse", "", None], pa.large_string()),
    "kind": pa.array(["a", "b", None]).dictionary_encode(),
    "bytes": pa.array(["Käse".encode(), b"", None], pa.binary()),
    "fixed": pa.array([b"ab", b"\0\0", None], pa.binary(2)),
    "id": pa.array([uuid.UUID(int=7).bytes, uuid.UUID(int=2**128 - 1).bytes, None], pa.uuid()),
    "json": pa.array(['{"a": 1.0}', " [1] ", None], pa.json_()),
    "day": pa.array([datetime.date(2026, 3, 1), datetime.date(1, 1, 1), None], pa.date32()),
    "ms": pa.array([1, 86399999, None], pa.time32("ms")),
    "us": pa.array([1, 86399999999, None], pa.time64("us")),
    "ns": pa.array([1, 86399999999999, None], pa.time64("ns")),
    "at_ms": pa.array([1, -1, None], pa.timestamp("ms", "UTC")),
    "at_us": pa.array([1, -1, None], pa.timestamp("us", "Europe/Berlin")),
    "at_ns": pa.array([1, -1, None], pa.timestamp("ns", "UTC")),
    "local_s": pa.array([1, -1, None], pa.timestamp("s")),
    "local_us": pa.array([1, -1, None], pa.timestamp("us")),
    "local_ns": pa.array([1, -1, None], pa.timestamp("ns")),
    "none": pa.nulls(3),
    "list": pa.array([[1, None], [], None], pa.list_(pa.int32())),
    "lists": pa.array([[[1], [], None], [None], None], pa.list_(pa.list_(pa.decimal256(40, 1)))),
    "objects": pa.array([[{"a": 1}, None, {"a": None}], [], None], pa.list_(pa.struct([("a", pa.int32())]))),
    "object": pa.array(
        [{"a": 1, "A": {"b": b"x"}}, {"a": None, "A": {"b": None}}, None],
        pa.struct([("a", pa.uint64()), ("A", pa.struct([("b", pa.binary())]))]),
    ),
    "map": pa.array([[("k", 1), ('"', None)], [], None], pa.map_(pa.string(), pa.int32())),
    "numbers": pa.array([[(1, ["x"]), (2, None)], [], None], pa.map_(pa.int32(), pa.list_(pa.string()))),
    "file_row_number": pa.array([1, 2, None]),
    "Day": pa.array(["other", "", None]),
}
parquet.write_table(
    pa.table(columns),
    path,
    compression=compression,
    data_page_version=pages,
    use_dictionary=pages == "1.0",
    row_group_size=2,
)
