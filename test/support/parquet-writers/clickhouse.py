"""Writes each type that ClickHouse has, by its engine as a library."""
import sys

import chdb

path, compression = sys.argv[1:3]
chdb.query(f"""
  SELECT true AS yes, toInt8(-128) AS i8, toUInt64(18446744073709551615) AS u64, toFloat32(0.1) AS f32, 0.1 AS f64,
    toDecimal32('1.10', 2) AS d9, toDecimal64('-0.01', 2) AS d18, toDecimal128('1.10', 2) AS d38,
    toDecimal256('7', 0) AS d76, 'Käse' AS text, toFixedString('ab', 2) AS fixed,
    toUUID('00000000-0000-0000-0000-000000000007') AS id, toDate('2026-03-01') AS day, toDate32('1925-01-01') AS day32,
    toDateTime('2026-03-01 10:00:00', 'UTC') AS at, toDateTime64('2026-03-01 10:00:00.123456789', 9, 'UTC') AS at_ns,
    toDateTime64('2026-03-01 10:00:00.123', 3, 'UTC') AS at_ms, CAST('a' AS Enum8('a' = 1)) AS kind,
    toLowCardinality('x') AS low, toIPv4('127.0.0.1') AS ip, [1, 2] AS list, [[1], []] AS lists, map('k', 1) AS map,
    CAST((1, 'x') AS Tuple(a Int32, b String)) AS object, CAST(NULL AS Nullable(Int32)) AS none
  INTO OUTFILE '{path}' TRUNCATE FORMAT Parquet
  SETTINGS output_format_parquet_compression_method = '{compression}'
""")
