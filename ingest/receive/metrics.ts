import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { Budget } from "./budget.ts";
import type { PublishOutcome } from "./committer.ts";

/** What receive counts. The hot path adds to plain numbers; they become metrics when Prometheus asks. */
export class ReceiveMetrics {
	/** Answers by code: `OK`, `Greeting`, or that of the refusal. */
	readonly #answers = new Map<string, number>();
	#events = 0;
	#bodyBytes = 0;
	readonly #frames: Counter<"outcome">;
	readonly #frameBytes: Counter;
	readonly #commitSeconds: Histogram;

	constructor(
		registry: Registry,
		inFlight: Readonly<Pick<Budget, "requests" | "bytes">>,
	) {
		const registers = [registry];
		const answers = this.#answers;
		const events = () => this.#events;
		const bodyBytes = () => this.#bodyBytes;
		new Counter({
			name: "tidemill_receive_requests_total",
			help: "Requests answered, by code: OK, Greeting for a check of the URL, or that of the error.",
			labelNames: ["code"],
			registers,
			collect() {
				this.reset();
				for (const [code, count] of answers) this.inc({ code }, count);
			},
		});
		new Counter({
			name: "tidemill_receive_events_total",
			help: "Events stored and acknowledged.",
			registers,
			collect() {
				this.reset();
				this.inc(events());
			},
		});
		new Counter({
			name: "tidemill_receive_event_body_bytes_total",
			help: "Bytes of the bodies of events stored and acknowledged.",
			registers,
			collect() {
				this.reset();
				this.inc(bodyBytes());
			},
		});
		new Gauge({
			name: "tidemill_receive_in_flight_requests",
			help: "Requests being read, stored or answered.",
			registers,
			collect() {
				this.set(inFlight.requests);
			},
		});
		new Gauge({
			name: "tidemill_receive_in_flight_bytes",
			help: "Bytes of bodies that are held in memory.",
			registers,
			collect() {
				this.set(inFlight.bytes);
			},
		});
		this.#frames = new Counter({
			name: "tidemill_receive_frames_total",
			help: "Frames done, by outcome: stored, refused, or unknown (given up after 60 s).",
			labelNames: ["outcome"],
			registers,
		});
		this.#frameBytes = new Counter({
			name: "tidemill_receive_frame_bytes_total",
			help: "Bytes of the frames that were stored.",
			registers,
		});
		this.#commitSeconds = new Histogram({
			name: "tidemill_receive_commit_seconds",
			help: "From a frame's first publish to its acknowledgement.",
			buckets: [
				0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5,
			],
			registers,
		});
	}

	answer(code: string): void {
		this.#answers.set(code, (this.#answers.get(code) ?? 0) + 1);
	}

	event(bodyBytes: number): void {
		this.#events++;
		this.#bodyBytes += bodyBytes;
	}

	frame(frame: {
		outcome: PublishOutcome;
		bytes: number;
		tookMs: number;
	}): void {
		this.#frames.inc({ outcome: frame.outcome });
		if (frame.outcome !== "stored") return;
		this.#frameBytes.inc(frame.bytes);
		this.#commitSeconds.observe(frame.tookMs / 1000);
	}
}
