"""Writes each type that Spark has, with what follows as its settings."""
import datetime
import decimal
import sys

from pyspark.sql import SparkSession

path, *settings = sys.argv[1:]
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder = builder.config("spark.sql.session.timeZone", "Europe/Berlin")
for setting in settings:
    builder = builder.config(*setting.split("=", 1))
spark = builder.getOrCreate()
frame = spark.sql("""
  SELECT true AS yes, 1Y AS i8, 9223372036854775807L AS i64, CAST(0.1 AS FLOAT) AS f32, 0.1D AS f64,
    1.10BD AS d3, CAST(-1.10 AS DECIMAL(38, 2)) AS d38, 'Käse' AS text, CAST('Käse' AS BINARY) AS bytes,
    DATE '2026-03-01' AS day, TIMESTAMP '2026-03-01 11:00:00.123456' AS at,
    TIMESTAMP_NTZ '2026-03-01 10:00:00.123456' AS local, array(1, NULL) AS list, array(array(1), NULL) AS lists,
    map('k', 1.5BD) AS map, named_struct('a', 1, 'b', array(named_struct('c', 'x'))) AS object,
    array(named_struct('a', 1)) AS objects, CAST(array() AS ARRAY<INT>) AS empty, CAST(NULL AS MAP<INT, INT>) AS none
""")
frame.coalesce(1).write.mode("overwrite").parquet(path)
