/**
 * Load's setting for DuckDB's allocator; main.ts imports it first, so that it wins over the one in duckdb/allocator.ts.
 * By default jemalloc keeps freed memory for ten seconds, longer than most loads last: for a million events that takes
 * 100 MB more at the peak than 20 ms does. Returning memory at once takes 20 MB less, but a fifth more CPU for the whole
 * load, since most of it is needed again (measured).
 */
process.env.DUCKDB_JE_MALLOC_CONF ??= "dirty_decay_ms:20,muzzy_decay_ms:0";
