/**
 * DuckDB's library reads this variable when it loads, so import this file before the library. DuckDB's allocator is
 * jemalloc under a prefix of its own, and by default keeps freed memory for ten seconds. Here it returns memory at once,
 * for archive, which is bound by memory; load has its own setting (load/allocator.ts). A value that is already set wins.
 */
process.env.DUCKDB_JE_MALLOC_CONF ??= "dirty_decay_ms:0,muzzy_decay_ms:0";
