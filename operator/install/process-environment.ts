/**
 * What keeps the processes small and quick, set for them wherever they run: `make up` sets it, and the chart has a copy
 * (`charts/tidemill/files/environment.yaml`). Figures are in tools/bench/README.md.
 */
export const processEnvironment = {
	receive: {
		NODE_OPTIONS: [
			// V8's default is 32: 30 MB more under full load, and no faster. With less, requests in flight reach the old generation.
			"--max-semi-space-size=16",
			// With a bound, V8 collects the old generation in time: at most 193 MB under full load, not 231.
			"--max-old-space-size=1024",
			// The collector's 4 default threads compete with receive and NATS for cores. With one, 19 of 25 legs at 31,000 and
			// 34,000 events/s had a lower 99th percentile, at the same throughput.
			"--v8-pool-size=1",
		].join(" "),
		// glibc's default is 16 on two cores. One thread allocates bodies and others free them.
		MALLOC_ARENA_MAX: "2",
	},
	archive: {
		// With V8's default of 16, strings on their way to Parquet pile up: 70 MiB more, and no faster.
		NODE_OPTIONS: "--max-semi-space-size=4",
		// Frames and files are large. glibc would keep their memory on top of what a compaction needs.
		MALLOC_ARENA_MAX: "1",
		MALLOC_MMAP_THRESHOLD_: "131072",
		MALLOC_TRIM_THRESHOLD_: "131072",
	},
	operator: {
		// Most of what it reads at once is garbage soon after. With V8's default of 16, it has 40 MiB more, and takes no less CPU.
		NODE_OPTIONS: "--max-semi-space-size=4",
		// One thread does nearly all. More arenas only keep freed memory: 8 MiB.
		MALLOC_ARENA_MAX: "1",
	},
	api: {
		// Without a bound, V8 lets garbage grow to several times the memory in use. This bound saves 40 MB under full load. A smaller
		// bound, or a smaller young generation, costs lists a third more CPU.
		NODE_OPTIONS: "--max-semi-space-size=16 --max-old-space-size=1024",
	},
};
