/**
 * Imported before DuckDB's library, whose allocator (jemalloc, with a prefix of DuckDB's) reads this when it is loaded.
 * By default jemalloc keeps freed memory for ten seconds. This gives it back at once, for archive, which is bound by
 * memory; load has a setting of its own (load/allocator.ts). Somebody's own is left as it is.
 */
process.env.DUCKDB_JE_MALLOC_CONF ??= "dirty_decay_ms:0,muzzy_decay_ms:0";
