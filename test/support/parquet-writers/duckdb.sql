SELECT true AS yes, (-128)::TINYINT AS i8, 18446744073709551615::UBIGINT AS u64,
  0.1::FLOAT AS f32, 0.1::DOUBLE AS f64, 1.10::DECIMAL(9, 2) AS d9, -0.01::DECIMAL(18, 2) AS d18, 1.10::DECIMAL(38, 2) AS d38,
  'Käse' AS text, encode('Käse') AS bytes, '00000000-0000-0000-0000-000000000007'::UUID AS id, '{"a": 1.0}'::JSON AS json,
  'a'::ENUM ('a', 'b') AS kind, DATE '2026-03-01' AS day, TIME '10:00:00.5' AS clock, TIMETZ '10:00:00+02' AS zoned,
  TIMESTAMP '2026-03-01 10:00:00.123456' AS local, TIMESTAMP_NS '2026-03-01 10:00:00.123456789' AS local_ns,
  TIMESTAMP_MS '2026-03-01 10:00:00.123' AS local_ms, TIMESTAMPTZ '2026-03-01 11:00:00.123456+01' AS at,
  INTERVAL '1 month 2 days 500 milliseconds' AS span, [1, NULL] AS list, [[1], [], NULL] AS lists,
  MAP {'k': 1, '"': NULL} AS map, MAP {1: ['x'], 2: NULL} AS numbers, {a: 1, b: [{c: 'x'}]} AS object,
  [{a: 1}, NULL] AS objects, []::INTEGER[] AS empty, NULL::STRUCT(a INTEGER) AS none
