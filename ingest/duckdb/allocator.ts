/**
 * Imported before DuckDB's library, whose allocator (jemalloc, with a prefix of DuckDB's) reads this when it is loaded.
 * By default jemalloc keeps freed memory for ten seconds, longer than most loads last: measured for a million events,
 * 100 MB less at the peak with this, for 0.6 s more CPU. Somebody's own setting is left as it is.
 */
process.env.DUCKDB_JE_MALLOC_CONF ??= "dirty_decay_ms:0,muzzy_decay_ms:0";
